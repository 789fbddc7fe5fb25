//! What else happens on the machine while something is measured.

use std::fmt;

use millstream_board::{Board, CoreId};
use millstream_machine::{HeatWatch, OthersWatch};
use millstream_predict::samples::SampleConditions;
use millstream_predict::{NetworkProfile, Summary};
use millstream_profile::MOST_OTHER_LOAD;

/// What held up the work at hand while it was measured. The more it did, the greater.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Interference {
    /// Whether the system lowered clocks because of heat, nobody knows by how much.
    pub heat_throttled: bool,
    /// How many cores other programs used; 0 where the system does not tell.
    pub other_cores: f64,
}

impl Interference {
    /// Whether times can't be relied on.
    pub fn is_significant(self) -> bool {
        self.heat_throttled || self.other_cores > MOST_OTHER_LOAD
    }

    /// The greater one.
    pub(crate) fn or_greater(self, other: Self) -> Self {
        if self < other { other } else { self }
    }

    /// While a network was measured, in the middle of its samples.
    pub(crate) fn during(network: &NetworkProfile) -> Self {
        let segments = network.samples.iter().map(|sample| &sample.conditions);
        let operators = network.operator_samples.iter().map(|sample| &sample.conditions);
        let seen: Vec<Self> = segments.chain(operators).map(Self::from).collect();
        let loads: Vec<f64> = seen.iter().map(|seen| seen.other_cores).collect();
        let hot = seen.iter().filter(|seen| seen.heat_throttled).count();
        let other_cores = Summary::of(&loads).map_or(0.0, |summary| summary.median);
        Self { heat_throttled: 2 * hot > seen.len(), other_cores }
    }
}

impl From<&SampleConditions> for Interference {
    fn from(conditions: &SampleConditions) -> Self {
        Self { heat_throttled: conditions.heat_throttled, other_cores: conditions.other_load }
    }
}

impl fmt::Display for Interference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let others = format!("other programs used {:.1} cores", self.other_cores);
        let heat = "the system lowered clocks because of heat";
        match (self.heat_throttled, self.other_cores > MOST_OTHER_LOAD) {
            (true, true) => write!(formatter, "{heat}, and {others}"),
            (true, false) => formatter.write_str(heat),
            (false, _) => formatter.write_str(&others),
        }
    }
}

/// Watches all cores of a board.
pub(crate) struct InterferenceWatch {
    others: OthersWatch,
    heat: HeatWatch,
}

impl InterferenceWatch {
    /// Begins to watch.
    pub(crate) fn new(cores: Vec<CoreId>) -> Self {
        Self { others: OthersWatch::new(cores.clone()), heat: HeatWatch::new(cores) }
    }

    pub(crate) fn of(board: &Board) -> Self {
        Self::new(board.cores().map(|core| core.id).collect())
    }

    /// What disturbed since.
    pub(crate) fn seen(&self) -> Interference {
        let other_cores = self.others_cores().unwrap_or_default();
        Interference { heat_throttled: self.heat_throttled(), other_cores }
    }

    /// Whether the system lowered clocks because of heat since.
    pub(crate) fn heat_throttled(&self) -> bool {
        self.heat.is_throttled()
    }

    /// How many cores others used since; `None` where the system does not tell.
    pub(crate) fn others_cores(&self) -> Option<f64> {
        self.others.cores()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_disturbed_is_told_in_words() {
        let [others, hot, hot_alone, both] = [(false, 0.52), (true, 0.0), (true, 0.05), (true, 1.0)]
            .map(|(heat_throttled, other_cores)| Interference { heat_throttled, other_cores }.to_string());
        assert_eq!(others, "other programs used 0.5 cores");
        assert_eq!([&*hot, &*hot_alone], ["the system lowered clocks because of heat"; 2]);
        assert_eq!(both, "the system lowered clocks because of heat, and other programs used 1.0 cores");
    }
}
