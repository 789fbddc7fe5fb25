use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_schedule::{Schedule, ScheduleError};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::plan::{Delivery, OperatorPlan, ReplicaPlan, StagePlan, plan};
use crate::result::{Settings, Simulation, Span};

/// Simulates frames through a schedule: every stage works on one frame per replica, takes over its inputs, and runs its
/// operators self-timed on its processors, with transfers beside computation; a stage that can't pass a frame on because the
/// next queue is full waits with it. Frames are always there for the first stage.
///
/// # Errors
/// What [`Schedule::evaluate`] returns.
pub fn simulate(
    schedule: &Schedule,
    graph: &Graph,
    table: &CostTable,
    settings: &Settings,
) -> Result<Simulation, ScheduleError> {
    let stages = plan(schedule, graph, table)?;
    let mut simulator = Simulator::new(&stages, settings);
    simulator.run();
    Ok(simulator.result)
}

/// What happens at some time to a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The frame's inputs are there.
    TakenOver,
    /// An operator is done.
    Done(usize),
    /// A value that an operator waits for has arrived.
    Arrived(usize),
    /// A processor has sent what it had to send.
    Sent(usize),
    /// A processor has fetched a value.
    Fetched(usize, usize),
}

/// An event with its time, the order in which it was scheduled, its stage and its replica.
type Due = (u64, u64, usize, usize, Event);

/// A replica's frame.
struct Working {
    frame: usize,
    /// Values that each operator still waits for.
    missing: Vec<usize>,
    /// Next operator of each processor.
    next: Vec<usize>,
    is_busy: Vec<bool>,
    /// When each operator was done.
    made: Vec<Option<u64>>,
    is_fetched: Vec<bool>,
    is_open: bool,
    left: usize,
}

struct Simulator<'a> {
    stages: &'a [StagePlan],
    settings: &'a Settings,
    random: ChaCha8Rng,
    now: u64,
    sequence: u64,
    events: BinaryHeap<Reverse<Due>>,
    queues: Vec<VecDeque<usize>>,
    working: Vec<Vec<Option<Working>>>,
    /// Frames that are done but can't go on yet.
    blocked: Vec<Vec<Option<usize>>>,
    next_frame: usize,
    starts: Vec<u64>,
    result: Simulation,
}

impl<'a> Simulator<'a> {
    fn new(stages: &'a [StagePlan], settings: &'a Settings) -> Self {
        let idle = |stage: &StagePlan| stage.replicas.iter().map(|_| None).collect();
        let busy = |replica: &ReplicaPlan| vec![Nanoseconds::ZERO; replica.tracks.len()];
        Self {
            stages,
            settings,
            random: ChaCha8Rng::seed_from_u64(settings.seed),
            now: 0,
            sequence: 0,
            events: BinaryHeap::new(),
            queues: vec![VecDeque::new(); stages.len()],
            working: stages.iter().map(idle).collect(),
            blocked: stages.iter().map(|stage| vec![None; stage.replicas.len()]).collect(),
            next_frame: 0,
            starts: Vec::with_capacity(settings.frames),
            result: Simulation {
                frames: vec![(Nanoseconds::ZERO, Nanoseconds::ZERO); settings.frames],
                busy: stages.iter().map(|stage| stage.replicas.iter().map(busy).collect()).collect(),
                ..Simulation::default()
            },
        }
    }

    fn run(&mut self) {
        self.feed();
        while let Some(Reverse((time, _, stage, replica, event))) = self.events.pop() {
            self.now = time;
            self.result.events += 1;
            match event {
                Event::TakenOver => {
                    if let Some(working) = &mut self.working[stage][replica] {
                        working.is_open = true;
                    }
                    let tracks = self.stages[stage].replicas[replica].tracks.len();
                    (0..tracks).for_each(|track| self.start_next(stage, replica, track));
                    self.finish_if_done(stage, replica);
                }
                Event::Arrived(operator) => self.arrive(stage, replica, operator),
                Event::Done(operator) => self.done(stage, replica, operator),
                Event::Sent(track) => self.release(stage, replica, track),
                Event::Fetched(track, number) => {
                    if let Some(working) = &mut self.working[stage][replica] {
                        working.is_fetched[number] = true;
                    }
                    self.release(stage, replica, track);
                }
            }
        }
    }

    fn schedule(&mut self, delay: u64, stage: usize, replica: usize, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((self.now + delay, self.sequence, stage, replica, event)));
    }

    /// Gives frames to whoever is free, the last stage first, until nobody can take or pass on another one.
    fn feed(&mut self) {
        loop {
            let mut has_moved = false;
            for stage in (0..self.stages.len()).rev() {
                for replica in 0..self.stages[stage].replicas.len() {
                    if let Some(frame) = self.blocked[stage][replica]
                        && self.queues[stage + 1].len() < self.settings.queue.max(1)
                    {
                        self.blocked[stage][replica] = None;
                        self.queues[stage + 1].push_back(frame);
                        has_moved = true;
                    }
                    let is_free = self.working[stage][replica].is_none() && self.blocked[stage][replica].is_none();
                    if is_free && let Some(frame) = self.take(stage) {
                        self.begin(stage, replica, frame);
                        has_moved = true;
                    }
                }
            }
            if !has_moved {
                return;
            }
        }
    }

    fn take(&mut self, stage: usize) -> Option<usize> {
        if stage > 0 {
            return self.queues[stage].pop_front();
        }
        let frame = self.next_frame;
        if frame >= self.settings.frames {
            return None;
        }
        self.next_frame += 1;
        self.starts.push(self.now);
        Some(frame)
    }

    fn begin(&mut self, stage: usize, replica: usize, frame: usize) {
        let plan = &self.stages[stage].replicas[replica];
        self.working[stage][replica] = Some(Working {
            frame,
            missing: plan.operators.iter().map(|operator| operator.inputs).collect(),
            next: vec![0; plan.tracks.len()],
            is_busy: vec![false; plan.tracks.len()],
            made: vec![None; plan.operators.len()],
            is_fetched: vec![false; plan.fetches],
            is_open: false,
            left: plan.operators.len(),
        });
        self.result.busy[stage][replica].iter_mut().for_each(|busy| *busy += Nanoseconds(plan.hand_over));
        self.schedule(plan.hand_over, stage, replica, Event::TakenOver);
    }

    /// Starts the next operator of a processor if it can.
    fn start_next(&mut self, stage: usize, replica: usize, track: usize) {
        let plan = &self.stages[stage].replicas[replica];
        let Some(working) = &mut self.working[stage][replica] else { return };
        let Some(&operator) = plan.tracks[track].get(working.next[track]) else { return };
        if !working.is_open || working.is_busy[track] {
            return;
        }
        // Values are fetched in the order in which they were made, while others are still being made.
        let open = plan.operators[operator].fetches.iter().filter(|fetch| !working.is_fetched[fetch.number]);
        if let Some((_, fetch)) =
            open.filter_map(|fetch| Some((working.made[fetch.maker]?, fetch))).min_by_key(|made| made.0)
        {
            working.is_busy[track] = true;
            self.result.busy[stage][replica][track] += Nanoseconds(fetch.nanoseconds);
            self.schedule(fetch.nanoseconds, stage, replica, Event::Fetched(track, fetch.number));
            return;
        }
        if working.missing[operator] > 0 {
            return;
        }
        working.is_busy[track] = true;
        working.next[track] += 1;
        let frame = working.frame;
        let time = self.time(&plan.operators[operator]);
        self.result.busy[stage][replica][track] += Nanoseconds(time);
        if self.settings.keeps_spans {
            self.result.spans.push(Span {
                stage,
                replica,
                processor: track,
                operator: plan.operators[operator].id,
                frame,
                start: Nanoseconds(self.now),
                end: Nanoseconds(self.now + time),
            });
        }
        self.schedule(time, stage, replica, Event::Done(operator));
    }

    /// The operator's time, with lognormal noise whose mean is 1.
    fn time(&mut self, operator: &OperatorPlan) -> u64 {
        let sigma = self.settings.noise;
        if sigma <= 0.0 {
            return operator.nanoseconds;
        }
        let normal: f64 = StandardNormal.sample(&mut self.random);
        (operator.nanoseconds as f64 * (sigma * normal - sigma * sigma / 2.0).exp()).round() as u64
    }

    fn done(&mut self, stage: usize, replica: usize, operator: usize) {
        let plan = &self.stages[stage].replicas[replica];
        let OperatorPlan { track, readers, sends, .. } = &plan.operators[operator];
        if let Some(working) = &mut self.working[stage][replica] {
            working.made[operator] = Some(self.now);
            working.left -= 1;
        }
        for &(reader, delivery) in readers {
            match delivery {
                Delivery::AtOnce => self.arrive(stage, replica, reader),
                Delivery::Beside(delay) => self.schedule(delay, stage, replica, Event::Arrived(reader)),
                Delivery::Sent(number) => {
                    let delay = sends[..=number].iter().sum();
                    self.schedule(delay, stage, replica, Event::Arrived(reader));
                }
            }
        }
        if sends.is_empty() {
            self.release(stage, replica, *track);
        } else {
            let delay: u64 = sends.iter().sum();
            self.result.busy[stage][replica][*track] += Nanoseconds(delay);
            self.schedule(delay, stage, replica, Event::Sent(*track));
        }
        self.finish_if_done(stage, replica);
    }

    /// A processor is free again.
    fn release(&mut self, stage: usize, replica: usize, track: usize) {
        if let Some(working) = &mut self.working[stage][replica] {
            working.is_busy[track] = false;
        }
        self.start_next(stage, replica, track);
    }

    fn arrive(&mut self, stage: usize, replica: usize, operator: usize) {
        if let Some(working) = &mut self.working[stage][replica] {
            working.missing[operator] -= 1;
            let track = self.stages[stage].replicas[replica].operators[operator].track;
            self.start_next(stage, replica, track);
        }
    }

    fn finish_if_done(&mut self, stage: usize, replica: usize) {
        let frame = match &self.working[stage][replica] {
            Some(working) if working.left == 0 && working.is_open => working.frame,
            _ => return,
        };
        self.working[stage][replica] = None;
        if stage + 1 < self.stages.len() {
            self.blocked[stage][replica] = Some(frame);
        } else {
            self.result.frames[frame] = (Nanoseconds(self.starts[frame]), Nanoseconds(self.now));
        }
        self.feed();
    }
}
