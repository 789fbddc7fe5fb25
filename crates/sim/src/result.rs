use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::OperatorId;
use millstream_schedule::Schedule;

/// How a schedule is simulated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Frames that pass through.
    pub frames: usize,
    /// Frames that fit into the queue before a stage, beside those that its replicas work on.
    pub queue: usize,
    /// Relative standard deviation of the times of operators; 0 for exactly the table's times.
    pub noise: f64,
    /// Draws the noise.
    pub seed: u64,
    /// Whether to keep what every processor did, which costs memory.
    pub keeps_spans: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { frames: 100, queue: 1, noise: 0.0, seed: 0, keeps_spans: false }
    }
}

/// What a simulation showed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Simulation {
    /// When each frame entered the first stage and left the last one.
    pub frames: Vec<(Nanoseconds, Nanoseconds)>,
    /// What processors did, if that was kept.
    pub spans: Vec<Span>,
    /// Time that each processor worked, taking frames over included: stage by stage, replica by replica.
    pub busy: Vec<Vec<Vec<Nanoseconds>>>,
    /// Events that were processed.
    pub events: u64,
}

/// One operator of one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
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
    /// Mean time between two frames' ends over the second half of the frames, when the pipeline is full; the time of the
    /// only frame if there is one.
    pub fn period_seconds(&self) -> f64 {
        let mut ends: Vec<u64> = self.frames.iter().map(|(_, end)| end.0).collect();
        ends.sort_unstable();
        let (Some(&middle), Some(&last)) = (ends.get(ends.len().saturating_sub(1) / 2), ends.last()) else {
            return 0.0;
        };
        // Replicas may end several frames at the same moment.
        let later = ends.iter().filter(|&&end| end > middle).count();
        if later == 0 { last as f64 * 1e-9 } else { (last - middle) as f64 * 1e-9 / later as f64 }
    }

    /// Energy of a frame, from what processors did: idle power all the time, and the difference to active power while they worked.
    /// `None` without frames, or if the power of some processor is not known.
    pub fn joules_per_frame(&self, schedule: &Schedule, table: &CostTable) -> Option<f64> {
        let total = self.frames.iter().map(|(_, end)| end.seconds()).reduce(f64::max)?;
        let busy = self.busy.iter().flatten().flatten();
        let mut joules = 0.0;
        for (processor, busy) in schedule.processors().zip(busy) {
            let power = table.power(table.find(&processor.class())?)?;
            joules += power.idle_watts * total + (power.active_watts - power.idle_watts) * busy.seconds();
        }
        Some(joules / self.frames.len() as f64)
    }

    /// Longest time of a frame from its start in the first stage until its end, queues included.
    pub fn worst_latency(&self) -> Nanoseconds {
        self.frames.iter().map(|&(start, end)| end - start).max().unwrap_or_default()
    }
}
