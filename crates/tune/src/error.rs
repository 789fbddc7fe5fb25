//! Failures of tuning: impossible searches, and configurations that can't be measured.

use thiserror::Error;

/// Why tuning could not go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TuneError {
    /// There is nothing to deal out, or nowhere to put it.
    #[error("tuning needs at least one layer and one place; there are {layers} layers and {places} places")]
    Empty {
        /// Number of layers.
        layers: usize,
        /// Number of places.
        places: usize,
    },
    /// The database does not belong to the space.
    #[error(
        "the database has times of {layers} layers on {places} places; the space has {expected_layers} and {expected_places}"
    )]
    Misfit {
        /// Layers in the database.
        layers: usize,
        /// Places in the database.
        places: usize,
        /// Layers in the space.
        expected_layers: usize,
        /// Places in the space.
        expected_places: usize,
    },
    /// There are too many configurations to go through them all.
    #[error(
        "there are {configurations} configurations; an exhaustive search goes through at most {most}, so use fewer places or another algorithm"
    )]
    TooMany {
        /// How many there are.
        configurations: u128,
        /// How many are still searched.
        most: u128,
    },
    /// No algorithm has this name.
    #[error("there is no tuning algorithm '{name}'; there are {known}")]
    UnknownAlgorithm {
        /// The name asked for.
        name: String,
        /// All names.
        known: String,
    },
    /// A configuration could not be measured.
    #[error("measuring {configuration}: {source}")]
    Oracle {
        /// What was measured.
        configuration: String,
        /// Why it failed.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The model found no configuration.
    #[error("searching on the model: {0}")]
    Model(Box<dyn std::error::Error + Send + Sync>),
}
