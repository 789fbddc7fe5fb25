//! What teams draw: at least, before a stage is evaluated, and then by its execution.

use millstream_cost::{ClassId, CostTable, Nanoseconds};
use millstream_graph::OperatorId;
use millstream_schedule::Replica;
use millstream_schedule::execution::Execution;

use crate::board::stage_power::{ClassPower, StagePower};
use crate::teams::context::TeamContext;
use crate::teams::subgraph_range::SubgraphRange;

/// What subgraphs draw if each operator runs where it takes the least energy.
#[derive(Debug)]
pub(super) struct LeastPower {
    /// Energy of the first so many subgraphs beyond idle power, in joules.
    joules_until: Vec<f64>,
    /// Idle power of all processors, in watts.
    idle_watts: f64,
}

impl LeastPower {
    /// `None` if the power of one of the processors is not known.
    pub(super) fn of(context: &TeamContext, class_ids: &[ClassId]) -> Option<Self> {
        let powers: Vec<ClassPower> =
            class_ids.iter().map(|&processor| ClassPower::of(&context.table, processor)).collect::<Option<_>>()?;
        let of_operator = |id: OperatorId| {
            let joules = class_ids.iter().zip(&powers).filter_map(|(&processor, power)| {
                context.table.time(processor, id).map(|time| power.for_time(time).dynamic_joules)
            });
            joules.min_by(f64::total_cmp).unwrap_or(0.0)
        };
        let mut joules_until = vec![0.0];
        for (index, subgraph) in context.subgraphs.iter().enumerate() {
            joules_until.push(joules_until[index] + subgraph.operators().map(of_operator).sum::<f64>());
        }
        Some(Self { joules_until, idle_watts: powers.iter().map(|power| power.idle_watts).sum() })
    }

    /// What a stage of these subgraphs draws.
    pub(super) fn of_subgraphs(&self, subgraphs: SubgraphRange) -> StagePower {
        let dynamic_joules = self.joules_until[subgraphs.end.index()] - self.joules_until[subgraphs.start.index()];
        StagePower { dynamic_joules, idle_watts: self.idle_watts }
    }
}

/// What a replica draws; `None` if the power of one of its processors is not known.
pub(super) fn drawn(
    replica: &Replica,
    execution: &Execution,
    hand_over: Nanoseconds,
    table: &CostTable,
) -> Option<StagePower> {
    let mut total = StagePower::default();
    for (assignment, &busy) in replica.assignments.iter().zip(execution.busy()) {
        let busy = busy + hand_over;
        let power = ClassPower::of(table, table.find(&assignment.processor.class())?)?;
        total.dynamic_joules += power.dynamic_watts * busy.seconds();
        total.idle_watts += power.idle_watts;
    }
    Some(total)
}
