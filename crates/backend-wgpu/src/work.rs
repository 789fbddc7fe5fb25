//! Thread granularity: how much of a convolution each invocation of its shader computes.

use std::collections::BTreeMap;

/// What an invocation of the convolution shader computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThreadWork {
    /// How many outputs: the thread granularity `g`.
    pub outputs: u32,
    /// Which ones.
    pub policy: Policy,
}

/// Which outputs an invocation computes together (thread granularity, section 6.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Policy 1: neighbouring pixels of one channel. They share the weights and some inputs.
    NeighbouringPixels,
    /// Policy 2: the same pixel of several channels. They share the inputs.
    SamePixel,
    /// Policy 3: outputs that have nothing in common.
    Unrelated,
}

impl Policy {
    /// All policies.
    pub const ALL: [Self; 3] = [Self::NeighbouringPixels, Self::SamePixel, Self::Unrelated];

    /// The policy of this number in the paper, if there is one.
    pub fn of_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.number() == number)
    }

    /// The policy's number in the paper.
    pub fn number(self) -> u32 {
        match self {
            Self::NeighbouringPixels => 1,
            Self::SamePixel => 2,
            Self::Unrelated => 3,
        }
    }
}

/// How the work of each convolution is divided.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkChoice {
    /// In the same way for all.
    Fixed(ThreadWork),
    /// By its multiply-accumulates: as the entry says that has as many, or the next fewer; as the first one for fewer
    /// still. An empty map is like the default.
    ByMacs(BTreeMap<u64, ThreadWork>),
}

impl ThreadWork {
    /// What did best without any measurement on the devices at hand: eight channels of a pixel.
    const UNMEASURED: Self = Self { outputs: 8, policy: Policy::SamePixel };
}

impl Default for WorkChoice {
    fn default() -> Self {
        Self::Fixed(ThreadWork::UNMEASURED)
    }
}

impl WorkChoice {
    /// The work for a convolution of so many multiply-accumulates.
    pub fn of(&self, macs: u64) -> ThreadWork {
        match self {
            Self::Fixed(work) => *work,
            Self::ByMacs(choices) => {
                let choice = choices.range(..=macs).next_back().or_else(|| choices.first_key_value());
                choice.map_or(ThreadWork::UNMEASURED, |(_, work)| *work)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_fewer_multiply_accumulates_decide() {
        let [small, large] = [1, 16].map(|outputs| ThreadWork { outputs, policy: Policy::SamePixel });
        let choice = WorkChoice::ByMacs(BTreeMap::from([(100, small), (1000, large)]));
        assert_eq!([0, 100, 999, 1000, u64::MAX].map(|macs| choice.of(macs)), [small, small, small, large, large]);
        assert_eq!(WorkChoice::ByMacs(BTreeMap::new()).of(7), WorkChoice::default().of(7));
    }
}
