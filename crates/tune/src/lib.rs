//! Online search: finding a good schedule by running schedules.
//!
//! A [`Space`] is a network's layers and the places that stages may run on; a [`Configuration`] says how many layers
//! each stage has and where it runs; an [`Oracle`] measures configurations: a running engine, a simulation, or a
//! [`Database`]. The published searches are here under their own names ([`PipeSearch`], [`Shisha`],
//! [`SimulatedAnnealing`], [`HillClimbing`], [`RandomWalk`], [`Exhaustive`]), all behind [`Tuner`]. [`ModelGuided`] is
//! Millstream's own: it runs the search of `millstream-pipeline` on a [`TimeModel`] that each trial corrects, such as
//! [`Beliefs`] or, for schedules on a real board, [`BoardModel`].
//!
//! ```
//! use millstream_cost::Nanoseconds;
//! use millstream_tune::{Beliefs, Database, LayerTimes, ModelGuided, PlaceKind, Shisha, Space, Tuner, Uncertainty};
//!
//! let space = Space::new(vec![1, 4, 8, 4, 8, 8, 4], vec![PlaceKind::new("B", 1), PlaceKind::new("s", 2)])?;
//! let speed = |kind: usize| [1, 3][kind];
//! let truth = LayerTimes::new(&space, |place, layer| Nanoseconds(1000 * space.weights()[layer] * speed(space.kind(place))));
//! // The model does not know that the small places are three times as slow.
//! let prior = LayerTimes::new(&space, |_, layer| Nanoseconds(1000 * space.weights()[layer]));
//! let mut beliefs = Beliefs::new(&space, prior, Uncertainty::default())?;
//! let guided = ModelGuided::default().tune(&mut beliefs, &mut Database::new(truth.clone()))?;
//! let shisha = Shisha::default().tune(&space, &mut Database::new(truth))?;
//! assert!(guided.trial.period <= shisha.trial.period);
//! assert!(guided.trials < shisha.trials);
//! # Ok::<(), millstream_tune::TuneError>(())
//! ```
//!
//! Feature `highs` (on by default): searches use the solver HiGHS where it helps, as the crate `millstream-pipeline`
//! says. Without it nothing in C or C++ is compiled.
//!
//! Invariants: the same seed gives the same search; every configuration that is measured is valid; nothing here runs
//! anything itself.

mod beliefs;
mod board_model;
mod compositions;
mod configuration;
mod database;
mod error;
mod exhaustive;
mod log_factors;
mod model_guided;
mod neighbours;
mod oracle;
mod pipe_search;
// The search that the page on adding one shows.
#[cfg(test)]
#[expect(unreachable_pub, reason = "it is public where the page adds it")]
mod random_trials;
mod shisha;
mod space;
mod stochastic;
mod tuning;

pub use beliefs::{Beliefs, Uncertainty};
pub use board_model::{BoardModel, with_slowdowns};
pub use configuration::Configuration;
pub use database::{Database, LayerTimes};
pub use error::TuneError;
pub use exhaustive::Exhaustive;
pub use model_guided::{ModelGuided, Proposal, Score, TimeModel};
pub use neighbours::random_configuration;
pub use oracle::{Oracle, Trial};
pub use pipe_search::{PipeSearch, coefficient_of_variation, most_even};
pub use shisha::{Balancing, Heuristic, SeedAssignment, Shisha};
pub use space::{PlaceId, PlaceKind, Space};
pub use stochastic::{HillClimbing, RandomWalk, SimulatedAnnealing, Start};
pub use tuning::{Improvement, Tuning};

/// A search of configurations by measuring them.
pub trait Tuner {
    /// What the literature calls it.
    fn name(&self) -> String;

    /// Searches.
    ///
    /// # Errors
    /// What the oracle fails with, and [`TuneError::TooMany`] where the space is too large for the search.
    fn tune(&self, space: &Space, oracle: &mut dyn Oracle<Configuration>) -> Result<Tuning<Configuration>, TuneError>;
}
