//! The operators that a team runs between the ends of two subgraphs, and how they may be divided.

use std::collections::HashSet;

use millstream_graph::{Graph, OperatorId, ValueId};
use millstream_partition::{Subgraph, SubgraphId};

use crate::teams::regions::Regions;
use crate::times::operator_parts::divisions;

/// Of each subgraph, the operators that run between the end of the sink before it and the end of its own sink, on
/// whichever processors runs them.
#[derive(Debug, Clone)]
pub(crate) struct Windows(pub(super) Vec<Window>);

#[derive(Debug, Clone)]
pub(super) struct Window {
    pub(super) operators: Vec<WindowOperator>,
    /// Whether the subgraph may be divided into tiles, alone or together with its neighbours, or attention in it by heads.
    pub(super) may_be_tiled: bool,
}

/// An operator of a window by its place in [`Window::operators`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WindowPlace(pub(super) usize);

/// An operator of a window, in an order in which they can run.
#[derive(Debug, Clone)]
pub(super) struct WindowOperator {
    pub(super) id: OperatorId,
    /// What it reads of others of the window.
    pub(super) reads: Vec<Read>,
    /// Bytes of the smallest of its values.
    pub(super) output_bytes: u64,
    /// Numbers of channels that it may be divided by; none if it may not.
    pub(super) divisions: Vec<usize>,
    /// Whether it may be the first of operators that are divided together.
    pub(super) leads: bool,
    /// The first operators of those that it may be divided together with.
    pub(super) follows: Vec<OperatorId>,
    /// Whether its readers need all of its parts.
    pub(super) is_gathered: bool,
}

/// A value that another operator of the window makes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Read {
    pub(super) maker: WindowPlace,
    pub(super) bytes: u64,
}

impl Windows {
    /// The windows of all subgraphs of a network, in their order.
    pub(crate) fn of(graph: &Graph, subgraphs: &[Subgraph], regions: &Regions) -> Self {
        let channels = ChannelDivisions::of(graph);
        let mut places = vec![0; graph.operators().len()];
        graph.order().iter().enumerate().for_each(|(place, id)| places[id.index()] = place);

        let mut before: Option<OperatorId> = None;
        let mut windows = Vec::with_capacity(subgraphs.len());
        for (id, subgraph) in SubgraphId::all(subgraphs.len()).zip(subgraphs) {
            let last = subgraph.nodes.last().and_then(|node| node.last().copied());
            let ids = between(graph, &places, subgraph, before, last);
            let operators = (0..ids.len()).map(|place| channels.describe(graph, &ids, place, last)).collect();
            windows.push(Window { operators, may_be_tiled: regions.cover(id) });
            before = last;
        }
        Self(windows)
    }
}

/// How operators of a network may be divided by channels.
struct ChannelDivisions {
    /// Per operator: the numbers of channels that it may be divided by.
    divisions: Vec<Vec<usize>>,
    /// Per operator: the first operators of those that it may be divided together with.
    heads: Vec<Vec<OperatorId>>,
}

impl ChannelDivisions {
    fn of(graph: &Graph) -> Self {
        let mut heads = vec![Vec::new(); graph.operators().len()];
        for head in graph.operator_ids() {
            for follower in graph.channel_followers(head) {
                heads[follower.index()].push(head);
            }
        }
        Self { divisions: divisions(graph), heads }
    }

    /// The operator at a place of a window that ends with `last`.
    fn describe(&self, graph: &Graph, window: &[OperatorId], place: usize, last: Option<OperatorId>) -> WindowOperator {
        let id = window[place];
        let operator = graph.operator(id);
        let bytes = |value: ValueId| graph.value(value).bytes().unwrap_or(0);
        let read = |&value: &ValueId| {
            let maker = graph.producer(value)?;
            let place = window[..place].iter().position(|id| *id == maker)?;
            Some(Read { maker: WindowPlace(place), bytes: bytes(value) })
        };
        let readers = || operator.outputs.iter().flat_map(|&value| graph.readers(value));
        let is_read = readers().next().is_some();

        WindowOperator {
            id,
            reads: operator.inputs.iter().filter_map(read).collect(),
            output_bytes: operator.outputs.iter().map(|&value| bytes(value)).min().unwrap_or(0),
            divisions: self.divisions[id.index()].clone(),
            leads: graph.channel_units(id).is_some(),
            follows: self.heads[id.index()].clone(),
            is_gathered: Some(id) != last && is_read && readers().all(|reader| self.heads[reader.index()].is_empty()),
        }
    }
}

/// The operators of a subgraph that depend on the sink before it, and that its own sink depends on, with that sink.
/// `places` are those in the graph's order.
fn between(
    graph: &Graph,
    places: &[usize],
    subgraph: &Subgraph,
    before: Option<OperatorId>,
    last: Option<OperatorId>,
) -> Vec<OperatorId> {
    let mut operators: Vec<OperatorId> = subgraph.operators().collect();
    operators.sort_by_key(|id| places[id.index()]);
    let makers = |id: OperatorId| graph.operator(id).inputs.iter().filter_map(|&value| graph.producer(value));
    let mut is_after: HashSet<OperatorId> = before.into_iter().collect();
    for &id in &operators {
        if before.is_none() || makers(id).any(|maker| is_after.contains(&maker)) {
            is_after.insert(id);
        }
    }
    let mut is_wanted: HashSet<OperatorId> = last.into_iter().collect();
    for &id in operators.iter().rev() {
        if is_wanted.contains(&id) {
            is_wanted.extend(makers(id));
        }
    }
    operators.retain(|id| is_after.contains(id) && is_wanted.contains(id));
    operators
}
