//! Shisha (Soomro et al., Shisha: Online scheduling of CNN pipelines on heterogeneous architectures, 2022): a seed from
//! static knowledge, then moving layers away from the slowest stage.

use std::fmt;
use std::str::FromStr;

use millstream_cost::Nanoseconds;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::Tuner;
use crate::configuration::Configuration;
use crate::error::TuneError;
use crate::oracle::{Oracle, Trial};
use crate::space::{PlaceId, Space};
use crate::tuning::{Recorder, Tuning};

/// Rules by which the seed assigns stages to places (section 5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SeedAssignment {
    /// The stages with the most layers on the slowest places.
    Layers,
    /// The stages with the most work on the fastest places.
    Weight,
    /// At random.
    Random,
}

/// Rules by which layers leave the slowest stage (section 5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Balancing {
    /// To the nearest stage on a faster place.
    Nearest,
    /// To the one of the nearest stages on faster places, before and behind, that takes the least time.
    NearestLightest,
}

/// A combination of both choices: H1 to H6 of table 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Heuristic {
    /// How the seed is assigned.
    pub assignment: SeedAssignment,
    /// Where layers go.
    pub balancing: Balancing,
}

impl Heuristic {
    /// H1 to H6.
    pub const ALL: [Self; 6] = {
        use Balancing::{Nearest, NearestLightest};
        use SeedAssignment::{Layers, Random, Weight};
        [
            Self { assignment: Layers, balancing: NearestLightest },
            Self { assignment: Layers, balancing: Nearest },
            Self { assignment: Weight, balancing: NearestLightest },
            Self { assignment: Weight, balancing: Nearest },
            Self { assignment: Random, balancing: NearestLightest },
            Self { assignment: Random, balancing: Nearest },
        ]
    };
    /// The one that the paper recommends.
    pub const H3: Self = Self::ALL[2];
}

impl fmt::Display for Heuristic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let position = Self::ALL.iter().position(|other| other == self).unwrap_or_default();
        formatter.pad(&format!("H{}", position + 1))
    }
}

impl FromStr for Heuristic {
    type Err = TuneError;

    fn from_str(text: &str) -> Result<Self, TuneError> {
        let names = Self::ALL.map(|heuristic| heuristic.to_string());
        let position = names.iter().position(|name| name.eq_ignore_ascii_case(text));
        position
            .map(|position| Self::ALL[position])
            .ok_or_else(|| TuneError::UnknownAlgorithm { name: text.to_owned(), known: names.join(", ") })
    }
}

/// The search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shisha {
    /// Which of H1 to H6.
    pub heuristic: Heuristic,
    /// It ends after so many trials in a row without an improvement.
    pub alpha: usize,
    /// For the random choices of H5 and H6.
    pub seed: u64,
}

impl Default for Shisha {
    /// H3 with the paper's alpha.
    fn default() -> Self {
        Self { heuristic: Heuristic::H3, alpha: 10, seed: 0 }
    }
}

impl Shisha {
    /// Algorithm 1: as many stages as there are places. The lightest group of layers joins the lighter of its
    /// neighbours until there are no more groups than stages; then each gets a place.
    pub fn seed(&self, space: &Space) -> Configuration {
        let mut layers = vec![1_usize; space.layers()];
        let mut weights = space.weights().to_vec();
        while layers.len() > space.most_stages() {
            let lightest = (0..weights.len()).min_by_key(|&group| weights[group]).unwrap_or_default();
            let before = lightest.checked_sub(1);
            let behind = Some(lightest + 1).filter(|&group| group < weights.len());
            let Some(other) = [before, behind].into_iter().flatten().min_by_key(|&group| weights[group]) else { break };
            let (kept, gone) = (lightest.min(other), lightest.max(other));
            layers[kept] += layers.remove(gone);
            weights[kept] += weights.remove(gone);
        }
        let places = self.assign(space, &layers, &weights);
        Configuration::assembled(layers, places)
    }

    fn assign(&self, space: &Space, layers: &[usize], weights: &[u64]) -> Vec<PlaceId> {
        let mut order: Vec<usize> = (0..layers.len()).collect();
        // Stages in the order of the places that they get, the fastest place first.
        match self.heuristic.assignment {
            SeedAssignment::Layers => order.sort_by_key(|&stage| layers[stage]),
            SeedAssignment::Weight => order.sort_by_key(|&stage| std::cmp::Reverse(weights[stage])),
            SeedAssignment::Random => order.shuffle(&mut ChaCha8Rng::seed_from_u64(self.seed)),
        }
        let mut places = vec![PlaceId(0); layers.len()];
        for (stage, place) in order.into_iter().zip(space.places()) {
            places[stage] = place;
        }
        places
    }

    /// Where layers of the slowest stage go: to a faster place; where there is none, to one as fast; else anywhere.
    fn target(&self, space: &Space, configuration: &Configuration, trial: &Trial, slowest: usize) -> Option<usize> {
        let kind = |stage: usize| space.kind(configuration.places()[stage]);
        let others = || (0..configuration.stages()).filter(|&stage| stage != slowest);
        let slowest_kind = kind(slowest);
        let choices = [
            others().filter(|&stage| kind(stage) < slowest_kind).collect::<Vec<_>>(),
            others().filter(|&stage| kind(stage) == slowest_kind).collect(),
            others().collect(),
        ];
        let candidates = choices.into_iter().find(|candidates| !candidates.is_empty())?;
        let before = candidates.iter().copied().filter(|&stage| stage < slowest).max();
        let behind = candidates.iter().copied().find(|&stage| stage > slowest);
        let time = |stage: usize| trial.stage_times[stage];
        let sides = [before, behind].into_iter().flatten();
        match self.heuristic.balancing {
            Balancing::Nearest => sides.min_by_key(|&stage| (stage.abs_diff(slowest), time(stage))),
            Balancing::NearestLightest => sides.min_by_key(|&stage| (time(stage), stage.abs_diff(slowest))),
        }
    }

    /// Algorithm 2, from any configuration.
    ///
    /// # Errors
    /// What the oracle fails with.
    pub fn tune_from(
        &self,
        space: &Space,
        start: Configuration,
        oracle: &mut dyn Oracle<Configuration>,
    ) -> Result<Tuning<Configuration>, TuneError> {
        let mut recorder = Recorder::new(oracle, Nanoseconds::ZERO);
        let mut configuration = start;
        let (mut trial, _) = recorder.run(&configuration)?;
        let mut failures = 0;
        while failures < self.alpha {
            let slowest = trial.bottleneck();
            let target = self.target(space, &configuration, &trial, slowest);
            let Some(moved) = target.and_then(|target| configuration.drained(slowest, target)) else { break };
            let is_best;
            (trial, is_best) = recorder.run(&moved)?;
            configuration = moved;
            failures = if is_best { 0 } else { failures + 1 };
        }
        recorder.finish().ok_or(TuneError::Empty { layers: space.layers(), places: space.places().len() })
    }
}

impl Tuner for Shisha {
    fn name(&self) -> String {
        format!("Shisha {}", self.heuristic)
    }

    fn tune(&self, space: &Space, oracle: &mut dyn Oracle<Configuration>) -> Result<Tuning<Configuration>, TuneError> {
        self.tune_from(space, self.seed(space), oracle)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use crate::database::{Database, LayerTimes};
    use crate::space::PlaceKind;

    fn space() -> Space {
        Space::new(vec![9, 1, 8, 2, 7, 7], vec![PlaceKind::new("F", 1), PlaceKind::new("S", 2)]).unwrap()
    }

    #[test]
    fn seeds_merge_the_lightest_groups_and_rank_stages() {
        // 1 joins 8, 2 joins 7, 7 joins the 9 (of 9 and ... its lighter neighbour): {9} {1 8} {2 7} {7} -> {9} {1 8} {2
        // 7 7}.
        let by_weight = Shisha::default().seed(&space());
        assert_eq!(by_weight.layers(), [1, 2, 3]);
        // The heaviest stage, 16, is on the fast place.
        assert_eq!(by_weight.describe(&space()), "S[1-1] S[2-3] F[4-6]");
        let by_layers = Shisha { heuristic: Heuristic::ALL[0], ..Shisha::default() }.seed(&space());
        assert_eq!(by_layers.describe(&space()), "F[1-1] S[2-3] S[4-6]");
    }

    #[test]
    fn layers_leave_the_slowest_stage_for_fast_places() {
        let space = space();
        let times = LayerTimes::new(&space, |place, layer| {
            Nanoseconds(space.weights()[layer] * if space.kind(place) == 0 { 100 } else { 200 })
        });
        let mut oracle = Database::new(times.clone());
        let found = Shisha { heuristic: Heuristic::ALL[0], ..Shisha::default() }.tune(&space, &mut oracle).unwrap();
        // F[1] S[2-3] S[4-6] has 900, 1800, 3200; one layer flows from the end to the front: F[1-2] S[3-4] S[5-6] ...
        assert_eq!(found.improvements[0].period, Nanoseconds(3200));
        assert!(found.trial.period < Nanoseconds(3200));
        assert_eq!(found.trial.period, times.period(&found.best));
        assert!(found.trials <= 20);
    }

    /// Though one as fast is nearer, and where there is none that is faster, to the nearest that is as fast.
    #[test]
    fn layers_go_to_a_faster_place_if_there_is_one() {
        let space = Space::new(vec![1; 6], vec![PlaceKind::new("F", 1), PlaceKind::new("S", 3)]).unwrap();
        let [fast, slow, other, third] = [0, 1, 2, 3].map(PlaceId);
        let target = |places: &[PlaceId], slowest: usize| {
            let configuration = Configuration::new(&space, vec![2; 3], places.to_vec()).unwrap();
            let nanoseconds = |stage: usize| Nanoseconds(if stage == slowest { 90 } else { 10 });
            let trial = Trial {
                stage_times: (0..3).map(nanoseconds).collect(),
                layer_times: Vec::new(),
                period: Nanoseconds(90),
                available: Vec::new(),
                spent: Nanoseconds(90),
            };
            Shisha { heuristic: Heuristic::ALL[1], ..Shisha::default() }.target(&space, &configuration, &trial, slowest)
        };
        assert_eq!(target(&[fast, slow, other], 2), Some(0));
        assert_eq!(target(&[third, slow, other], 2), Some(1));
        assert_eq!(target(&[slow, fast, other], 1), Some(0), "none is as fast");
    }

    #[test]
    fn names() {
        assert_eq!("h3".parse::<Heuristic>().unwrap(), Heuristic::H3);
        assert!("H7".parse::<Heuristic>().unwrap_err().to_string().contains("H1, H2, H3"));
        assert_eq!(Heuristic::H3.to_string(), "H3");
    }
}
