//! The default model of one processor class.

use std::collections::{BTreeMap, HashSet};

use millstream_board::{Board, ProcessorClass};
use millstream_graph::Family;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::PredictError;
use crate::model::accuracy::{Accuracy, cross_validate};
use crate::model::basis;
use crate::model::family::{Coefficients, FamilyModel};
use crate::model::observation::{TimedOperators, further_bytes, main_of};
use crate::samples::OperatorRecord;

/// Families with fewer different shapes are predicted by the model of everything.
const FEWEST_SHAPES: usize = 4;
/// Cache of a processor whose board does not tell.
const ASSUMED_CACHE_BYTES: u64 = 1 << 20;
/// Interval of predictions whose error could not be validated.
const ASSUMED_INTERVAL: f64 = 0.5;

/// Models of all families on one processor class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessorModel {
    /// The processor class.
    pub processor: ProcessorClass,
    /// What it can keep at hand: the largest cache that few cores share; `None` if nothing is said of caches, so that
    /// no cost begins beyond one.
    #[serde(with = "cache_limit")]
    #[schemars(with = "u64", description = "What it can keep at hand: the largest cache that few cores share.")]
    pub cache_bytes: Option<u64>,
    /// One model per family with enough samples.
    pub families: Vec<FamilyModel>,
    /// The model of everything.
    pub pooled: FamilyModel,
}

/// The limit in files, where no limit is a number that nothing exceeds.
mod cache_limit {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    const NO_LIMIT: u64 = u64::MAX / 4;

    pub(super) fn serialize<S: Serializer>(limit: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
        limit.unwrap_or(NO_LIMIT).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
        Ok(Some(u64::deserialize(deserializer)?).filter(|&bytes| bytes < NO_LIMIT))
    }
}

/// A predicted time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictedTime {
    /// The time.
    pub seconds: f64,
    /// Nine in ten true times are within this, relative to the prediction.
    pub interval: f64,
}

impl ProcessorModel {
    /// A model that is stated rather than fitted: of caches it knows nothing.
    pub(crate) fn stated(processor: ProcessorClass, families: Vec<FamilyModel>, pooled: FamilyModel) -> Self {
        Self { processor, cache_bytes: None, families, pooled }
    }

    /// Fits all families to the samples of one processor class.
    ///
    /// # Errors
    /// [`PredictError::TooFewSamples`] with fewer than four different shapes.
    pub fn fit(
        processor: &ProcessorClass,
        board: &Board,
        observations: &[TimedOperators<'_>],
    ) -> Result<Self, PredictError> {
        let mut model = Self::fit_unvalidated(processor, board, observations)?;
        let predictions = Self::predict_unseen(processor, board, observations);
        if let Some(predictions) = predictions {
            let accuracy = |family: Option<Family>| {
                let pairs = observations.iter().zip(&predictions);
                let pairs =
                    pairs.filter(|(observation, _)| family.is_none_or(|family| observation.main.family() == family));
                Accuracy::of(
                    &pairs
                        .filter_map(|(observation, &predicted)| Some((predicted?, observation.seconds)))
                        .collect::<Vec<_>>(),
                )
            };
            for family in &mut model.families {
                family.cross_validated = accuracy(family.family);
            }
            model.pooled.cross_validated = accuracy(None);
        }
        Ok(model)
    }

    /// Predicts every observation from models fitted to the other networks' ones; `None` with fewer than two networks.
    pub fn predict_unseen(
        processor: &ProcessorClass,
        board: &Board,
        observations: &[TimedOperators<'_>],
    ) -> Option<Vec<Option<f64>>> {
        let cache_bytes = Some(cache_bytes(board, processor));
        cross_validate(observations, |learned, held_out| {
            let predictor = Self::fitted(processor, cache_bytes, learned)?.predictor();
            Some(held_out.iter().map(|observation| predictor.of(observation).seconds).collect())
        })
    }

    /// As [`Self::fit`], without asking how good the model is.
    pub(crate) fn fit_unvalidated(
        processor: &ProcessorClass,
        board: &Board,
        observations: &[TimedOperators<'_>],
    ) -> Result<Self, PredictError> {
        let shapes: HashSet<_> = observations.iter().map(|observation| shape(observation.main.work)).collect();
        let too_few = || PredictError::TooFewSamples {
            what: format!("operators on {processor}"),
            found: shapes.len(),
            needed: FEWEST_SHAPES,
        };
        if shapes.len() < FEWEST_SHAPES {
            return Err(too_few());
        }
        let observations: Vec<&TimedOperators<'_>> = observations.iter().collect();
        Self::fitted(processor, Some(cache_bytes(board, processor)), &observations).ok_or_else(too_few)
    }

    fn fitted(
        processor: &ProcessorClass,
        cache_bytes: Option<u64>,
        observations: &[&TimedOperators<'_>],
    ) -> Option<Self> {
        let families = Family::ALL.into_iter().filter_map(|family| {
            let of_family: Vec<&TimedOperators<'_>> =
                observations.iter().filter(|observation| observation.main.family() == family).copied().collect();
            let shapes: HashSet<_> = of_family.iter().map(|observation| shape(observation.main.work)).collect();
            if shapes.len() < FEWEST_SHAPES { None } else { FamilyModel::fit(Some(family), &of_family, cache_bytes) }
        });
        Some(Self {
            processor: processor.clone(),
            cache_bytes,
            families: families.collect(),
            pooled: FamilyModel::fit(None, observations, cache_bytes)?,
        })
    }

    /// The model in the form that predicts fast.
    pub fn predictor(&self) -> Predictor {
        let of = |model: &FamilyModel| FamilyPredictor {
            coefficients: model.coefficients(),
            interval: model.cross_validated.map_or(ASSUMED_INTERVAL, |accuracy| accuracy.interval),
        };
        let families = self.families.iter().filter_map(|model| Some((model.family?, of(model))));
        Predictor { cache_bytes: self.cache_bytes, families: families.collect(), pooled: of(&self.pooled) }
    }
}

/// Predicts times on one processor class.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictor {
    cache_bytes: Option<u64>,
    families: BTreeMap<Family, FamilyPredictor>,
    /// For families without a model of their own.
    pooled: FamilyPredictor,
}

/// Predicts times of one family.
#[derive(Debug, Clone, PartialEq)]
struct FamilyPredictor {
    coefficients: Coefficients,
    /// Nine in ten true times are within this, relative to the prediction.
    interval: f64,
}

impl Predictor {
    /// Time of operators that run as one; nothing takes no time.
    pub fn group(&self, operators: &[OperatorRecord]) -> PredictedTime {
        let members: Vec<&OperatorRecord> = operators.iter().collect();
        match main_of(&members) {
            Some(main) => self.operator(main, further_bytes(main, &members)),
            None => PredictedTime { seconds: 0.0, interval: 0.0 },
        }
    }

    /// Time of what was observed.
    pub fn of(&self, observation: &TimedOperators<'_>) -> PredictedTime {
        self.operator(observation.main, observation.further_bytes)
    }

    fn operator(&self, main: &OperatorRecord, further_bytes: u64) -> PredictedTime {
        let FamilyPredictor { coefficients, interval } = self.families.get(&main.family()).unwrap_or(&self.pooled);
        let amounts = basis::amounts(main, further_bytes, self.cache_bytes);
        let seconds = coefficients.seconds(&amounts, main);
        PredictedTime { seconds, interval: *interval }
    }
}

fn shape(work: millstream_graph::Work) -> (u64, u64, u64, u64) {
    (work.macs, work.input_bytes, work.weight_bytes, work.output_bytes)
}

/// The largest cache of the cluster that is not shared by more cores than the cluster has, below the last level.
fn cache_bytes(board: &Board, processor: &ProcessorClass) -> u64 {
    let Ok(cluster) = board.cluster(&processor.cluster) else { return ASSUMED_CACHE_BYTES };
    let level_two = cluster.caches.iter().find(|cache| cache.level == 2);
    level_two.map_or(ASSUMED_CACHE_BYTES, |cache| cache.bytes.max(ASSUMED_CACHE_BYTES / 4))
}
