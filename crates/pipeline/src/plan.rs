use std::ops::Range;

use millstream_board::ProcessorClass;
use millstream_cost::Nanoseconds;

use crate::Nanojoules;
use crate::energy_front::keep_undominated_with_energy;
use crate::undominated::keep_undominated;

/// A pipeline in terms of blocks and processor classes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The stages, in order.
    pub stages: Vec<PlannedStage>,
    /// Time between two frames.
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
    pub blocks: Range<usize>,
    /// Its replicas, fastest cluster first; or the processors of its only replica, if they work together.
    pub replicas: Vec<ProcessorClass>,
    /// Whether the processors work on one frame together rather than each on its own.
    pub is_team: bool,
    /// Time of each replica for a frame, hand-over included: one for a team.
    pub times: Vec<Nanoseconds>,
}

impl Plan {
    /// Its stages in short, such as `B4-(s2|s2)`.
    pub fn configuration(&self) -> String {
        let stage = |stage: &PlannedStage| {
            let names: Vec<String> = stage.replicas.iter().map(ToString::to_string).collect();
            match (stage.is_team, names.as_slice()) {
                (_, [single]) => single.clone(),
                (true, _) => names.join("+"),
                (false, _) => format!("({})", names.join("|")),
            }
        };
        self.stages.iter().map(stage).collect::<Vec<_>>().join("-")
    }

    /// Mean power, if the energy is known.
    pub fn watts(&self) -> Option<f64> {
        Some(self.energy?.joules() / self.period.seconds().max(1e-12))
    }

    /// Whether two plans have the same stages on the same processors, whatever their times.
    pub fn is_same_pipeline(&self, other: &Self) -> bool {
        let shape = |plan: &Self| -> Vec<(Range<usize>, Vec<ProcessorClass>, bool)> {
            plan.stages.iter().map(|stage| (stage.blocks.clone(), stage.replicas.clone(), stage.is_team)).collect()
        };
        shape(self) == shape(other)
    }

    /// The same pipeline with times as they were measured: per stage one per replica, and the period of the whole. Its energy stays
    /// as it was; [`Problem::energy`](crate::Problem::energy) gives that of the new times.
    #[must_use]
    pub fn with_measured(mut self, times: Vec<Vec<Nanoseconds>>, period: Nanoseconds) -> Self {
        for (stage, times) in self.stages.iter_mut().zip(times) {
            stage.times = times;
        }
        self.latency = self.stages.iter().filter_map(|stage| stage.times.iter().max()).copied().sum();
        self.period = period;
        self
    }

    /// Only the plans that no other plan beats in one of energy, period and latency without losing in another, from the lowest
    /// energy on. Plans whose energy is not known come last.
    pub fn undominated_with_energy(mut plans: Vec<Self>) -> Vec<Self> {
        keep_undominated_with_energy(&mut plans, |plan| plan);
        plans
    }

    /// Only the plans that no other plan beats in period without losing in latency, from the lowest latency to the
    /// shortest period.
    pub fn undominated(mut plans: Vec<Self>) -> Vec<Self> {
        keep_undominated(&mut plans, |plan| (plan.latency, plan.period));
        plans
    }
}
