//! What operators take on the processors of a team.

use millstream_cost::{ClassId, CostTable, Nanoseconds};
use millstream_mapping::ProcessorId;

use crate::teams::windows::WindowOperator;
use crate::times::operator_parts::least_per_share;

/// The costs of a network, as the processors of a team have them.
pub(super) struct TeamCosts<'a> {
    pub(super) table: &'a CostTable,
    /// The class of each processor of the team.
    pub(super) class_ids: &'a [ClassId],
}

impl TeamCosts<'_> {
    /// The team's processors.
    pub(super) fn processors(&self) -> impl DoubleEndedIterator<Item = ProcessorId> + use<> {
        ProcessorId::all(self.class_ids.len())
    }

    /// What a whole operator takes; `None` where it can't run.
    pub(super) fn time(&self, class: ClassId, operator: &WindowOperator) -> Option<Nanoseconds> {
        self.table.time(class, operator.id)
    }

    /// The least time of an operator's share on each processor, whole or divided; `None` where it can't run.
    pub(super) fn costs(&self, operator: &WindowOperator) -> Vec<Option<Nanoseconds>> {
        let cost = |&processor: &ClassId| {
            let time = self.table.time(processor, operator.id)?;
            let part = self.table.part(processor, operator.id);
            let least = least_per_share(&part, &operator.divisions);
            Some(if least < 1.0 { Nanoseconds((time.0 as f64 * least) as u64) } else { time })
        };
        self.class_ids.iter().map(cost).collect()
    }

    /// Whether several of the processors make tiles.
    pub(super) fn have_tiles(&self) -> bool {
        let makes_tiles = |processor: &&ClassId| {
            self.table.operator_ids().any(|operator| self.table.rows(**processor, operator).is_some())
        };
        self.class_ids.iter().filter(makes_tiles).count() > 1
    }
}

#[cfg(test)]
mod tests {
    use millstream_board::ProcessorClass;
    use millstream_cost::PartCost;
    use millstream_graph::OperatorId;

    use super::*;

    /// Twenty-five channels in waves of 24 take as long as 48, so that twenty-four of them take half of the time. Their
    /// share of the channels is 96 %: for its share, a part takes 0.5 / 0.96 of the whole's time.
    #[test]
    fn a_share_costs_less_where_the_last_wave_is_not_full() {
        let classes = [("a", 24), ("b", 1), ("c", 1)].map(|(cluster, wave)| (ProcessorClass::new(cluster, 1), wave));
        let mut table = CostTable::new(1, classes.iter().map(|(class, _)| class.clone()));
        let id = OperatorId::new(0);
        let class_ids: Vec<ClassId> = table.class_ids().collect();
        for (&class, (_, wave)) in class_ids.iter().zip(&classes).take(2) {
            table.set_time(class, id, Nanoseconds(1000));
            table.set_part(class, id, PartCost { fixed_fraction: 0.0, wave: *wave, ..PartCost::default() });
        }
        let whole = WindowOperator {
            id,
            reads: Vec::new(),
            output_bytes: 4,
            divisions: Vec::new(),
            leads: true,
            follows: Vec::new(),
            is_gathered: false,
        };
        let team = TeamCosts { table: &table, class_ids: &class_ids };
        let time = |nanoseconds: u64| Some(Nanoseconds(nanoseconds));
        assert_eq!(team.costs(&whole), [time(1000), time(1000), None]);
        let divided = WindowOperator { divisions: vec![25], ..whole };
        assert_eq!(team.costs(&divided), [time(520), time(1000), None]);
    }
}
