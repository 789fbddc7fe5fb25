//! Cost models of a board, as files keep them, and tables that they predict.

use millstream_board::{Board, BoardDocument, Document, DocumentError, ProcessorClass, Provenance, read_document};
use millstream_cost::{ClassId, CostEntry, CostTable, Nanoseconds, Origin};
use millstream_graph::Graph;
use millstream_partition::Chain;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::accelerator_costs::measured_costs;
use crate::board_costs::add_board_costs;
use crate::calibration::{AcceleratorCostModel, AcceleratorCosts, GranularityLine, NetworkFactor};
use crate::context::ASSUMED_HAND_OVER;
use crate::error::PredictError;
use crate::fill::{BlockTime, fill};
use crate::fused_groups::FusedGroups;
use crate::line::Line;
use crate::measured_convolutions::ConvolutionFormula;
use crate::model::{FamilyModel, Fusion, FusionRule, Predictor, ProcessorModel, TimedOperators};
use crate::operator_time::OperatorTime;
use crate::parts::set_part_costs;
use crate::pipe_it_costs::PipeItCosts;
use crate::power::{ClusterPower, fit_power};
use crate::profile::{Profile, check_board, records};
use crate::published::AcceleratorModel;
use crate::samples::OperatorRecord;
use crate::transfer::{ClusterTransfer, fit_transfers};

/// The `format` of files of fitted models.
pub const COST_FORMAT: &str = "millstream-cost";
/// The `version` of such files that is written and read.
pub const COST_VERSION: u32 = 1;

/// Everything that was fitted to a profile: what operators take that were never measured, transfers, and power.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CostModels {
    /// Always `millstream-cost`.
    pub format: String,
    /// Version of the format.
    pub version: u32,
    /// Where it comes from.
    pub provenance: Provenance,
    /// The board that was profiled.
    pub board: BoardDocument,
    /// [`Board::fingerprint`] of that board.
    pub board_fingerprint: String,
    /// Models of every processor class.
    pub processors: Vec<ProcessorModel>,
    /// Which operators the runtime fuses.
    pub fusions: Vec<FusionRule>,
    /// What handing data between clusters takes.
    pub transfers: Vec<ClusterTransfer>,
    /// What clusters consume, where anything is known about it.
    pub power: Vec<ClusterPower>,
    /// What operators take on accelerators, where that was published.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accelerators: Vec<AcceleratorCosts>,
    /// What convolutions take on clusters by Pipe-it's models, if these were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub convolutions: Vec<PipeItCosts>,
    /// How networks that were measured as a whole differ from the models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<NetworkFactor>,
}

impl Document for CostModels {
    const FORMAT: &'static str = COST_FORMAT;
    const VERSION: u32 = COST_VERSION;
    const NAME: &'static str = "file of cost models";

    fn validate(&self) -> Result<(), DocumentError> {
        let invalid = |field: String, detail: String| Err(DocumentError::invalid::<Self>(field, detail));
        for (index, processor) in self.processors.iter().enumerate() {
            check_terms(processor, &format!("processors[{index}]"))?;
        }
        for (index, network) in self.networks.iter().enumerate() {
            if !(network.factor.is_finite() && network.factor > 0.0) {
                return invalid(
                    format!("networks[{index}].factor"),
                    format!("is {}, must be positive", network.factor),
                );
            }
        }
        if let Some(index) = self.convolutions.iter().position(|convolution| !convolution.is_sound()) {
            return invalid(format!("convolutions[{index}]"), "must consist of numbers".into());
        }

        for (index, accelerator) in self.accelerators.iter().enumerate() {
            if let AcceleratorCostModel::ProcessingElements(model) = &accelerator.model {
                check_waves(model, &format!("accelerators[{index}].model.processing-elements"))?;
            }
            if let AcceleratorCostModel::Measured(measured) = &accelerator.model {
                let field = format!("accelerators[{index}].model.measured");
                check_terms(&measured.model, &format!("{field}.model"))?;
                let formula = measured.convolutions.as_ref().and_then(|choice| choice.formula.as_ref());
                formula.map_or(Ok(()), |formula| check_formula(formula, &format!("{field}.convolutions.formula")))?;
            }
            let AcceleratorCostModel::Terms(model) = &accelerator.model else { continue };
            if let Some(term) = model.terms.iter().find(|term| !(term.seconds.is_finite() && term.seconds >= 0.0)) {
                let field = format!("accelerators[{index}].model.terms['{}']", term.name);
                return invalid(field, format!("is {}, must be a number from 0", term.seconds));
            }
        }

        for (index, transfer) in self.transfers.iter().enumerate() {
            let model = transfer.model;
            let values = [model.latency_seconds, model.seconds_per_byte, model.conversion_seconds_per_byte];
            if values.iter().any(|value| !(value.is_finite() && *value >= 0.0)) {
                return invalid(format!("transfers[{index}].model"), "must consist of numbers from 0".into());
            }
        }
        Ok(())
    }
}

/// Whether a model of processing elements has lines that do not fall. `field` is what its file calls it.
fn check_waves(model: &AcceleratorModel, field: &str) -> Result<(), DocumentError> {
    let lines = [model.computation, model.transfer, model.flush, model.invalidation];
    let is_sound = |line: &Line| line.slope.is_finite() && line.slope >= 0.0 && line.intercept.is_finite();
    if lines.iter().all(is_sound) && model.processing_elements > 0 {
        return Ok(());
    }
    let detail = "must have lines that do not fall, and processing elements";
    Err(DocumentError::invalid::<CostModels>(field.to_owned(), detail.to_owned()))
}

/// The same of a formula for convolutions.
fn check_formula(formula: &ConvolutionFormula, field: &str) -> Result<(), DocumentError> {
    match formula {
        ConvolutionFormula::ProcessingElements(model) => check_waves(model, field),
        ConvolutionFormula::Granularity(lines) => {
            let is_sound =
                |fitted: &GranularityLine| fitted.line.slope.is_finite() && fitted.line.intercept.is_finite();
            if !lines.is_empty() && lines.iter().all(is_sound) {
                return Ok(());
            }
            let detail = "must have lines of numbers";
            Err(DocumentError::invalid::<CostModels>(field.to_owned(), detail.to_owned()))
        }
    }
}

/// Whether the terms of a model are known, and numbers from 0. `field` is what its file calls it.
fn check_terms(processor: &ProcessorModel, field: &str) -> Result<(), DocumentError> {
    let invalid = |field: String, detail: String| Err(DocumentError::invalid::<CostModels>(field, detail));
    for (position, model) in processor.families.iter().chain([&processor.pooled]).enumerate() {
        for term in &model.terms {
            let term_field = || format!("{field}.families[{position}].terms['{}']", term.name);
            if !(term.seconds.is_finite() && term.seconds >= 0.0) {
                return invalid(term_field(), format!("is {}, must be a number from 0", term.seconds));
            }
            if !FamilyModel::knows(&term.name) {
                return invalid(term_field(), "is not a term that this version knows".into());
            }
        }
    }
    Ok(())
}

impl CostModels {
    /// Fits models to the operator samples of a profile, one for every processor class of its board.
    ///
    /// # Errors
    /// [`PredictError::MissingProcessor`] if a class was not measured, [`PredictError::TooFewSamples`] if its samples
    /// have too few different shapes, [`PredictError::Document`] if the profile's board is impossible.
    pub fn fit(profile: &Profile, provenance: Provenance) -> Result<Self, PredictError> {
        let board = profile.board()?;
        let fit = |class: ProcessorClass| {
            let observations = TimedOperators::all(profile, &class);
            match observations.is_empty() {
                true if profile.leaves_out(&class) => Ok(None),
                true => Err(PredictError::MissingProcessor { class }),
                false => ProcessorModel::fit(&class, &board, &observations).map(Some),
            }
        };
        Ok(Self {
            format: COST_FORMAT.to_owned(),
            version: COST_VERSION,
            provenance,
            board: profile.board.clone(),
            board_fingerprint: profile.board_fingerprint.clone(),
            processors: board.core_classes().filter_map(|class| fit(class).transpose()).collect::<Result<_, _>>()?,
            fusions: Fusion::rules(profile),
            transfers: fit_transfers(&profile.transfers)?,
            power: fit_power(&board, &profile.power),
            accelerators: board
                .accelerators()
                .iter()
                .filter_map(|accelerator| measured_costs(profile, &board, &accelerator.label))
                .collect(),
            convolutions: Vec::new(),
            networks: Vec::new(),
        })
    }

    /// The default models that were fitted: of all classes of cores, and of accelerators that were measured.
    pub fn fitted(&self) -> impl Iterator<Item = &ProcessorModel> {
        let measured = self.accelerators.iter().filter_map(|accelerator| match &accelerator.model {
            AcceleratorCostModel::Measured(measured) => Some(&measured.model),
            _ => None,
        });
        self.processors.iter().chain(measured)
    }

    /// Reads a file of models.
    ///
    /// # Errors
    /// [`PredictError::Document`] if it is not one, or if what it says is impossible.
    pub fn from_json(text: &str) -> Result<Self, PredictError> {
        Ok(read_document(text)?)
    }

    /// Costs of a network on all processor classes of a board, all of them predicted. `digest` is that of the model:
    /// networks that were measured as a whole take what was measured.
    ///
    /// # Errors
    /// [`PredictError::OtherBoard`] if the models are of another board, [`PredictError::MissingModel`] if one lacks.
    pub fn table(&self, board: &Board, digest: &str, graph: &Graph, chain: &Chain) -> Result<CostTable, PredictError> {
        check_board("cost models are", &self.board.name, &self.board_fingerprint, board)?;
        let mut table = CostTable::new(graph.operators().len(), board.processor_classes());
        let blocks = records(graph, chain);
        let fused_groups = predicted_fusions(&self.fusions, board, &blocks);
        for processor in table.class_ids() {
            let class = table.classes()[processor.index()].clone();
            let known = self.networks.iter().find(|network| network.processor == class && network.digest == digest);
            let factor = known.map_or(1.0, |network| network.factor);
            if board.accelerator(&class.cluster).is_some() {
                self.fill_accelerator(&mut table, processor, factor, chain, &blocks);
                set_part_costs(&mut table, processor, board, &blocks, chain, &[]);
                continue;
            }

            let model = self.processors.iter().find(|model| model.processor == class);
            let has_same_cores = |other: &&ProcessorModel| other.processor.has_same_cores(&class);
            let Some(model) = model else {
                // Where another engine has the cores, this one was left out.
                if self.processors.iter().any(|other| has_same_cores(&other)) {
                    continue;
                } else {
                    return Err(PredictError::MissingModel { class });
                }
            };

            let predictor = model.predictor();
            let fusion = Fusion::new(&self.fusions, class.engine);
            let is_fitted = board.cluster(&class.cluster).is_ok_and(|cluster| cluster.engines.first() == class.engine);
            let convolution =
                self.convolutions.iter().find(|convolution| is_fitted && convolution.cluster == class.cluster);
            let known = |first: &OperatorRecord| convolution?.seconds(first, class.count);

            for ((block, records), fused) in chain.blocks().iter().zip(&blocks).zip(&fused_groups) {
                let mut times = predict_block_with(&predictor, &fusion, records, known);
                fused.sum_into_first(&mut times);
                times.iter_mut().for_each(|time| time.seconds *= factor);
                fill(&mut table, processor, block, &times, BlockTime::sum_of(&times, Origin::Model));
            }
            set_part_costs(&mut table, processor, board, &blocks, chain, &[]);
            table.set_hand_over(processor, ASSUMED_HAND_OVER);
        }
        add_board_costs(&mut table, board, &self.transfers, &self.power);
        Ok(table)
    }

    /// What operators take on an accelerator; nothing runs on one that nothing was published of.
    fn fill_accelerator(
        &self,
        table: &mut CostTable,
        class: ClassId,
        factor: f64,
        chain: &Chain,
        blocks: &[Vec<OperatorRecord>],
    ) {
        let label = &table.classes()[class.index()].cluster;
        let Some(costs) = self.accelerators.iter().find(|accelerator| accelerator.label == *label) else { return };
        let ids = chain.blocks().iter().flat_map(|block| &block.operators);
        for (&id, record) in ids.zip(blocks.iter().flatten()) {
            let Some(seconds) = costs.seconds(record) else { continue };
            let time = Nanoseconds::from_seconds(seconds * factor);
            table.set_entry(class, id, CostEntry { time, low: time, high: time, origin: Origin::Model });
        }
    }
}

/// For each block, which of its operators any engine of the board is expected to run as one.
pub(crate) fn predicted_fusions(
    rules: &[FusionRule],
    board: &Board,
    blocks: &[Vec<OperatorRecord>],
) -> Vec<FusedGroups> {
    let engines: Vec<Fusion> = board.engines_in_use().map(|engine| Fusion::new(rules, engine)).collect();
    let of_block = |block: &Vec<OperatorRecord>| {
        let mut fused = FusedGroups::apart(block.len());
        for fusion in &engines {
            let mut first = 0;
            for group in fusion.groups(block) {
                for other in first + 1..first + group.len() {
                    fused.merge(first, other);
                }
                first += group.len();
            }
        }
        fused
    };
    blocks.iter().map(of_block).collect()
}

/// Times of a block's operators: those that run as one have theirs at the first of them.
pub(crate) fn predict_block(predictor: &Predictor, fusion: &Fusion, block: &[OperatorRecord]) -> Vec<OperatorTime> {
    predict_block_with(predictor, fusion, block, |_| None)
}

/// As [`predict_block`], but where `known` has the seconds of what runs as one and begins with an operator, it takes
/// these.
fn predict_block_with(
    predictor: &Predictor,
    fusion: &Fusion,
    block: &[OperatorRecord],
    known: impl Fn(&OperatorRecord) -> Option<f64>,
) -> Vec<OperatorTime> {
    let mut times = Vec::with_capacity(block.len());
    for group in fusion.groups(block) {
        let prediction = predictor.group(group);
        let seconds = group.first().and_then(&known).unwrap_or(prediction.seconds);
        let interval = prediction.interval;
        times.push(OperatorTime { seconds: seconds.max(1e-9), interval });
        times.extend(std::iter::repeat_n(OperatorTime { seconds: 0.0, interval }, group.len() - 1));
    }
    times
}
