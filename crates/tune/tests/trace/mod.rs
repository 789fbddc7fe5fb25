//! What a search tries, in order.

#![allow(clippy::unwrap_used, clippy::panic, dead_code, unreachable_pub, reason = "each test uses a part of it")]

use millstream_cost::Nanoseconds;
use millstream_tune::{Configuration, Oracle, PlaceKind, Space, Trial, TuneError, Tuner, Tuning};

/// Layers and places with a time for each pair, as written in a test.
pub struct Case {
    pub space: Space,
    /// Row per place.
    times: Vec<Vec<u64>>,
}

/// Weights of layers, and for each place the name of its kind and times of the layers there. Places of one kind follow
/// each other.
pub fn case(weights: &[u64], places: &[(&str, &[u64])]) -> Case {
    let mut kinds: Vec<PlaceKind> = Vec::new();
    for (name, _) in places {
        match kinds.last_mut() {
            Some(last) if last.name == *name => last.count += 1,
            _ => kinds.push(PlaceKind::new(*name, 1)),
        }
    }
    let times = places.iter().map(|(_, times)| times.to_vec()).collect();
    Case { space: Space::new(weights.to_vec(), kinds).unwrap(), times }
}

/// Looks times up and notes what it is asked.
pub struct Noting<'a> {
    case: &'a Case,
    pub tried: Vec<(String, u64)>,
}

impl<'a> Noting<'a> {
    pub fn new(case: &'a Case) -> Self {
        Self { case, tried: Vec::new() }
    }
}

impl Oracle<Configuration> for Noting<'_> {
    /// Every trial takes 1000 ns.
    fn measure(&mut self, configuration: &Configuration) -> Result<Trial, TuneError> {
        let time = |(range, place): (std::ops::Range<usize>, &millstream_tune::PlaceId)| {
            Nanoseconds(self.case.times[place.index()][range].iter().sum())
        };
        let stage_times: Vec<Nanoseconds> = configuration.ranges().zip(configuration.places()).map(time).collect();
        let period = stage_times.iter().copied().max().unwrap();
        self.tried.push((configuration.describe(&self.case.space), period.0));
        Ok(Trial { stage_times, period, spent: Nanoseconds(1000), ..Trial::default() })
    }
}

impl Case {
    /// Stages of so many layers on places of these numbers.
    pub fn configuration(&self, layers: &[usize], places: &[usize]) -> Configuration {
        let all: Vec<_> = self.space.places().collect();
        Configuration::new(&self.space, layers.to_vec(), places.iter().map(|&place| all[place]).collect()).unwrap()
    }

    /// What a search tries, with its result.
    pub fn trace(&self, tuner: &dyn Tuner) -> (Vec<(String, u64)>, Tuning<Configuration>) {
        let mut oracle = Noting::new(self);
        let tuning = tuner.tune(&self.space, &mut oracle).unwrap();
        assert_eq!(tuning.trials, oracle.tried.len());
        (oracle.tried, tuning)
    }
}

/// A trace as a test writes it.
pub fn expected(trace: &[(&str, u64)]) -> Vec<(String, u64)> {
    trace.iter().map(|&(configuration, period)| (configuration.to_owned(), period)).collect()
}
