//! Attention whose heads can be divided between processors.

use std::collections::HashMap;

use crate::graph::Graph;
use crate::locality::{Along, Locality, Need, Positions};
use crate::needs::{dimensions, needs};
use crate::operator::OperatorId;
use crate::tiles::TileRegion;

impl Graph {
    /// For each place where the heads of attention are put side by side again, the operators that can be divided by
    /// heads together ([`Graph::heads_until`]).
    pub fn head_groups(&self) -> Vec<Vec<OperatorId>> {
        self.order().iter().filter_map(|&id| self.heads_until(id)).collect()
    }

    /// The operators that can be divided by heads together until this one, which puts the heads of attention side by
    /// side: all before it that each head needs for itself alone, such as the projections to its queries, keys and
    /// values. They are in the order in which they run. `None` if it does something else, or nothing can be divided.
    pub fn heads_until(&self, join: OperatorId) -> Option<Vec<OperatorId>> {
        let group = self.head_group(join, self.joined_heads(join)?);
        self.is_attention(&group).then_some(group)
    }

    /// The last dimension of what an operator makes, if it puts heads side by side along it.
    fn joined_heads(&self, id: OperatorId) -> Option<usize> {
        let operator = self.operator(id);
        let Locality::Moved(_) = operator.locality else { return None };
        let axis = dimensions(self, *operator.outputs.first()?)?.len().checked_sub(1)?;
        match needs(self, id, axis, Along::Heads)?.as_slice() {
            [Need::Some { positions: Positions::Stretched(stretch), .. }] if stretch.factor > 1 => Some(axis),
            _ => None,
        }
    }

    /// What can be divided along with a place where heads are joined.
    fn head_group(&self, join: OperatorId, axis: usize) -> Vec<OperatorId> {
        let mut wanted = HashMap::from([(join, axis)]);
        let mut group = Vec::new();
        for &id in self.order().iter().rev() {
            let Some(&axis) = wanted.get(&id) else { continue };
            let Some(needed) = needs(self, id, axis, Along::Heads) else { continue };
            let operator = self.operator(id);
            let is_output = operator.outputs.iter().any(|value| self.outputs().contains(value));
            let mut readers = operator.outputs.iter().flat_map(|&value| self.readers(value));
            let is_inner = !is_output && readers.all(|reader| group.contains(reader));
            if id != join && !is_inner {
                continue;
            }
            group.push(id);
            for (&value, need) in operator.inputs.iter().zip(needed) {
                if let (Some(maker), Need::Some { axis, .. }) = (self.producer(value), need) {
                    wanted.insert(maker, axis);
                }
            }
        }
        group.reverse();
        group
    }

    /// Whether these are worth dividing: two products at the least, which can be divided by heads.
    fn is_attention(&self, group: &[OperatorId]) -> bool {
        let products = group.iter().filter(|&&id| self.operator(id).work.gemm.is_some()).count();
        products > 1 && TileRegion::new(self, group, Along::Heads).is_some()
    }
}
