//! The name of a stage.

use std::fmt;
use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A stage of a schedule by its place in [`Schedule::stages`](crate::Schedule::stages). Messages and files name it as people
/// count, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(from = "NonZeroUsize", into = "NonZeroUsize")]
pub struct StageId(u32);

impl StageId {
    /// The stage at which frames enter the network.
    pub const FIRST: Self = Self(0);

    /// The stage at a place, counted from 0.
    pub const fn new(place: usize) -> Self {
        // No memory has room for a schedule of more stages.
        Self(place as u32)
    }

    /// Its place, counted from 0.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The number by which people name it, counted from 1.
    pub const fn number(self) -> usize {
        self.index() + 1
    }

    /// All of so many, in order.
    pub fn all(count: usize) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone + use<> {
        (0..count).map(Self::new)
    }

    /// The stage before it; `None` for the first.
    pub fn previous(self) -> Option<Self> {
        self.0.checked_sub(1).map(Self)
    }

    /// The stage after it, if there is one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl From<NonZeroUsize> for StageId {
    fn from(number: NonZeroUsize) -> Self {
        Self::new(number.get() - 1)
    }
}

impl From<StageId> for NonZeroUsize {
    fn from(stage: StageId) -> Self {
        Self::MIN.saturating_add(stage.index())
    }
}

impl fmt::Display for StageId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_and_files_count_from_one() {
        let stage = StageId::FIRST.next();
        assert_eq!((stage.index(), stage.to_string()), (1, "2".to_owned()));
        assert_eq!(serde_json::to_string(&stage).unwrap(), "2");
        assert_eq!(serde_json::from_str::<StageId>("2").unwrap(), stage);
        assert!(serde_json::from_str::<StageId>("0").is_err(), "there is no stage 0");
        assert_eq!((stage.previous(), StageId::FIRST.previous()), (Some(StageId::FIRST), None));
    }
}
