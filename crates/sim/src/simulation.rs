use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_schedule::{Schedule, ScheduleError};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::heat::Heat;
use crate::links::Way;
use crate::plan::plan;
use crate::result::Simulation;
use crate::state::{Due, Event, Flow, Slot, Track, add_slots, shaped};
use crate::{Conditions, DisturbanceKind, SimulatedNetwork, SimulationError, SimulationSettings, Unit};

/// Simulates frames through a schedule: every stage works on one frame per replica, takes over its inputs, and runs its
/// operators self-timed on its processors, with transfers beside computation. Frames are always there for the first stage, which
/// begins another one when fewer are in flight than may be.
///
/// # Errors
/// What [`Schedule::evaluate`] returns.
pub fn simulate(
    schedule: &Schedule,
    graph: &Graph,
    table: &CostTable,
    settings: &SimulationSettings,
) -> Result<Simulation, ScheduleError> {
    let stream = SimulatedNetwork {
        frames_in_flight: settings.frames_in_flight,
        ..SimulatedNetwork::new(schedule, graph, table, settings.frames)
    };
    let SimulationSettings { noise, seed, keeps_spans, .. } = *settings;
    let conditions = Conditions { noise, seed, keeps_spans, ..Conditions::default() };
    let streams = [stream];
    let mut simulator = Simulator::new(&streams, &conditions)?;
    simulator.run(&|| false);
    Ok(simulator.results().pop().unwrap_or_default())
}

/// Simulates streams of frames that share a board, each through a schedule of its own, under conditions that may change. Processors
/// that several streams name take turns, operator by operator. Times of operators follow memory bandwidth and clocks; those of
/// transfers and of taking frames over do not.
///
/// The result has one simulation per stream, in their order.
///
/// # Errors
/// [`SimulationError::Schedule`] for what can't be evaluated, [`SimulationError::UnknownPower`] if a temperature can't be simulated,
/// [`SimulationError::Condition`] for conditions without a meaning.
pub fn simulate_streams(
    streams: &[SimulatedNetwork<'_>],
    conditions: &Conditions,
) -> Result<Vec<Simulation>, SimulationError> {
    simulate_streams_until(streams, conditions, &|| false)
}

/// The same, ended early once `is_cancelled` is true. It is asked often.
///
/// # Errors
/// As [`simulate_streams`], and [`SimulationError::Cancelled`] if it was ended.
pub fn simulate_streams_until(
    streams: &[SimulatedNetwork<'_>],
    conditions: &Conditions,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<Vec<Simulation>, SimulationError> {
    check(streams, conditions)?;
    let mut simulator = Simulator::new(streams, conditions)?;
    simulator.heat = Heat::all(&simulator, conditions)?;
    match simulator.run(is_cancelled) {
        true => Ok(simulator.results()),
        false => Err(SimulationError::Cancelled),
    }
}

/// How long replicas worked on a frame, as far as they took any.
fn mean_times(slots: &[Slot]) -> Vec<Option<Nanoseconds>> {
    slots.iter().map(|slot| slot.served.0.checked_div(slot.served.1).map(Nanoseconds)).collect()
}

/// The longest that frames may go on arriving, 146 years: no time of a simulation is then too large for its type.
const LONGEST: u64 = u64::MAX / 4;
/// Events after which somebody asks whether a simulation is to end.
const EVENTS_UNTIL_ASKED: u64 = 4096;

fn check(streams: &[SimulatedNetwork<'_>], conditions: &Conditions) -> Result<(), SimulationError> {
    let wrong = |what: &str, value: f64, expected: &'static str| {
        Err(SimulationError::Condition { what: what.to_owned(), value, expected })
    };
    let positive = |what: &str, value: f64| match value.is_finite() && value > 0.0 {
        true => Ok(()),
        false => wrong(what, value, "a number above 0"),
    };

    if !(conditions.noise.is_finite() && conditions.noise >= 0.0) {
        return wrong("the noise", conditions.noise, "a number from 0 on, 0.1 for a tenth");
    }
    if streams.iter().any(|stream| stream.frames_in_flight == Some(0)) {
        return wrong("the number of frames in flight", 0.0, "1 frame or more");
    }
    let last = |stream: &SimulatedNetwork<'_>| {
        let interval = stream.interval?;
        let last = interval.0.checked_mul(stream.frames as u64);
        last.is_none_or(|last| last > LONGEST).then_some(interval.seconds())
    };
    if let Some(interval) = streams.iter().find_map(last) {
        return wrong("the time between two frames [s]", interval, "so short that all arrive within a century");
    }
    streams.iter().try_for_each(|stream| positive("the weight of a stream", stream.weight))?;
    conditions.memory_bytes_per_second.map_or(Ok(()), |rate| positive("the memory's bandwidth", rate))?;
    for disturbance in &conditions.disturbances {
        match &disturbance.kind {
            DisturbanceKind::Speed { label, factor } => positive(&format!("the speed of '{label}'"), *factor)?,
            DisturbanceKind::Link { link, factor } => positive(&format!("the speed of the link '{link}'"), *factor)?,
            DisturbanceKind::Lost(_) | DisturbanceKind::Restored(_) => {}
        }
    }
    Ok(())
}

pub(crate) struct Simulator<'a> {
    pub(crate) conditions: &'a Conditions,
    pub(crate) flows: Vec<Flow<'a>>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) tracks: Vec<Track>,
    /// Clusters and accelerators, and what speed each has.
    pub(crate) labels: Vec<String>,
    pub(crate) speeds: Vec<Speed>,
    pub(crate) heat: Vec<Heat>,
    pub(crate) random: ChaCha8Rng,
    pub(crate) now: u64,
    sequence: u64,
    events: BinaryHeap<Reverse<Due>>,
    /// Events without which nothing would happen any more.
    pending: usize,
    /// Whether speeds of operators can change while they run.
    pub(crate) is_dynamic: bool,
    /// Whether something has changed that speeds depend on.
    pub(crate) is_changed: bool,
    /// Processors that run an operator, if speeds can change.
    pub(crate) running: Vec<usize>,
    /// Until when links between clusters or accelerators are occupied, by their senders and receivers.
    pub(crate) links: HashMap<(String, String), u64>,
    /// Until when each channel between hosts is occupied, and what part of their speed links have, where it is not all.
    pub(crate) channels: HashMap<usize, u64>,
    pub(crate) link_speeds: HashMap<String, f64>,
    /// What has been taken away from the board.
    pub(crate) lost: Vec<Unit>,
    pub(crate) history: Vec<(Nanoseconds, String, f64)>,
    count: u64,
    /// When the last stream was through with its frames.
    pub(crate) through: u64,
    /// The stages that each stream started with.
    first_stages: Vec<Vec<Range<usize>>>,
}

/// What part of its full speed a cluster has, and of its full power.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Speed {
    /// As something outside wants it.
    pub(crate) given: f64,
    /// As its temperature wants it.
    pub(crate) cooled: f64,
    /// What that saves in power.
    pub(crate) cooled_power: f64,
}

impl Speed {
    pub(crate) fn factor(self) -> f64 {
        self.given * self.cooled
    }

    pub(crate) fn power(self) -> f64 {
        self.given * self.cooled_power
    }
}

const NOWHERE: u32 = u32::MAX;

impl<'a> Simulator<'a> {
    fn new(streams: &'a [SimulatedNetwork<'a>], conditions: &'a Conditions) -> Result<Self, ScheduleError> {
        let changes_speed = |kind: &DisturbanceKind| matches!(kind, DisturbanceKind::Speed { .. });
        let mut simulator = Self {
            conditions,
            flows: streams.iter().map(Flow::new).collect(),
            slots: Vec::new(),
            tracks: Vec::new(),
            labels: Vec::new(),
            speeds: Vec::new(),
            heat: Vec::new(),
            random: ChaCha8Rng::seed_from_u64(conditions.seed),
            now: 0,
            sequence: 0,
            events: BinaryHeap::new(),
            pending: 0,
            is_dynamic: conditions.memory_bytes_per_second.is_some()
                || !conditions.thermals.is_empty()
                || conditions.disturbances.iter().any(|disturbance| changes_speed(&disturbance.kind)),
            is_changed: false,
            running: Vec::new(),
            links: HashMap::new(),
            channels: HashMap::new(),
            link_speeds: HashMap::new(),
            lost: Vec::new(),
            history: Vec::new(),
            count: 0,
            through: u64::MAX,
            first_stages: Vec::new(),
        };

        for (index, stream) in streams.iter().enumerate() {
            if let Some(fallback) = stream.fallback {
                fallback.evaluate(stream.graph, stream.table)?;
            }
            simulator.install(index, stream.schedule)?;
        }
        simulator.first_stages = simulator.flows.iter().map(|flow| flow.stages.clone()).collect();
        Ok(simulator)
    }

    /// Gives a stream the replicas of a schedule.
    pub(crate) fn install(&mut self, index: usize, schedule: &Schedule) -> Result<(), ScheduleError> {
        let SimulatedNetwork { graph, table, .. } = *self.flows[index].stream;
        let (stages, crossings) = plan(schedule, graph, table)?;
        let period = schedule.evaluate(graph, table)?.period;
        let Self { labels, slots, tracks, .. } = self;
        let ranges = add_slots(index, stages, table, labels, slots, tracks);
        self.speeds.resize(self.labels.len(), Speed { given: 1.0, cooled: 1.0, cooled_power: 1.0 });
        let flow = &mut self.flows[index];
        flow.ways = crossings.into_iter().map(|own| own.map(|crossing| Way::new(crossing, period))).collect();
        let on_ways = flow.ways.iter().flatten().map(|way| way.most);
        let usual = on_ways.fold(schedule.frames_in_flight(), usize::saturating_add);
        flow.most_in_flight = flow.stream.frames_in_flight.unwrap_or(usual);
        flow.queues = vec![Default::default(); ranges.len()];
        flow.stages = ranges;
        // What was lost before is not there for another schedule either.
        for unit in self.lost.clone() {
            self.slots_with(&unit).into_iter().for_each(|slot| self.slots[slot].is_lost = true);
        }
        self.find_rivals();
        Ok(())
    }

    /// Who needs the same cores, among the replicas that are at work.
    fn find_rivals(&mut self) {
        let is_at_work = |track: &Track| {
            let slot = &self.slots[track.slot];
            self.flows[slot.stream].stages.get(slot.stage).is_some_and(|range| range.contains(&track.slot))
        };
        let rivals = |own: &Track| -> Vec<usize> {
            let others =
                self.tracks.iter().enumerate().filter(|(_, other)| other.slot != own.slot && is_at_work(other));
            let shares = |other: &Track| other.units.iter().any(|unit| own.units.contains(unit));
            others.filter(|(_, other)| shares(other)).map(|(number, _)| number).collect()
        };
        let all: Vec<Vec<usize>> = self.tracks.iter().map(rivals).collect();
        self.tracks.iter_mut().zip(all).for_each(|(track, rivals)| track.rivals = rivals);
    }

    /// Whether it came to its end, and nobody ended it before.
    fn run(&mut self, is_cancelled: &dyn Fn() -> bool) -> bool {
        for (index, disturbance) in self.conditions.disturbances.iter().enumerate() {
            self.push(disturbance.at.0, NOWHERE, Event::Disturbance(index as u32));
        }
        for index in 0..self.flows.len() {
            if let Some(interval) = self.flows[index].stream.interval {
                self.push(interval.0, NOWHERE, Event::Frame(index as u32));
            }
            self.feed(index);
        }
        if !self.heat.is_empty() {
            self.push(Heat::TICK, NOWHERE, Event::Tick);
        }

        self.settle_speeds();
        while let Some(Reverse(due)) = self.events.pop() {
            if due.event != Event::Tick {
                self.pending -= 1;
            }
            let slot = due.slot as usize;
            if due.slot != NOWHERE && self.slots[slot].epoch != due.epoch {
                continue;
            }
            self.now = due.time;
            self.count += 1;
            if self.count.is_multiple_of(EVENTS_UNTIL_ASKED) && is_cancelled() {
                return false;
            }
            match due.event {
                Event::TakenOver => self.taken_over(slot),
                Event::Arrived(processor) => self.start_next(slot, processor as usize),
                Event::Done(processor, version) => self.done(slot, processor as usize, version),
                Event::Sent(processor) => self.release(slot, processor as usize),
                Event::Fetched(processor) => self.fetched(slot, processor as usize),
                Event::LinkFree => (0..self.flows.len()).for_each(|stream| self.feed(stream)),
                Event::Landed(stream, stage, frame, generation) => {
                    self.land(stream as usize, stage as usize, frame as usize, generation);
                }
                Event::Frame(stream) => self.frame_arrived(stream),
                Event::Disturbance(index) => self.disturb(index as usize),
                Event::Tick => {
                    self.tick();
                    // Without other events all frames are done, or none will ever be.
                    if self.pending > 0 && self.flows.iter().any(|flow| flow.left > 0) {
                        self.push(self.now + Heat::TICK, NOWHERE, Event::Tick);
                    }
                }
            }
            self.settle_speeds();
        }
        true
    }

    fn frame_arrived(&mut self, stream: u32) {
        let index = stream as usize;
        let flow = &self.flows[index];
        if let Some(interval) = flow.stream.interval
            && (self.now / interval.0.max(1) + 1 < flow.stream.frames as u64 || self.goes_on(index))
        {
            self.push(self.now.saturating_add(interval.0.max(1)), NOWHERE, Event::Frame(stream));
        }
        self.feed(index);
    }

    fn push(&mut self, time: u64, slot: u32, event: Event) {
        self.sequence += 1;
        if event != Event::Tick {
            self.pending += 1;
        }
        let epoch = self.slots.get(slot as usize).map_or(0, |slot| slot.epoch);
        self.events.push(Reverse(Due { time, sequence: self.sequence, slot, epoch, event }));
    }

    /// Something that will happen to a link between hosts.
    pub(crate) fn schedule_on_link(&mut self, time: u64, event: Event) {
        self.push(time, NOWHERE, event);
    }

    /// Something that will happen to a replica.
    pub(crate) fn schedule(&mut self, delay: u64, slot: usize, event: Event) {
        self.push(self.now.saturating_add(delay), slot as u32, event);
    }

    fn results(&mut self) -> Vec<Simulation> {
        let Self { flows, slots, tracks, .. } = self;
        let result = |(flow, stages): (&mut Flow<'_>, &Vec<Range<usize>>)| {
            let pairs = flow.starts.iter().zip(&flow.ends);
            // What began for the others' sake and ended after them was no longer among them.
            let pairs = pairs
                .enumerate()
                .filter(|(frame, (_, end))| *frame < flow.stream.frames || end.is_some_and(|end| end <= self.through));
            let frames: Vec<_> = pairs
                .filter_map(|(frame, (&start, end))| Some((frame, Nanoseconds(start), Nanoseconds((*end)?))))
                .collect();
            Simulation {
                frames: frames.iter().map(|&(_, start, end)| (start, end)).collect(),
                ended: flow.ends.iter().flatten().count(),
                in_stages: frames.iter().map(|&(frame, ..)| Nanoseconds(flow.served[frame])).collect(),
                unfinished: flow.left,
                fell_back: flow.fell_back.map(Nanoseconds),
                spans: std::mem::take(&mut flow.spans),
                replica_times: stages.iter().map(|range| mean_times(&slots[range.clone()])).collect(),
                busy: shaped(stages, slots, tracks, |track| Nanoseconds(track.busy)),
                active_joules: shaped(stages, slots, tracks, |track| track.joules),
                events: self.count,
                speeds: self.history.clone(),
            }
        };
        flows.iter_mut().zip(&self.first_stages).map(result).collect()
    }
}
