//! From stages to plans, and from plans to schedules.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_board::{CoreId, Processor, ProcessorClass};
use millstream_cost::Nanoseconds;
use millstream_partition::BlockRange;
use millstream_schedule::{Replica, Schedule, Stage, shared_period};

use crate::board::senders::Senders;
use crate::plan::{Plan, PlannedReplica, PlannedStage};
use crate::problem::Problem;
use crate::teams::work::TeamWork;
use crate::ways::way::{StageWays, WayId};

impl Problem {
    /// A plan of these stages, with its period and latency; `None` if one of them can't run.
    pub(crate) fn plan(&self, stages: Vec<StageWays>) -> Option<Plan> {
        let mut plan = Plan { stages: Vec::new(), period: Nanoseconds::ZERO, latency: Nanoseconds::ZERO, energy: None };
        let mut senders = Senders::NETWORK;
        for StageWays { blocks, mut ways } in stages {
            ways.sort_unstable();
            let times = self.times(&ways, senders, blocks)?;
            plan.period = plan.period.max(shared_period(&times, &self.links(&ways, senders, blocks)));
            plan.latency += times.iter().copied().max().unwrap_or_default();
            let replica = |(&way, time)| self.planned_replica(way, senders, blocks, time);
            plan.stages.push(PlannedStage { blocks, replicas: ways.iter().zip(times).map(replica).collect() });
            senders = self.senders(&ways);
        }
        plan.energy = self.energy(&plan);
        Some(plan)
    }

    /// The replica of a stage that takes that time on one way.
    pub(crate) fn planned_replica(
        &self,
        way: WayId,
        senders: Senders,
        blocks: BlockRange,
        time: Nanoseconds,
    ) -> PlannedReplica {
        let work = self.team(way).and_then(|team| team.work(blocks)).cloned();
        PlannedReplica { processors: self.processors_for(way, senders, blocks), work, time }
    }

    /// Whether the memory that all share has room for a plan, as far as is known.
    pub fn has_room_for(&self, plan: &Plan) -> bool {
        self.costs.capacity.as_ref().is_none_or(|capacity| capacity.has_room_for(plan))
    }

    /// Gives the plan's stages cores of their own, lowest numbers first.
    pub fn schedule(&self, plan: &Plan) -> Schedule {
        self.schedule_after(plan, &mut vec![0; self.cluster_count()])
    }

    /// Gives the plan's stages cores of their own after the first cores of each cluster, which are given away already;
    /// adds those that this plan takes to the numbers in `given`.
    pub(crate) fn schedule_after(&self, plan: &Plan, given: &mut [usize]) -> Schedule {
        let mut free: HashMap<&str, std::slice::Iter<'_, CoreId>> = HashMap::new();
        for (cluster, &given) in self.processors.clusters.iter().zip(given.iter()) {
            free.insert(&cluster.label, cluster.cores.get(given..).unwrap_or_default().iter());
        }
        for class in plan.stages.iter().flat_map(PlannedStage::processors) {
            if let Some(cluster) = self.processors.cluster_named(&class.cluster) {
                given[cluster.index()] += class.count;
            }
        }
        let mut processor = |class: &ProcessorClass| {
            let cores = free.get_mut(class.cluster.as_str()).into_iter().flatten().take(class.count).copied();
            Processor::on_cores(class.cluster.clone(), cores).with_engine(class.engine)
        };
        let stages = plan.stages.iter().map(|stage| {
            let replica = |replica: &PlannedReplica| {
                let processors: Vec<Processor> = replica.processors.iter().map(&mut processor).collect();
                if replica.is_team() {
                    return Some(self.work_of(replica, stage.blocks)?.replica(processors));
                }
                let single = processors.into_iter().next();
                single.map(|processor| Replica::single(processor, self.costs.chain.operators(stage.blocks)))
            };
            Stage { replicas: stage.replicas.iter().filter_map(replica).collect() }
        });
        Schedule { stages: stages.collect() }
    }

    /// What the processors of a team do of these blocks: what the plan says, or what is found now.
    fn work_of(&self, replica: &PlannedReplica, blocks: BlockRange) -> Option<Arc<TeamWork>> {
        if let Some(work) = &replica.work {
            return Some(Arc::clone(work));
        }
        let team = &self.teams.iter().find(|way| way.team.classes == replica.processors)?.team;
        while team.evaluate_next_part(blocks).is_ok_and(|is_known| !is_known) {}
        team.work(blocks).cloned()
    }
}
