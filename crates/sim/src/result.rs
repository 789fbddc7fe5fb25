use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::OperatorId;
use millstream_schedule::{Energy, Schedule};

/// What a simulation showed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Simulation {
    /// When each frame entered the first stage, or arrived before it, and left the last one. Frames that never got through are
    /// left out.
    pub frames: Vec<(Nanoseconds, Nanoseconds)>,
    /// How many frames got through altogether: these, and those that began for the sake of other networks and ended after them.
    pub ended: usize,
    /// How long stages worked on each of these frames; the rest of its time it waited in queues.
    pub in_stages: Vec<Nanoseconds>,
    /// Frames that never got through, because a stage lost all its replicas and there was no other schedule.
    pub unfinished: usize,
    /// When the fallback took over.
    pub fell_back: Option<Nanoseconds>,
    /// What processors did, if that was kept: each task when it had ended, so that what was lost with a replica is not among them.
    pub spans: Vec<OperatorSpan>,
    /// Mean time of a frame in each replica, stage by stage; `None` for one that took none.
    pub replica_times: Vec<Vec<Option<Nanoseconds>>>,
    /// Time that each processor worked, taking frames over included: stage by stage, replica by replica.
    pub busy: Vec<Vec<Vec<Nanoseconds>>>,
    /// Energy beyond idle power of what each of these processors did; nothing where power is not known.
    pub active_joules: Vec<Vec<Vec<f64>>>,
    /// Events that were processed, of all streams together.
    pub events: u64,
    /// Speed of clusters over time, where it changed: when, which, and to what part of the full one.
    pub speeds: Vec<(Nanoseconds, String, f64)>,
}

/// One operator of one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperatorSpan {
    /// The stage.
    pub stage: usize,
    /// The replica.
    pub replica: usize,
    /// The processor within the replica.
    pub processor: usize,
    /// The operator.
    pub operator: OperatorId,
    /// The frame.
    pub frame: usize,
    /// When it started.
    pub start: Nanoseconds,
    /// When it ended.
    pub end: Nanoseconds,
}

impl Simulation {
    /// Mean time between two frames' ends while the pipeline is full: the slope of a line through the ends from the middle on, without the
    /// last eighth, in which no new frames come and slow replicas end late. The time of the only frame if there is one.
    pub fn period_seconds(&self) -> f64 {
        let mut ends: Vec<u64> = self.frames.iter().map(|(_, end)| end.0).collect();
        ends.sort_unstable();
        let count = ends.len();
        let full = ends.get(count / 2..count - count / 8).unwrap_or_default();
        let (Some(&first), Some(&last)) = (full.first(), full.last()) else { return 0.0 };
        if full.len() < 2 {
            return last as f64 * 1e-9 / count.max(1) as f64;
        }
        let middle = (full.len() - 1) as f64 / 2.0;
        let (mut together, mut spread) = (0.0, 0.0);
        for (place, &end) in full.iter().enumerate() {
            let distance = place as f64 - middle;
            together += distance * (end - first) as f64;
            spread += distance * distance;
        }
        together / spread * 1e-9
    }

    /// Energy of a frame under the costs that were simulated, from what processors did: idle power all the time, and the difference to active power while they worked.
    /// What processors of a fallback draw is left out. `None` without frames, or if the power of some processor is not known.
    pub fn joules_per_frame(&self, schedule: &Schedule, table: &CostTable) -> Option<f64> {
        let total = self.frames.iter().map(|(_, end)| end.seconds()).reduce(f64::max)?;
        let idle_watts = idle_watts(schedule, table)?;
        Some(self.active_joules_per_frame() + idle_watts * total / self.frames.len() as f64)
    }

    /// Energy of a frame once the pipeline is full: what processors take beyond idling while they work on it, and idle power over a period.
    /// `None` if the power of some processor is not known.
    pub fn steady_energy(&self, schedule: &Schedule, table: &CostTable) -> Option<Energy> {
        let period_seconds = self.period_seconds();
        let joules_per_frame = self.active_joules_per_frame() + idle_watts(schedule, table)? * period_seconds;
        Some(Energy { joules_per_frame, watts: joules_per_frame / period_seconds.max(1e-12) })
    }

    fn active_joules_per_frame(&self) -> f64 {
        self.active_joules.iter().flatten().flatten().sum::<f64>() / self.ended.max(1) as f64
    }

    /// Longest time that stages worked on a frame, without its time in queues.
    pub fn worst_time_in_stages(&self) -> Nanoseconds {
        self.in_stages.iter().copied().max().unwrap_or_default()
    }

    /// Longest time of a frame from its start in the first stage until its end, queues included.
    pub fn worst_latency(&self) -> Nanoseconds {
        self.frames.iter().map(|&(start, end)| end - start).max().unwrap_or_default()
    }
}

/// Idle power of all processors of a schedule; `None` if that of one of them is not known.
fn idle_watts(schedule: &Schedule, table: &CostTable) -> Option<f64> {
    schedule.processors().map(|own| Some(table.power(table.find(&own.class())?)?.idle_watts)).sum()
}
