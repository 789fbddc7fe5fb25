//! Samples as models see them.

use millstream_board::ProcessorClass;

use crate::profile::{NetworkProfile, Profile};
use crate::samples::OperatorRecord;

/// Operators that ran as one, and how long they took.
#[derive(Debug, Clone)]
pub struct TimedOperators<'a> {
    /// The network that they ran in.
    pub network: &'a str,
    /// The operator that determines the time.
    pub main: &'a OperatorRecord,
    /// Bytes that the others read beside what the main operator makes.
    pub further_bytes: u64,
    /// The time.
    pub seconds: f64,
}

impl<'a> TimedOperators<'a> {
    /// What the operators of one sample amount to; `None` if there are none.
    pub fn of(network: &'a str, operators: &[&'a OperatorRecord], seconds: f64) -> Option<Self> {
        let main = main_of(operators)?;
        Some(Self { network, main, further_bytes: further_bytes(main, operators), seconds })
    }

    /// All operator samples of a processor class, in an order that does not depend on theirs.
    pub fn all(profile: &'a Profile, processor: &ProcessorClass) -> Vec<Self> {
        let networks = profile.networks.iter();
        let mut all: Vec<Self> = networks.flat_map(|network| Self::of_network(network, processor)).collect();
        all.sort_by(|left, right| {
            let key = |observation: &Self| (observation.network, observation.main.name.as_str());
            key(left).cmp(&key(right)).then(left.seconds.total_cmp(&right.seconds))
        });
        all
    }

    /// The operator samples of one network on a processor class.
    pub fn of_network(network: &'a NetworkProfile, processor: &ProcessorClass) -> Vec<Self> {
        let operators: Vec<&OperatorRecord> = network.operators().collect();
        let class_samples = network.operator_samples.iter().filter(|sample| sample.processor == *processor);
        class_samples
            .filter_map(|sample| {
                let members: Vec<&OperatorRecord> =
                    sample.operators.iter().filter_map(|&index| operators.get(index).copied()).collect();
                Self::of(&network.name, &members, sample.time.median_seconds)
            })
            .collect()
    }
}

/// Of operators that run as one, the one with the most work.
pub(crate) fn main_of<'a>(operators: &[&'a OperatorRecord]) -> Option<&'a OperatorRecord> {
    operators
        .iter()
        .copied()
        .max_by_key(|operator| (operator.work.gemm.is_some(), operator.work.macs, operator.work.bytes()))
}

/// What fused operators read beside the main operator's output: the other summand of a residual addition.
pub(crate) fn further_bytes(main: &OperatorRecord, operators: &[&OperatorRecord]) -> u64 {
    let followers = operators.iter().filter(|operator| !std::ptr::eq(**operator, main));
    followers.map(|operator| operator.work.input_bytes.saturating_sub(operator.work.output_bytes)).sum()
}
