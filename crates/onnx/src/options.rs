//! What is said of a network by who reads it.

use std::collections::BTreeMap;

/// How to read a model.
///
/// ```
/// use millstream_onnx::ReadOptions;
///
/// let options = ReadOptions::default().with_batch(4).with_dimensions([("height".to_owned(), 224)]);
/// assert_eq!(options.dimensions["height"], 224);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Size of an open first dimension of an input. Where none is open, another one than 1 is an error.
    pub batch: usize,
    /// Sizes of open dimensions by name, or by input and position, `input.2`, which wins and is the only way for
    /// dimensions without a name. A name that the model does not have is an error.
    pub dimensions: BTreeMap<String, usize>,
    /// The most bytes that weights may take which the reader computes from other constants. What is beyond stays an
    /// operator that runtimes compute when they load a segment, and can't be divided by channels.
    pub most_folded_bytes: u64,
    /// The most bytes that are read of files beside the model, which its weights are in. Bytes that several weights
    /// share count once.
    pub most_weight_bytes: u64,
    /// Whether a file of weights may be a link to outside the model's folder, as caches have them that keep each file
    /// once. Only for models that are trusted: whoever makes the link chooses a file that is read.
    pub linked_weights: bool,
}

/// The default of [`ReadOptions::batch`].
pub(crate) const USUAL_BATCH: usize = 1;

/// The default of [`ReadOptions::most_folded_bytes`].
pub(crate) const MOST_FOLDED_BYTES: u64 = 1 << 30;

/// The default of [`ReadOptions::most_weight_bytes`].
pub(crate) const MOST_WEIGHT_BYTES: u64 = 16 << 30;

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            batch: USUAL_BATCH,
            dimensions: BTreeMap::new(),
            most_folded_bytes: MOST_FOLDED_BYTES,
            most_weight_bytes: MOST_WEIGHT_BYTES,
            linked_weights: false,
        }
    }
}

impl ReadOptions {
    /// The same with another [`ReadOptions::batch`].
    #[must_use]
    pub fn with_batch(self, batch: usize) -> Self {
        Self { batch, ..self }
    }

    /// The same with these [`ReadOptions::dimensions`] and no others.
    #[must_use]
    pub fn with_dimensions(self, dimensions: impl IntoIterator<Item = (String, usize)>) -> Self {
        Self { dimensions: dimensions.into_iter().collect(), ..self }
    }

    /// The same with another [`ReadOptions::most_folded_bytes`].
    #[must_use]
    pub fn with_most_folded_bytes(self, most_folded_bytes: u64) -> Self {
        Self { most_folded_bytes, ..self }
    }

    /// The same with another [`ReadOptions::most_weight_bytes`].
    #[must_use]
    pub fn with_most_weight_bytes(self, most_weight_bytes: u64) -> Self {
        Self { most_weight_bytes, ..self }
    }

    /// The same with another [`ReadOptions::linked_weights`].
    #[must_use]
    pub fn with_linked_weights(self, linked_weights: bool) -> Self {
        Self { linked_weights, ..self }
    }
}
