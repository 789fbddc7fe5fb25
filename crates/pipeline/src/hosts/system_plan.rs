//! From stages on hosts to plans, and from plans to schedules.

use std::collections::HashMap;

use millstream_board::host_of;
use millstream_cost::Nanoseconds;
use millstream_schedule::{Schedule, shared_period};

use super::SystemProblem;
use super::host_search::HostStage;
use super::place::HostPlace;
use crate::error::PipelineError;
use crate::plan::{Plan, PlannedStage};

impl SystemProblem {
    /// The plan of these stages; `None` if one of them can't run.
    pub(super) fn plan(&self, stages: &[HostStage]) -> Option<Plan> {
        let mut plan = Plan { stages: Vec::new(), period: Nanoseconds::ZERO, latency: Nanoseconds::ZERO, energy: None };
        for (index, stage) in stages.iter().enumerate() {
            let HostStage { host, blocks, entry, exit, senders, ref ways } = *stage;
            let variant = self.host(host).variant(entry, exit);
            let times = variant.times(ways, senders, blocks)?;
            plan.period = plan.period.max(shared_period(&times, &variant.links(ways, senders, blocks)));
            plan.latency += times.iter().copied().max().unwrap_or_default();
            if let Some(next) = stages.get(index + 1).filter(|next| next.host != host) {
                let frame = self.links.between(host, next.host)?.frame_after(blocks.end());
                plan.period = plan.period.max(frame.occupied);
                plan.latency += frame.time;
            }
            let replica = |(&way, time)| variant.planned_replica(way, senders, blocks, time);
            plan.stages.push(PlannedStage { blocks, replicas: ways.iter().zip(times).map(replica).collect() });
        }
        let ends = [
            stages.first().map(|first| self.host(first.host).arriving),
            stages.last().map(|last| self.host(last.host).leaving),
        ];
        for on_way in ends.into_iter().flatten() {
            plan.period = plan.period.max(on_way.period);
            plan.latency += on_way.latency;
        }
        Some(plan)
    }

    /// Gives the plan's stages cores of their own, lowest numbers first.
    pub fn schedule(&self, plan: &Plan) -> Schedule {
        let mut given: HashMap<HostPlace, Vec<usize>> = HashMap::new();
        let stages = plan.stages.iter().flat_map(|stage| {
            let Some(host) = self.host_of(stage) else { return Vec::new() };
            let problem = self.host(host).within();
            let given = given.entry(host).or_insert_with(|| vec![0; problem.cluster_count()]);
            problem.schedule_after(&alone(vec![stage.clone()]), given).stages
        });
        Schedule { stages: stages.collect() }
    }

    /// A stage's host.
    pub(super) fn host_of(&self, stage: &PlannedStage) -> Option<HostPlace> {
        let name = stage.processors().next().and_then(|class| host_of(&class.cluster))?;
        self.hosts.iter().position(|host| host.name == name).map(HostPlace::new)
    }

    /// What a plan lacks of the memory of some host; `None` if it fits everywhere.
    pub(super) fn exceeded_by(&self, plan: &Plan) -> Option<PipelineError> {
        self.places().zip(&self.hosts).find_map(|(place, host)| {
            let capacity = host.within().costs.capacity.as_ref()?;
            let stages = plan.stages.iter().filter(|stage| self.host_of(stage) == Some(place));
            let held = alone(stages.cloned().collect());
            (!capacity.has_room_for(&held)).then(|| PipelineError::HostMemory {
                host: host.name.clone(),
                needed_bytes: capacity.needed(&held),
                most_bytes: capacity.bytes(),
            })
        })
    }
}

/// Stages whose period and latency nobody asks for.
fn alone(stages: Vec<PlannedStage>) -> Plan {
    Plan { stages, period: Nanoseconds::ZERO, latency: Nanoseconds::ZERO, energy: None }
}
