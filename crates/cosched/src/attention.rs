//! Dividing attention by heads.

use std::collections::HashSet;

use millstream_cost::{ClassId, CostTable, Nanoseconds, TileCost, TilePlace};
use millstream_graph::{Along, Graph, OperatorId, TileRegion};
use millstream_schedule::execution::ProcessorId;
use millstream_schedule::{OperatorSplit, Replica};

use crate::candidates::{classes, position_of_part};
use crate::tiles::exact_tiles;

/// Attention that can be divided by heads.
pub(crate) struct Attention {
    /// All that each head needs for itself alone, in the order in which it runs; never empty.
    operators: Vec<OperatorId>,
    region: TileRegion,
}

impl Attention {
    /// All attention of a replica's operators, each of which is free.
    pub(crate) fn of_replica(replica: &Replica, graph: &Graph, is_free: impl Fn(OperatorId) -> bool) -> Vec<Self> {
        let own: HashSet<OperatorId> = replica.operators().filter(|&id| is_free(id)).collect();
        let mut joins: Vec<OperatorId> = own.iter().copied().collect();
        joins.sort_unstable();
        let of_join = |join: OperatorId| {
            let operators = graph.heads_until(join)?;
            let region = TileRegion::new(graph, &operators, Along::Heads)?;
            operators.iter().all(|id| own.contains(id)).then_some(Self { operators, region })
        };
        joins.into_iter().filter_map(of_join).collect()
    }

    /// The operator that comes first.
    pub(crate) fn head(&self) -> OperatorId {
        self.operators[0]
    }

    /// How many heads there are.
    pub(crate) fn heads(&self) -> usize {
        self.region.rows()
    }

    /// The replica with the attention divided by heads, so that the last part is done first by what parts take; without
    /// what divides some of its operators otherwise. `None` if that can't be, or already is.
    pub(crate) fn divided(&self, replica: &Replica, graph: &Graph, table: &CostTable) -> Option<Replica> {
        let is_own = |id: &OperatorId| self.operators.contains(id);
        // Operators that are divided together with others stay as they are.
        let is_open = |split: &OperatorSplit| !split.operators.iter().any(is_own) || split.operators.iter().all(is_own);
        let is_done = |split: &OperatorSplit| split.along == Along::Heads && split.operators == self.operators;
        if !replica.splits.iter().all(is_open) || replica.splits.iter().any(is_done) {
            return None;
        }
        let classes = classes(replica, table);
        let costs: Vec<Option<Vec<TileCost>>> =
            classes.iter().map(|class| class.and_then(|class| self.costs(class, table))).collect();
        let tiles = exact_tiles(self.heads(), classes.len(), |processor, heads| {
            Some(self.time(costs[processor.index()].as_ref()?, heads.len()))
        })?;
        if tiles.made.iter().filter(|&&heads| heads > 0).count() < 2 {
            return None;
        }

        let before = ancestors(graph, &self.operators);
        let mut divided = replica.clone();
        divided.splits.retain(|split| !split.operators.iter().any(is_own));
        for assignment in &mut divided.assignments {
            assignment.operators.retain(|id| !is_own(id));
        }
        let places: Vec<usize> = ProcessorId::all(classes.len())
            .map(|processor| {
                let own = &divided.assignments[processor.index()].operators;
                let after = own.iter().rposition(|id| before.contains(id)).map_or(0, |last| last + 1);
                position_of_part(&divided, processor, after)
            })
            .collect();
        for ((assignment, place), &heads) in divided.assignments.iter_mut().zip(places).zip(&tiles.made) {
            if heads > 0 {
                assignment.operators.splice(place..place, self.operators.iter().copied());
            }
        }
        let operators = self.operators.clone();
        divided.splits.push(OperatorSplit { operators, along: Along::Heads, shares: tiles.made });
        Some(divided)
    }

    /// What tiles of each operator take on a processor; `None` if it makes none of one of them.
    fn costs(&self, class: ClassId, table: &CostTable) -> Option<Vec<TileCost>> {
        self.operators.iter().map(|&id| table.tile_cost(class, id)).collect()
    }

    /// The time of so many heads.
    fn time(&self, costs: &[TileCost], heads: usize) -> Nanoseconds {
        let made = self.region.tile(0..heads).made;
        let last = costs.len() - 1;
        let parts = costs.iter().zip(made).zip(self.region.rows_of_operators()).enumerate();
        parts
            .map(|(place, ((cost, made), rows))| {
                let at = TilePlace { is_head: place == 0, is_last: place == last, reads_whole: true };
                cost.time(made.len(), rows, at)
            })
            .sum()
    }
}

/// All operators that some of these depend on.
fn ancestors(graph: &Graph, operators: &[OperatorId]) -> HashSet<OperatorId> {
    let mut found = HashSet::new();
    let mut open: Vec<OperatorId> = operators.to_vec();
    while let Some(id) = open.pop() {
        let makers = graph.operator(id).inputs.iter().filter_map(|&value| graph.producer(value));
        open.extend(makers.filter(|maker| !operators.contains(maker) && found.insert(*maker)));
    }
    found
}
