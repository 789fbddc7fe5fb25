//! The search space: layers with their work, places by kind, and the number of configurations.

use std::fmt;

use crate::error::TuneError;

/// Identifies a place of one [`Space`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlaceId(pub(crate) usize);

impl PlaceId {
    /// Position among the places, those of the fastest kind first.
    pub fn index(self) -> usize {
        self.0
    }
}

/// Execution places that are as good as each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceKind {
    /// What each is called, for instance `B4`.
    pub name: String,
    /// How many there are.
    pub count: usize,
}

impl PlaceKind {
    /// So many places of one name.
    pub fn new(name: impl Into<String>, count: usize) -> Self {
        Self { name: name.into(), count }
    }
}

/// The space of a search: which layers form a stage, and on which place each stage runs.
///
/// An execution place (Shisha, section 5) is a processor that no two stages share. This is all that the published
/// online searches know in advance: how much work layers are, and which places are fast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    weights: Vec<u64>,
    kinds: Vec<PlaceKind>,
    /// Kind of each place.
    kind_of: Vec<usize>,
}

impl Space {
    /// A network of layers with these weights (multiply-accumulates; equation 1 of both papers) and places of these
    /// kinds, the fastest kind first.
    ///
    /// # Errors
    /// [`TuneError::Empty`] without layers or places.
    pub fn new(weights: Vec<u64>, kinds: Vec<PlaceKind>) -> Result<Self, TuneError> {
        let kind_of: Vec<usize> =
            kinds.iter().enumerate().flat_map(|(kind, places)| std::iter::repeat_n(kind, places.count)).collect();
        if weights.is_empty() || kind_of.is_empty() {
            return Err(TuneError::Empty { layers: weights.len(), places: kind_of.len() });
        }
        Ok(Self { weights, kinds, kind_of })
    }

    /// Number of layers.
    pub fn layers(&self) -> usize {
        self.weights.len()
    }

    /// Work of each layer.
    pub fn weights(&self) -> &[u64] {
        &self.weights
    }

    /// All places, those of the fastest kind first.
    pub fn places(&self) -> impl ExactSizeIterator<Item = PlaceId> + use<> {
        (0..self.kind_of.len()).map(PlaceId)
    }

    /// The kinds of places, the fastest first.
    pub fn kinds(&self) -> &[PlaceKind] {
        &self.kinds
    }

    /// The kind of a place: 0 is the fastest.
    pub fn kind(&self, place: PlaceId) -> usize {
        self.kind_of[place.0]
    }

    /// What a place is called.
    pub fn name(&self, place: PlaceId) -> &str {
        &self.kinds[self.kind_of[place.0]].name
    }

    /// The most stages that a pipeline can have here.
    pub fn most_stages(&self) -> usize {
        self.layers().min(self.kind_of.len())
    }

    /// How many configurations with so many stages there are: ways to cut, times ways to choose kinds.
    pub fn configurations(&self, stages: usize) -> u128 {
        // Sequences of kinds: ways[n] after some kinds is the number of sequences of length n of them.
        let mut ways = vec![0_u128; stages + 1];
        ways[0] = 1;
        for kind in &self.kinds {
            for length in (0..=stages).rev() {
                let added = (1..=kind.count.min(length)).map(|chosen| ways[length - chosen] * binomial(length, chosen));
                ways[length] += added.sum::<u128>();
            }
        }
        binomial(self.layers() - 1, stages.saturating_sub(1)) * ways[stages]
    }
}

impl fmt::Display for Space {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<String> = self.kinds.iter().map(|kind| format!("{} x {}", kind.count, kind.name)).collect();
        write!(formatter, "{} layers on {}", self.layers(), kinds.join(", "))
    }
}

/// Number of ways to choose; saturates.
pub(crate) fn binomial(of: usize, choose: usize) -> u128 {
    if choose > of {
        return 0;
    }
    (0..choose).fold(1_u128, |product, index| product.saturating_mul((of - index) as u128) / (index as u128 + 1))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn counts_by_hand() {
        // Three layers, two stages: two cuts. Kinds: FF, FS, SF of two F and one S.
        let space = Space::new(vec![1; 3], vec![PlaceKind::new("F", 2), PlaceKind::new("S", 1)]).unwrap();
        assert_eq!([1, 2, 3].map(|stages| space.configurations(stages)), [2, 2 * 3, 3]);
        assert_eq!(space.most_stages(), 3);
        let alone = Space::new(vec![1; 21], vec![PlaceKind::new("C", 4)]).unwrap();
        assert_eq!([2, 3, 4].map(|stages| alone.configurations(stages)), [20, 190, 1140]);
        assert!(matches!(Space::new(vec![], vec![]), Err(TuneError::Empty { .. })));
    }
}
