//! From stages to plans, and from plans to schedules.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_board::{CoreId, Processor, ProcessorClass};
use millstream_cost::Nanoseconds;
use millstream_partition::BlockRange;
use millstream_schedule::{Replica, Schedule, Stage, shared_period};

use crate::least_memory::LeastMemory;
use crate::senders::Senders;
use crate::way::{StageWays, WayId};
use crate::{PipelineError, Plan, PlannedReplica, PlannedStage, Problem, TeamWork};

impl Problem {
    /// A plan of these stages, with its period and latency; `None` if one of them can't run.
    pub(crate) fn plan(&self, stages: Vec<StageWays>) -> Option<Plan> {
        let mut plan = Plan { stages: Vec::new(), period: Nanoseconds::ZERO, latency: Nanoseconds::ZERO, energy: None };
        let mut senders = Senders::NETWORK;
        for (blocks, mut ways) in stages {
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
        self.capacity.as_ref().is_none_or(|capacity| capacity.has_room_for(plan))
    }

    /// Of what a search found, what fits into the memory that all share. If something did not, the search goes on with fewer cores and without
    /// replicas; what holds the least is there as well, and the shortest stages that fit on single processors. This finds what fits, not
    /// always the best of it.
    ///
    /// # Errors
    /// [`PipelineError::Memory`] if nothing fits.
    pub(crate) fn fitting(
        &self,
        found: Vec<Plan>,
        search: impl Fn(&Self) -> Result<Vec<Plan>, PipelineError>,
    ) -> Result<Vec<Plan>, PipelineError> {
        let Some(capacity) = self.capacity.as_ref().filter(|own| !found.iter().all(|plan| own.has_room_for(plan)))
        else {
            return Ok(found);
        };
        let mut plans = found;
        let unlimited = self.clone().without_memory_limit().without_teams();
        for cores in self.counts.all().skip(1) {
            let within = unlimited.within(cores);
            plans.extend(search(&within.clone().without_replicas()).unwrap_or_default());
            plans.extend(search(&within).unwrap_or_default());
        }
        let alone = unlimited.ways().filter_map(|way| self.plan(vec![(self.chain.whole(), vec![way])]));
        plans.extend(alone);
        plans.extend(LeastMemory::of(&unlimited, capacity).plans());
        let fitting: Vec<Plan> = plans.iter().filter(|plan| capacity.has_room_for(plan)).cloned().collect();
        if fitting.is_empty() { Err(capacity.exceeded_by(&plans)) } else { Ok(fitting) }
    }

    /// Gives the plan's stages cores of their own, lowest numbers first.
    pub fn schedule(&self, plan: &Plan) -> Schedule {
        self.schedule_after(plan, &mut vec![0; self.clusters.len()])
    }

    /// The same without the first cores of each cluster, which are given away already; counts those that this plan takes.
    pub(crate) fn schedule_after(&self, plan: &Plan, given: &mut [usize]) -> Schedule {
        let mut free: HashMap<&str, std::slice::Iter<'_, CoreId>> = HashMap::new();
        for (cluster, &given) in self.clusters.iter().zip(given.iter()) {
            free.insert(&cluster.label, cluster.cores.get(given..).unwrap_or_default().iter());
        }
        for class in plan.stages.iter().flat_map(PlannedStage::processors) {
            if let Some(place) = self.clusters.iter().position(|cluster| cluster.label == class.cluster) {
                given[place] += class.count;
            }
        }
        let mut processor = |class: &ProcessorClass| {
            let cores = free.get_mut(class.cluster.as_str()).into_iter().flatten().take(class.count).copied();
            Processor::on_cores(class.cluster.clone(), cores).with_engine(class.engine)
        };
        let stages = plan.stages.iter().map(|stage| {
            let replica = |own: &PlannedReplica| {
                let processors: Vec<Processor> = own.processors.iter().map(&mut processor).collect();
                if own.is_team() {
                    return Some(self.work_of(own, stage.blocks)?.replica(processors));
                }
                let single = processors.into_iter().next();
                single.map(|own| Replica::single(own, self.chain.operators(stage.blocks)))
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
        let team = &self.teams.iter().find(|own| own.team.classes == replica.processors)?.team;
        while team.look_at(blocks).is_ok_and(|is_known| !is_known) {}
        team.work(blocks).cloned()
    }
}
