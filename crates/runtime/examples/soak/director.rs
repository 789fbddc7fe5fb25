//! Who decides what happens next, by a seed.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use millstream_board::Processor;
use millstream_graph::{Graph, OperatorId};
use millstream_partition::Chain;
use millstream_runtime::Engine;
use millstream_schedule::{Replica, Schedule, Stage};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::load::{Load, leave_only};
use crate::teams;
use crate::unreliable::Faults;

/// What happens between two measurements.
const EVENTS_PER_ROUND: usize = 12;
const BETWEEN_EVENTS: Duration = Duration::from_millis(400);
/// Until frames of the schedule before have left, hung ones as well, and what they held.
const REST: Duration = Duration::from_millis(3500);
const CORES: [u32; 2] = [0, 1];

pub(crate) struct Director<'a> {
    engine: &'a Engine,
    graph: &'a Graph,
    chain: Chain,
    faults_to_be: &'a Arc<Faults>,
    random: ChaCha8Rng,
    load: Option<Load>,
    pub(crate) replacements: u64,
    pub(crate) refusals: u64,
    pub(crate) panics: u64,
    pub(crate) hangs: u64,
    pub(crate) losses: u64,
    pub(crate) loads: u64,
    pub(crate) absences: u64,
}

/// The whole network on the first core.
pub(crate) fn whole(graph: &Graph) -> Schedule {
    let replica = Replica::single(Processor::new("B", [CORES[0]]), graph.order().to_vec());
    Schedule { stages: vec![Stage { replicas: vec![replica] }] }
}

impl<'a> Director<'a> {
    pub(crate) fn new(engine: &'a Engine, graph: &'a Graph, faults_to_be: &'a Arc<Faults>, seed: u64) -> Self {
        Self {
            engine,
            graph,
            chain: Chain::of(graph),
            faults_to_be,
            random: ChaCha8Rng::seed_from_u64(seed),
            load: None,
            replacements: 0,
            refusals: 0,
            panics: 0,
            hangs: 0,
            losses: 0,
            loads: 0,
            absences: 0,
        }
    }

    pub(crate) fn faults(&self) -> u64 {
        self.panics + self.hangs + self.losses
    }

    /// Several things that happen.
    pub(crate) fn events(&mut self) {
        for _ in 0..EVENTS_PER_ROUND {
            self.event();
            std::thread::sleep(BETWEEN_EVENTS);
        }
    }

    /// Takes back what happened, sets the schedule that memory is measured with, and waits until the ones before are
    /// gone.
    pub(crate) fn rest(&mut self) {
        self.load = None;
        self.faults_to_be.is_device_gone.store(false, Ordering::SeqCst);
        leave_only(&CORES);
        self.set(&whole(self.graph));
        std::thread::sleep(REST);
    }

    fn event(&mut self) {
        match self.random.random_range(0..20) {
            0 => {
                self.faults_to_be.panics.fetch_add(1, Ordering::SeqCst);
                self.panics += 1;
            }
            1 => {
                self.faults_to_be.hangs.fetch_add(1, Ordering::SeqCst);
                self.hangs += 1;
            }
            2..=4 => {
                let was_gone = self.faults_to_be.is_device_gone.fetch_xor(true, Ordering::SeqCst);
                self.losses += u64::from(!was_gone);
            }
            5 | 6 => {
                let core = CORES[self.random.random_range(0..CORES.len())];
                self.load = if self.load.is_some() { None } else { Load::on(core).ok() };
                self.loads += u64::from(self.load.is_some());
            }
            7 => {
                leave_only(&CORES[..1]);
                self.absences += 1;
            }
            _ => {
                let schedule = self.schedule();
                self.set(&schedule);
            }
        }
    }

    /// Sets a schedule. One for a device that is gone is refused, as it should be.
    fn set(&mut self, schedule: &Schedule) {
        match self.engine.reschedule(schedule) {
            Ok(()) => self.replacements += 1,
            Err(_) => self.refusals += 1,
        }
    }

    /// Up to three stages, each with a processor, two replicas, a team with divided channels or an accelerator.
    fn schedule(&mut self) -> Schedule {
        let blocks = self.chain.blocks().len();
        let mut ends: Vec<usize> =
            (0..self.random.random_range(0..3)).map(|_| self.random.random_range(1..blocks)).collect();
        ends.push(blocks);
        ends.sort_unstable();
        ends.dedup();
        let starts = std::iter::once(0).chain(ends.clone());
        let ranges: Vec<_> = starts.zip(ends.iter().copied()).map(|(start, end)| start..end).collect();
        if ranges.len() == 1 && self.random.random_bool(0.5) {
            let divided = self.random.random_range(0.0..1.0);
            let team = teams::random(self.graph, &teams::processors(2), divided, &mut self.random);
            return Schedule { stages: vec![Stage { replicas: vec![team] }] };
        }
        let stages = ranges.into_iter().map(|range| {
            let operators = self.chain.operators(range);
            self.stage(&operators)
        });
        Schedule { stages: stages.collect() }
    }

    fn stage(&mut self, operators: &[OperatorId]) -> Stage {
        let on = |processor: Processor| Replica::single(processor, operators.to_vec());
        let core = |core: u32| Processor::new("B", [core]);
        let replicas = match self.random.random_range(0..7) {
            0 => vec![on(core(0)), on(core(1))],
            1 => vec![on(Processor::new("B", CORES))],
            2 => vec![on(Processor::accelerator("G"))],
            3 | 4 => vec![on(Processor::accelerator("G")), on(core(1))],
            only => vec![on(core(only % 2))],
        };
        Stage { replicas }
    }
}
