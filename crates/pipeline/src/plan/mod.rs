//! Plans: pipelines in terms of blocks and processor classes, and what chooses among them.

pub(crate) mod constraints;
pub(crate) mod nanojoules;
pub(crate) mod objective;
pub(crate) mod undominated;

use std::sync::Arc;

use millstream_board::ProcessorClass;
use millstream_cost::Nanoseconds;
use millstream_partition::BlockRange;

use crate::plan::nanojoules::Nanojoules;
use crate::teams::work::TeamWork;

/// A pipeline in terms of blocks and processor classes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The stages, in order.
    pub stages: Vec<PlannedStage>,
    /// Time between two frames that leave the pipeline.
    pub period: Nanoseconds,
    /// Time of one frame through the pipeline.
    pub latency: Nanoseconds,
    /// Energy of a frame; `None` if the power of some processor is not known.
    pub energy: Option<Nanojoules>,
}

/// One stage of a [`Plan`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedStage {
    /// Its blocks.
    pub blocks: BlockRange,
    /// Its replicas: single processors first, fastest cluster first, and then teams.
    pub replicas: Vec<PlannedReplica>,
}

/// What takes every so many-th frame of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedReplica {
    /// Its processor, or the processors of a team, which work on one frame together.
    pub processors: Vec<ProcessorClass>,
    /// What each processor of a team does, once that was evaluated; `None` for a single processor.
    pub work: Option<Arc<TeamWork>>,
    /// Time for a frame, hand-over included.
    pub time: Nanoseconds,
}

impl PlannedReplica {
    /// Whether several processors work on one frame together.
    pub fn is_team(&self) -> bool {
        self.processors.len() > 1
    }
}

impl PlannedStage {
    /// Time of each replica for a frame.
    pub fn times(&self) -> Vec<Nanoseconds> {
        self.replicas.iter().map(|replica| replica.time).collect()
    }

    /// Whether some replica is a team.
    pub fn has_teams(&self) -> bool {
        self.replicas.iter().any(PlannedReplica::is_team)
    }

    /// All processors of the stage, replica by replica.
    pub fn processors(&self) -> impl Iterator<Item = &ProcessorClass> {
        self.replicas.iter().flat_map(|replica| &replica.processors)
    }
}

impl Plan {
    /// Its stages in short, such as `B4-(s2|s2)`.
    pub fn configuration(&self) -> String {
        let stage = |stage: &PlannedStage| {
            let name = |replica: &PlannedReplica| {
                replica.processors.iter().map(ToString::to_string).collect::<Vec<_>>().join("+")
            };
            let names: Vec<String> = stage.replicas.iter().map(name).collect();
            if let [single] = names.as_slice() { single.clone() } else { format!("({})", names.join("|")) }
        };
        self.stages.iter().map(stage).collect::<Vec<_>>().join("-")
    }

    /// All replicas, stage by stage.
    fn replicas(&self) -> impl Iterator<Item = &PlannedReplica> {
        self.stages.iter().flat_map(|stage| &stage.replicas)
    }

    /// Whether several processors work on one frame together anywhere.
    pub fn has_teams(&self) -> bool {
        self.stages.iter().any(PlannedStage::has_teams)
    }

    /// Mean power in watts, if the energy is known.
    pub fn watts(&self) -> Option<f64> {
        Some(self.energy?.joules() / self.period.seconds().max(1e-12))
    }

    /// Whether two plans have the same stages on the same processors, and each processor of a team does the same,
    /// whatever their times.
    pub fn is_same_pipeline(&self, other: &Self) -> bool {
        self.has_same_stages(other)
            && self.replicas().map(|replica| &replica.work).eq(other.replicas().map(|replica| &replica.work))
    }

    /// Whether two plans have the same stages on the same processors, however teams divide their work.
    pub fn has_same_stages(&self, other: &Self) -> bool {
        let is_same_stage = |(stage, other): (&PlannedStage, &PlannedStage)| {
            let processors = stage.replicas.iter().map(|replica| &replica.processors);
            stage.blocks == other.blocks && processors.eq(other.replicas.iter().map(|replica| &replica.processors))
        };
        self.stages.len() == other.stages.len() && self.stages.iter().zip(&other.stages).all(is_same_stage)
    }

    /// The same plan if it took its times divided by this, for what-if questions; its stages keep theirs.
    #[must_use]
    pub fn divided_by(self, factor: f64) -> Self {
        let less = |time: Nanoseconds| Nanoseconds::from_seconds(time.seconds() / factor);
        Self { period: less(self.period), latency: less(self.latency), ..self }
    }

    /// This plan with times as they were measured: per stage one per replica, and the period of the whole. Its energy
    /// stays as it was; [`Problem::energy`](crate::Problem::energy) gives that of the new times.
    #[must_use]
    pub fn with_measured(mut self, times: Vec<Vec<Nanoseconds>>, period: Nanoseconds) -> Self {
        for (stage, times) in self.stages.iter_mut().zip(times) {
            stage.replicas.iter_mut().zip(times).for_each(|(replica, time)| replica.time = time);
        }
        self.latency = self.stages.iter().filter_map(|stage| stage.times().into_iter().max()).sum();
        self.period = period;
        self
    }
}
