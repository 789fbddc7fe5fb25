//! A network as a sequence of blocks.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use millstream_graph::{Graph, OperatorId};
use petgraph::unionfind::UnionFind;

use crate::block::{Block, BlockRange};
use crate::bytes::InputBytes;
use crate::merge;

/// More cuts of a network are of no use: with parts this small, no stage is much longer than it has to be.
const MOST_BLOCKS: usize = 300;

/// A network as a sequence of blocks; stages are contiguous ranges of it. Of networks with many small operators,
/// neighbours are joined to 300 blocks of about equal work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    blocks: Vec<Block>,
}

impl Chain {
    /// Merges and orders the operators of `graph`.
    pub fn of(graph: &Graph) -> Self {
        let ordered = order_groups(graph, &merge::groups(graph, merge::Followers::Fused));
        let mut chain = Self { blocks: ordered };
        chain.join_small(graph, MOST_BLOCKS);
        chain
    }

    /// The blocks, in order.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// All blocks, as a range.
    pub fn whole(&self) -> BlockRange {
        BlockRange::from(0..self.blocks.len())
    }

    /// The operators of a range of blocks, in the order in which they run.
    pub fn operators(&self, range: impl Into<BlockRange>) -> Vec<OperatorId> {
        self.blocks[range.into().indices()].iter().flat_map(|block| block.operators.iter().copied()).collect()
    }

    /// How many bytes each possible stage receives from the stages before it.
    pub fn input_bytes(&self, graph: &Graph) -> InputBytes {
        InputBytes::new(graph, &self.blocks)
    }

    /// The range of blocks that consists of exactly these operators, if there is one.
    pub fn find(&self, operators: &[OperatorId]) -> Option<BlockRange> {
        let first = operators.first()?;
        let start = self.blocks.iter().position(|block| block.operators.contains(first))?;
        let mut end = start;
        let mut count = 0;
        while count < operators.len() {
            count += self.blocks.get(end)?.operators.len();
            end += 1;
        }
        let range = BlockRange::from(start..end);
        (self.operators(range) == operators).then_some(range)
    }

    /// If there are more blocks than this, joins neighbours: the work of the network is divided into so many parts of
    /// equal size, and blocks that begin in the same part are one.
    fn join_small(&mut self, graph: &Graph, most: usize) {
        if self.blocks.len() <= most {
            return;
        }
        // An operator without known work takes some time as well.
        let work =
            |id: &OperatorId| graph.operator(*id).work.macs.saturating_add(graph.operator(*id).work.bytes()).max(1);
        let work = |block: &Block| block.operators.iter().map(work).fold(0, u64::saturating_add);
        let total = self.blocks.iter().map(work).fold(0, u64::saturating_add);

        let (mut done, mut part_before) = (0_u64, None);
        let mut joined: Vec<Block> = Vec::with_capacity(most);
        for block in self.blocks.drain(..) {
            let part = u128::from(done) * most as u128 / u128::from(total.max(1));
            done = done.saturating_add(work(&block));
            match joined.last_mut() {
                Some(previous) if part_before == Some(part) => previous.operators.extend(block.operators),
                _ => joined.push(block),
            }
            part_before = Some(part);
        }
        self.blocks = joined;
    }
}

/// Orders groups topologically, earliest first member first.
pub(crate) fn order_groups(graph: &Graph, group_of: &[usize]) -> Vec<Block> {
    let mut members: BTreeMap<usize, Vec<OperatorId>> = BTreeMap::new();
    let mut first_position = BTreeMap::new();
    for (position, &id) in graph.order().iter().enumerate() {
        members.entry(group_of[id.index()]).or_default().push(id);
        first_position.entry(group_of[id.index()]).or_insert(position);
    }

    let mut waiting_for: BTreeMap<usize, usize> = members.keys().map(|&group| (group, 0)).collect();
    let edges = || {
        let edges = graph.dependencies().edge_indices().filter_map(|edge| graph.dependencies().edge_endpoints(edge));
        edges.map(|(from, to)| (group_of[from.index()], group_of[to.index()])).filter(|(from, to)| from != to)
    };
    let mut successors: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (from, to) in edges() {
        *waiting_for.entry(to).or_default() += 1;
        successors.entry(from).or_default().push(to);
    }

    let ready = waiting_for.iter().filter(|&(_, &count)| count == 0);
    let mut ready: BinaryHeap<Reverse<(usize, usize)>> =
        ready.map(|(group, _)| Reverse((first_position[group], *group))).collect();
    let mut blocks = Vec::with_capacity(members.len());
    while let Some(Reverse((_, group))) = ready.pop() {
        blocks.push(Block { operators: contiguous(graph, members.remove(&group).unwrap_or_default()) });
        for &successor in successors.get(&group).into_iter().flatten() {
            let waiting = waiting_for.entry(successor).or_default();
            *waiting -= 1;
            if *waiting == 0 {
                ready.push(Reverse((first_position[&successor], successor)));
            }
        }
    }
    blocks
}

/// The same operators in an order in which those that are one quantised operator follow each other, so that they can be
/// divided together; as they are where that can't be.
fn contiguous(graph: &Graph, operators: Vec<OperatorId>) -> Vec<OperatorId> {
    let positions: BTreeMap<OperatorId, usize> =
        operators.iter().enumerate().map(|(position, &id)| (id, position)).collect();
    let mut atoms = UnionFind::<usize>::new(operators.len());
    let mut edges: Vec<(usize, usize)> = Vec::new();
    for (to, &id) in operators.iter().enumerate() {
        for producer in graph.producers(id) {
            let Some(&from) = positions.get(&producer) else { continue };
            edges.push((from, to));
            if graph.is_one_quantised_operator(producer, id) {
                atoms.union(from, to);
            }
        }
    }
    let atom_of = atoms.into_labeling();
    if atom_of.iter().enumerate().all(|(position, &atom)| position == atom) {
        return operators;
    }

    let mut waiting_for: BTreeMap<usize, usize> = atom_of.iter().map(|&atom| (atom, 0)).collect();
    let between: Vec<(usize, usize)> =
        edges.into_iter().map(|(from, to)| (atom_of[from], atom_of[to])).filter(|(from, to)| from != to).collect();
    for (_, to) in &between {
        *waiting_for.entry(*to).or_default() += 1;
    }

    let first_position = |atom: usize| atom_of.iter().position(|&other| other == atom);
    let ready = waiting_for.iter().filter(|&(_, &count)| count == 0).map(|(&atom, _)| atom);
    let mut ready: BinaryHeap<Reverse<(Option<usize>, usize)>> =
        ready.map(|atom| Reverse((first_position(atom), atom))).collect();
    let mut ordered = Vec::with_capacity(operators.len());
    while let Some(Reverse((_, atom))) = ready.pop() {
        ordered.extend((0..operators.len()).filter(|&index| atom_of[index] == atom).map(|index| operators[index]));
        for &(_, to) in between.iter().filter(|(from, _)| *from == atom) {
            let waiting = waiting_for.entry(to).or_default();
            *waiting -= 1;
            if *waiting == 0 {
                ready.push(Reverse((first_position(to), to)));
            }
        }
    }
    if ordered.len() == operators.len() { ordered } else { operators }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_graph::{DataType, GraphBuilder, NewOperator, OperatorKind, Shape, Work};

    use super::*;

    /// A chain of operators that take so many multiplications.
    fn network(macs: &[u64]) -> Graph {
        let mut builder = GraphBuilder::new("chain");
        let mut read = builder.value("input", Some(DataType::F32), Some(Shape::from([1]))).unwrap();
        builder.input(read);
        for (index, &macs) in macs.iter().enumerate() {
            let made = builder.value(format!("v{index}"), Some(DataType::F32), Some(Shape::from([1]))).unwrap();
            let operator = NewOperator::new(format!("o{index}"), "x", OperatorKind::Opaque);
            let operator = operator.work(Work { macs, ..Work::default() });
            builder.operator(operator.reads([read]).makes([made])).unwrap();
            read = made;
        }
        builder.output(read);
        builder.build().unwrap()
    }

    #[test]
    fn small_neighbours_are_joined_and_large_ones_stay_alone() {
        let mut macs = vec![10; 40];
        macs[20] = 4000;
        let graph = network(&macs);
        let mut chain = Chain::of(&graph);
        assert_eq!(chain.blocks().len(), 40, "that is not too many");
        chain.join_small(&graph, 8);
        assert!(chain.blocks().len() <= 8, "{}", chain.blocks().len());
        assert_eq!(chain.operators(chain.whole()), graph.order());
        // Nothing that comes after the large one is in its block.
        let large = chain.blocks().iter().find(|block| block.operators.contains(&graph.order()[20])).unwrap();
        assert_eq!(large.operators.last(), Some(&graph.order()[20]));
    }

    #[test]
    fn equal_operators_are_divided_evenly() {
        let graph = network(&[100; 10_000]);
        let chain = Chain::of(&graph);
        let sizes: Vec<usize> = chain.blocks().iter().map(|block| block.operators.len()).collect();
        assert_eq!(sizes.len(), MOST_BLOCKS);
        assert!(sizes.iter().all(|size| (33..=34).contains(size)), "{sizes:?}");
    }
}
