//! What is known of replicas, processors and streams at some moment.

use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

use millstream_board::Processor;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_schedule::execution::{Execution, Fetch, TaskId};

use crate::links::Way;
use crate::plan::ReplicaPlan;
use crate::result::OperatorSpan;
use crate::{SimulatedNetwork, Unit};

/// What happens at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// The frame's inputs are there.
    TakenOver,
    /// A processor is done with its task, if its speed has not changed since: which one, and what it had counted by then.
    Done(u32, u32),
    /// What a processor waits for has arrived.
    Arrived(u32),
    /// A processor has sent what it had to send.
    Sent(u32),
    /// A processor has fetched a value.
    Fetched(u32),
    /// A link between hosts is free again.
    LinkFree,
    /// A frame has come over a link: stream, stage, frame, and how often the stream had changed its schedule when it was sent.
    Landed(u32, u32, u32, u32),
    /// The next frame of a stream is there.
    Frame(u32),
    /// Something happens to the board.
    Disturbance(u32),
    /// Temperatures are looked at.
    Tick,
}

/// An event with its time and the order in which it was scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Due {
    pub(crate) time: u64,
    pub(crate) sequence: u64,
    /// The replica, and how often it had been lost by then.
    pub(crate) slot: u32,
    pub(crate) epoch: u32,
    pub(crate) event: Event,
}

/// A replica of a stream's stage, and the frame that it works on.
pub(crate) struct Slot {
    pub(crate) stream: usize,
    pub(crate) stage: usize,
    pub(crate) replica: usize,
    pub(crate) plan: Rc<ReplicaPlan>,
    /// Number of the first of its processors.
    pub(crate) first: usize,
    pub(crate) frame: Option<usize>,
    /// When it took the frame.
    pub(crate) begun: u64,
    /// How long it has worked on frames, and on how many.
    pub(crate) served: (u64, u64),
    pub(crate) epoch: u32,
    pub(crate) is_lost: bool,
    pub(crate) is_open: bool,
    /// Tasks that are not done.
    pub(crate) left: usize,
    /// How far each processor is with its tasks.
    pub(crate) next: Vec<usize>,
    /// What has been done for the frame.
    pub(crate) execution: Execution,
}

impl Slot {
    fn new(stream: usize, stage: usize, replica: usize, plan: ReplicaPlan, first: usize) -> Self {
        Self {
            stream,
            stage,
            replica,
            first,
            frame: None,
            begun: 0,
            served: (0, 0),
            epoch: 0,
            is_lost: false,
            is_open: false,
            left: 0,
            next: vec![0; plan.tracks.len()],
            execution: Execution::new(&plan),
            plan: Rc::new(plan),
        }
    }

    pub(crate) fn begin(&mut self, frame: usize, now: u64) {
        self.frame = Some(frame);
        self.begun = now;
        self.is_open = false;
        self.left = self.plan.tasks.len();
        self.next.fill(0);
        self.execution.reset();
    }
}

/// One processor of one replica.
pub(crate) struct Track {
    pub(crate) slot: usize,
    pub(crate) number: usize,
    /// Its cluster or accelerator.
    pub(crate) label: usize,
    pub(crate) units: Vec<Unit>,
    /// Processors of other replicas that need some of the same cores.
    pub(crate) rivals: Vec<usize>,
    /// Since when it waits for its cores, with something to do.
    pub(crate) waits_since: Option<u64>,
    pub(crate) is_busy: bool,
    /// What it draws, and what more while it works.
    pub(crate) idle_watts: Option<f64>,
    pub(crate) more_watts: f64,
    pub(crate) busy: u64,
    pub(crate) joules: f64,
    /// The task that it runs or ran last, and since when.
    pub(crate) task: (TaskId, u64),
    /// What it fetches.
    pub(crate) fetch: Option<Fetch>,
    /// How fast it runs its task, if speeds can change.
    pub(crate) running: Option<Running>,
    /// How often the end of what runs was scheduled.
    pub(crate) version: u32,
}

/// A task whose speed may change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Running {
    pub(crate) since: u64,
    /// Nanoseconds that it still takes at full speed.
    pub(crate) left: f64,
    /// Its speed, as a part of the full one.
    pub(crate) rate: f64,
    /// Bytes per nanosecond at full speed.
    pub(crate) wanted: f64,
}

/// A stream's frames.
pub(crate) struct Flow<'a> {
    pub(crate) stream: &'a SimulatedNetwork<'a>,
    /// The replicas of each stage, as numbers of slots.
    pub(crate) stages: Vec<Range<usize>>,
    pub(crate) queues: Vec<VecDeque<usize>>,
    /// The ways from other hosts to the stages.
    pub(crate) ways: Vec<Option<Way>>,
    /// How often its schedule has changed.
    pub(crate) generation: u32,
    /// Frames between the start of the first stage and the end of the last one, and how many there may be.
    pub(crate) in_flight: usize,
    pub(crate) most_in_flight: usize,
    /// Frames that have to start again.
    pub(crate) returned: VecDeque<usize>,
    pub(crate) next_frame: usize,
    pub(crate) starts: Vec<u64>,
    pub(crate) ends: Vec<Option<u64>>,
    /// How long stages have worked on each frame.
    pub(crate) served: Vec<u64>,
    pub(crate) left: usize,
    pub(crate) fell_back: Option<u64>,
    pub(crate) spans: Vec<OperatorSpan>,
}

impl<'a> Flow<'a> {
    pub(crate) fn new(stream: &'a SimulatedNetwork<'a>) -> Self {
        Self {
            stream,
            stages: Vec::new(),
            queues: Vec::new(),
            ways: Vec::new(),
            generation: 0,
            in_flight: 0,
            most_in_flight: 0,
            returned: VecDeque::new(),
            next_frame: 0,
            starts: Vec::with_capacity(stream.frames),
            ends: vec![None; stream.frames],
            served: vec![0; stream.frames],
            left: stream.frames,
            fell_back: None,
            spans: Vec::new(),
        }
    }

    /// Rounds of frames that have started.
    pub(crate) fn rounds(&self) -> f64 {
        self.next_frame as f64 / self.stream.weight
    }

    /// Whether and which frame can start; frames beyond the stream's own only if it goes on for the others' sake.
    pub(crate) fn take(&mut self, now: u64, goes_on: bool) -> Option<usize> {
        if self.in_flight >= self.most_in_flight {
            return None;
        }
        if let Some(frame) = self.returned.pop_front() {
            self.in_flight += 1;
            return Some(frame);
        }
        let frame = self.next_frame;
        let arrival = match self.stream.interval {
            Some(interval) => interval.0.saturating_mul(frame as u64),
            None => now,
        };
        if frame >= self.stream.frames && !goes_on || arrival > now {
            return None;
        }
        if frame >= self.ends.len() {
            self.ends.push(None);
            self.served.push(0);
        }
        self.in_flight += 1;
        self.next_frame += 1;
        self.starts.push(arrival);
        Some(frame)
    }
}

/// Replicas and processors of a stream's schedule, added to those that are known.
pub(crate) fn add_slots(
    stream: usize,
    stages: Vec<Vec<ReplicaPlan>>,
    table: &CostTable,
    labels: &mut Vec<String>,
    slots: &mut Vec<Slot>,
    tracks: &mut Vec<Track>,
) -> Vec<Range<usize>> {
    let mut ranges = Vec::with_capacity(stages.len());
    for (stage, replicas) in stages.into_iter().enumerate() {
        let begin = slots.len();
        for (replica, plan) in replicas.into_iter().enumerate() {
            let first = tracks.len();
            for (number, processor) in plan.processors.iter().enumerate() {
                let power = table.find(&processor.class()).and_then(|class| table.power(class));
                let label = labels.iter().position(|label| *label == processor.cluster).unwrap_or_else(|| {
                    labels.push(processor.cluster.clone());
                    labels.len() - 1
                });
                tracks.push(Track {
                    slot: slots.len(),
                    number,
                    label,
                    units: units(processor),
                    rivals: Vec::new(),
                    waits_since: None,
                    is_busy: false,
                    idle_watts: power.map(|power| power.idle_watts),
                    more_watts: power.map_or(0.0, |power| power.active_watts - power.idle_watts),
                    busy: 0,
                    joules: 0.0,
                    task: (TaskId::new(0), 0),
                    fetch: None,
                    running: None,
                    version: 0,
                });
            }

            slots.push(Slot::new(stream, stage, replica, plan, first));
        }
        ranges.push(begin..slots.len());
    }
    ranges
}

fn units(processor: &Processor) -> Vec<Unit> {
    if processor.is_accelerator() {
        return vec![Unit::Accelerator(processor.cluster.clone())];
    }
    processor.cores.iter().map(|&core| Unit::Core(core)).collect()
}

/// What every processor of these stages did, in the shape of a schedule.
pub(crate) fn shaped<T>(
    stages: &[Range<usize>],
    slots: &[Slot],
    tracks: &[Track],
    of: impl Fn(&Track) -> T,
) -> Vec<Vec<Vec<T>>> {
    let of_slot = |slot: &Slot| tracks[slot.first..slot.first + slot.plan.tracks.len()].iter().map(&of).collect();
    stages.iter().map(|range| slots[range.clone()].iter().map(of_slot).collect()).collect()
}

/// The span of a task.
pub(crate) fn span(slot: &Slot, track: usize, task: TaskId, frame: usize, start: u64, end: u64) -> OperatorSpan {
    OperatorSpan {
        stage: slot.stage,
        replica: slot.replica,
        processor: track,
        operator: slot.plan.tasks[task.index()].operator,
        frame,
        start: Nanoseconds(start),
        end: Nanoseconds(end),
    }
}
