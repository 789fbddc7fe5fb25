//! What a simulation showed, and the numbers that follow from it.

use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::OperatorId;
use millstream_schedule::{Energy, Schedule, StageId};

/// The result of a simulation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Simulation {
    /// When each frame came and went. Frames that never got through are left out.
    pub frames: Vec<FrameTimes>,
    /// How many frames got through altogether: these, and extra ones
    /// ([`Conditions::keeps_all_busy`](crate::Conditions::keeps_all_busy)) that ended after all networks were through
    /// with theirs.
    pub ended: usize,
    /// Frames that never got through, because a stage lost all its replicas and there was no other schedule.
    pub unfinished: usize,
    /// When the fallback took over.
    pub fell_back: Option<Nanoseconds>,
    /// What processors did, if that was kept: each task when it had ended, so that what was lost with a replica is not
    /// among them.
    pub spans: Vec<OperatorSpan>,
    /// Mean time of a frame in each replica, stage by stage; `None` for one that took none.
    pub replica_times: Vec<Vec<Option<Nanoseconds>>>,
    /// Time that each processor worked, taking frames over included.
    pub busy: PerProcessor<Nanoseconds>,
    /// Energy beyond idle power of what each processor did, in joules; 0 where its power is not known.
    pub active_joules: PerProcessor<f64>,
    /// Events that were processed, of all streams together.
    pub events: u64,
    /// Changes of the speed of clusters and of links between hosts, in the order of time.
    pub speeds: Vec<SpeedChange>,
}

/// Something of every processor of a schedule: stage by stage, replica by replica, in the order of the replica's
/// assignments.
pub type PerProcessor<T> = Vec<Vec<Vec<T>>>;

/// When a frame was in the pipeline, from the start of the simulation on, and for how long stages worked on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameTimes {
    /// When it entered the first stage, or where it takes time on its way there from outside, when it was ready for
    /// that; if frames arrive at some rate, when it arrived.
    pub start: Nanoseconds,
    /// When it left the last stage, or was outside.
    pub end: Nanoseconds,
    /// How long stages worked on it; the rest of its time it waited in queues or was on a link.
    pub in_stages: Nanoseconds,
}

/// A change of a cluster's or a link's speed.
#[derive(Debug, Clone, PartialEq)]
pub struct SpeedChange {
    /// When it changed, from the start of the simulation on.
    pub at: Nanoseconds,
    /// Label of the cluster or accelerator, or the link's name.
    pub label: String,
    /// The part of its full speed that it has from then on.
    pub factor: f64,
}

/// One operator of one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperatorSpan {
    /// The stage.
    pub stage: StageId,
    /// The replica within the stage, counted from 0.
    pub replica: usize,
    /// The processor within the replica, counted from 0 in the order of its assignments.
    pub processor: usize,
    /// The operator.
    pub operator: OperatorId,
    /// The frame, counted from 0 in the order of the starts.
    pub frame: usize,
    /// When it started.
    pub start: Nanoseconds,
    /// When it ended.
    pub end: Nanoseconds,
}

impl Simulation {
    /// Mean time between two frames' ends while the pipeline is full: the slope of a line through the ends from the
    /// middle on, without the last eighth, in which no new frames come and slow replicas end late. The time of the only
    /// frame if there is one.
    pub fn period_seconds(&self) -> f64 {
        let mut ends: Vec<Nanoseconds> = self.frames.iter().map(|frame| frame.end).collect();
        ends.sort_unstable();
        let count = ends.len();
        let full = ends.get(count / 2..count - count / 8).unwrap_or_default();
        let (Some(&first), Some(&last)) = (full.first(), full.last()) else { return 0.0 };
        if full.len() < 2 {
            return last.0 as f64 * 1e-9 / count.max(1) as f64;
        }

        // The slope of least squares: the covariance of places and ends over the variance of places.
        let middle = (full.len() - 1) as f64 / 2.0;
        let (mut covariance, mut variance) = (0.0, 0.0);
        for (place, &end) in full.iter().enumerate() {
            let distance = place as f64 - middle;
            covariance += distance * (end - first).0 as f64;
            variance += distance * distance;
        }
        covariance / variance * 1e-9
    }

    /// Energy of a frame in joules, from what processors did: idle power all the time, and the difference to active
    /// power while they worked. What processors of a fallback draw is left out. `None` without frames, or if the power
    /// of some processor is not known.
    pub fn joules_per_frame(&self, schedule: &Schedule, table: &CostTable) -> Option<f64> {
        let total = self.frames.iter().map(|frame| frame.end.seconds()).reduce(f64::max)?;
        let idle_watts = idle_watts(schedule, table)?;
        Some(self.active_joules_per_frame() + idle_watts * total / self.frames.len() as f64)
    }

    /// Energy of a frame once the pipeline is full: what processors take beyond idling while they work on it, and idle
    /// power over a period. `None` if the power of some processor is not known.
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
        self.frames.iter().map(|frame| frame.in_stages).max().unwrap_or_default()
    }

    /// Longest time of a frame from its start in the first stage until its end, queues included.
    pub fn worst_latency(&self) -> Nanoseconds {
        self.frames.iter().map(|frame| frame.end - frame.start).max().unwrap_or_default()
    }
}

/// Idle power of all processors of a schedule; `None` if that of one of them is not known.
fn idle_watts(schedule: &Schedule, table: &CostTable) -> Option<f64> {
    schedule.processors().map(|processor| Some(table.power(table.find(&processor.class())?)?.idle_watts)).sum()
}
