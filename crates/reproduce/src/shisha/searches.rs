//! The searches that figures 4 and 5 and table 3 set beside each other, and running them on a case.

use millstream_tune::{
    Beliefs, Configuration, Database, Exhaustive, Heuristic, HillClimbing, ModelGuided, PipeSearch, RandomWalk, Shisha,
    SimulatedAnnealing, Start, Tuner, Tuning, Uncertainty,
};

use crate::paper::ReproduceError;
use crate::shisha::case::{Case, PREPARATION};

/// Trials that the searches without an end of their own may run.
pub(super) const TRIALS: usize = 300;
/// Trials of the random walk, which is run for longer.
const RANDOM_TRIALS: usize = 1000;
/// What the paper's searches know of layers when they begin: the sizes of layers, not their times.
const UNCERTAINTY: Uncertainty = Uncertainty { layer: 0.3, place: std::f64::consts::LN_2, noise: 0.01 };

/// Reasons for which several claims about searches miss.
pub(super) const HEAVY_LAYERS: &str = "the paper's times are from a simulator and not printed; by ours, a few layers are so heavy that a stage of one of them on a slow \
                                       place is the bottleneck, from where moving layers does not lead to the best";
pub(super) const FEW_GAINS: &str = "a search ends ten trials after its last gain, and by our times gains are few";

/// A search of the comparison: what is found is told apart by it, not by names that people read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Algorithm {
    Exhaustive,
    PipeSearch,
    RandomWalk,
    Annealing(Start),
    HillClimbing(Start),
    Shisha(Heuristic),
    /// Ours.
    ModelGuided,
}

impl Algorithm {
    /// Those of the literature that end on every system, with Shisha as its paper recommends it.
    pub(super) const PUBLISHED: [Self; 7] = [
        Self::PipeSearch,
        Self::RandomWalk,
        Self::Annealing(Start::Random),
        Self::Annealing(Start::ShishaSeed),
        Self::HillClimbing(Start::Random),
        Self::HillClimbing(Start::ShishaSeed),
        Self::SHISHA,
    ];
    /// Shisha as its paper recommends it.
    pub(super) const SHISHA: Self = Self::Shisha(Heuristic::H3);

    /// As which it searches; nothing for ours, which needs a model of its own.
    fn tuner(self) -> Option<Box<dyn Tuner>> {
        let tuner: Box<dyn Tuner> = match self {
            Self::Exhaustive => Box::new(Exhaustive { preparation: PREPARATION, ..Exhaustive::default() }),
            Self::PipeSearch => Box::new(PipeSearch { preparation: PREPARATION, ..PipeSearch::default() }),
            Self::RandomWalk => Box::new(RandomWalk { trials: RANDOM_TRIALS, seed: 1 }),
            Self::Annealing(start) => {
                Box::new(SimulatedAnnealing { trials: TRIALS, seed: 1, start, ..SimulatedAnnealing::default() })
            }
            Self::HillClimbing(start) => Box::new(HillClimbing { trials: TRIALS, seed: 1, start }),
            Self::Shisha(heuristic) => Box::new(Shisha { heuristic, ..Shisha::default() }),
            Self::ModelGuided => return None,
        };
        Some(tuner)
    }

    /// Searches a case.
    fn run(self, case: &Case) -> Result<Found, ReproduceError> {
        let mut database = Database::new(case.times.clone());
        let (name, tuning) = match self.tuner() {
            Some(tuner) => (tuner.name(), tuner.tune(&case.space, &mut database)?),
            None => {
                let mut beliefs = Beliefs::new(&case.space, case.system.prior(&case.space), UNCERTAINTY)?;
                ("model-guided (ours)".to_owned(), ModelGuided::default().tune(&mut beliefs, &mut database)?)
            }
        };
        Ok(Found { search: self, name, tuning })
    }
}

/// What a search found.
pub(super) struct Found {
    pub(super) search: Algorithm,
    /// As tables and figures show it.
    pub(super) name: String,
    pub(super) tuning: Tuning<Configuration>,
}

/// Runs searches on a case, one after the other.
pub(super) fn run(case: &Case, searches: impl IntoIterator<Item = Algorithm>) -> Result<Vec<Found>, ReproduceError> {
    searches.into_iter().map(|search| search.run(case)).collect()
}

/// Every search on a case: exhaustive first, ours last.
pub(super) fn run_all(case: &Case) -> Result<Vec<Found>, ReproduceError> {
    run(case, [Algorithm::Exhaustive].into_iter().chain(Algorithm::PUBLISHED).chain([Algorithm::ModelGuided]))
}

/// What one of the searches found.
pub(super) fn of(found: &[Found], search: Algorithm) -> Option<&Found> {
    found.iter().find(|result| result.search == search)
}
