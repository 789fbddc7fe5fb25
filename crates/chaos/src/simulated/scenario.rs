//! What a seed stands for: a network, schedules, options, faults, and what callers do when.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use millstream_runtime::EngineOptions;
use millstream_schedule::{Schedule, Stage};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::faults::{FAULTS, Fault, PREPARE_FAULTS, PrepareFault};
use super::network::Network;
use super::schedules::{DEVICE, schedule};
use crate::simulated::expectation::{Expectation, RESTARTS};

pub(crate) const FRAME_TIMEOUT: Duration = Duration::from_millis(50);
/// Faults per frame, on average.
const DENSITY: f64 = 0.01;
/// What happens under one seed.
#[derive(Clone)]
pub(crate) struct Scenario {
    pub(crate) network: Arc<Network>,
    pub(crate) options: EngineOptions,
    pub(crate) first: Schedule,
    pub(crate) fallback: Option<Schedule>,
    /// Pauses, and the schedules that are set after them.
    pub(crate) later: Vec<(Duration, Schedule)>,
    pub(crate) frames: u64,
    pub(crate) faults: HashMap<u64, (usize, Fault)>,
    pub(crate) prepares: HashMap<usize, PrepareFault>,
    /// Threads that can be started until one can't.
    pub(crate) spawns: Option<usize>,
    pub(crate) submitters: usize,
    /// Results that are received before the engine is dropped with frames in flight, if it is.
    pub(crate) dropped_after: Option<u64>,
    pub(crate) random: ChaCha8Rng,
}

impl Scenario {
    /// The scenario of a seed, of about so many frames.
    pub(crate) fn new(seed: u64, frames: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let network = Arc::new(Network::random(&mut random));
        let graph = Arc::clone(&network.graph);
        let first = schedule(&graph, &mut random);
        let fallback = random.random_bool(0.4).then(|| schedule(&graph, &mut random));
        let options = EngineOptions::default()
            .with_frames_in_flight(random.random_bool(0.5).then(|| random.random_range(1..=6_usize)))
            .with_steps_kept(random.random_bool(0.1))
            .with_taking_over(random.random_bool(0.5))
            .with_frame_timeout(random.random_bool(0.7).then_some(FRAME_TIMEOUT))
            .with_restarts(RESTARTS);
        let dropped_after = random.random_bool(0.2).then(|| random.random_range(0..frames));

        let pause = |random: &mut ChaCha8Rng| Duration::from_micros(random.random_range(0..200 * frames / 4));
        let later = (0..random.random_range(0..=6)).map(|_| (pause(&mut random), schedule(&graph, &mut random)));
        let later = later.collect();
        let mut scenario = Self {
            network,
            options,
            first,
            fallback,
            later,
            frames,
            faults: HashMap::new(),
            prepares: HashMap::new(),
            spawns: None,
            submitters: random.random_range(1..=2),
            dropped_after,
            random,
        };
        scenario.plan_faults();
        scenario
    }

    /// What it has to be judged by.
    pub(crate) fn expectation(&self) -> Expectation {
        Expectation {
            frames: self.frames,
            has_timeout: self.options.frame_timeout.is_some(),
            is_dropped: self.dropped_after.is_some(),
            lacks_threads: self.spawns.is_some(),
        }
    }

    /// The scenario in a few lines.
    pub(crate) fn describe(&self) -> String {
        let stage = |stage: &Stage| {
            let sizes = stage.replicas.iter().map(|replica| {
                let is_device = replica.assignments.iter().any(|assignment| assignment.processor.is_accelerator());
                format!("{}{}", replica.assignments.len(), if is_device { DEVICE } else { "" })
            });
            sizes.collect::<Vec<_>>().join("+")
        };
        let shape = |schedule: &Schedule| schedule.stages.iter().map(stage).collect::<Vec<_>>().join(" -> ");
        let later: Vec<String> =
            self.later.iter().map(|(pause, schedule)| format!("after {pause:?} {}", shape(schedule))).collect();
        format!(
            "schedule {}, fallback {:?}, later {later:?}, {} submitters, dropped after {:?}, prepares {:?}, spawns {:?}, {:?}",
            shape(&self.first),
            self.fallback.as_ref().map(shape),
            self.submitters,
            self.dropped_after,
            self.prepares,
            self.spawns,
            self.options
        )
    }

    fn plan_faults(&mut self) {
        let most = (2.0 * DENSITY * self.frames as f64) as usize;
        let count = self.random.random_range(most / 2..=most + most / 2);
        // Either losses are few, and nothing but frames at hand may be lost, or many at once, which may be too often
        // for a replica.
        let most_losses = if self.random.random_bool(0.6) { RESTARTS } else { count };
        let operators = self.network.graph.operators().len();
        let mut losses = 0;
        let burst = self.random.random_bool(0.3).then(|| self.random.random_range(0..self.frames));

        while self.faults.len() < count.min(self.frames as usize / 3) {
            let fault = FAULTS[self.random.random_range(0..FAULTS.len())];
            let range = burst.map_or(0..self.frames, |first| first..(first + 5 * count as u64).min(self.frames));
            let anywhere = self.random.random_range(0..self.frames);
            let number = if range.is_empty() || range.end - range.start < 5 * count as u64 {
                anywhere
            } else {
                self.random.random_range(range)
            };
            if fault.is_loss() && losses >= most_losses || !self.allows(fault, number) {
                continue;
            }
            losses += usize::from(fault.is_loss());
            self.faults.insert(number, (self.random.random_range(0..operators), fault));
        }

        if self.random.random_bool(0.3) {
            for _ in 0..self.random.random_range(1..=4) {
                let fault = PREPARE_FAULTS[self.random.random_range(0..PREPARE_FAULTS.len())];
                self.prepares.insert(self.random.random_range(0..60), fault);
            }
        }
        self.spawns = self.random.random_bool(0.1).then(|| self.random.random_range(0..80));
    }

    /// What never ends by itself needs a time limit, or an engine that is dropped before anybody waits for it.
    fn allows(&self, fault: Fault, number: u64) -> bool {
        fault != Fault::Hang
            || self.options.frame_timeout.is_some()
            || self.dropped_after.is_some_and(|received| number >= received)
    }
}
