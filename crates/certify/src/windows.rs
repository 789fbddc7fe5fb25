//! Which operators a team runs between the ends of two subgraphs, and how they may be divided.

use std::collections::HashSet;

use millstream_graph::{Graph, OperatorId, TileRegion, ValueId};
use millstream_partition::Subgraph;

/// Subgraphs that may be divided into tiles together, and stretches of them that are looked at in a network.
const MOST_TOGETHER: usize = 24;
const MOST_STRETCHES: usize = 4000;

/// Of one subgraph: what runs after the end of the one before it, for the sake of its own end.
pub(crate) struct Window {
    pub(crate) operators: Vec<WindowOperator>,
    /// Whether it may be divided into tiles, also together with its neighbours, or attention in it.
    pub(crate) may_be_tiled: bool,
}

/// An operator, after all of the window that it reads.
pub(crate) struct WindowOperator {
    pub(crate) id: OperatorId,
    /// Places in the window of those whose values it reads, and the bytes of these.
    pub(crate) reads: Vec<(usize, u64)>,
    /// The smallest of its values.
    pub(crate) output_bytes: u64,
    /// By how many channels it may be divided, by itself or after others.
    pub(crate) divisions: Vec<usize>,
    /// Whether a division may begin with it.
    pub(crate) leads: bool,
    /// The operators that it may be divided after.
    pub(crate) follows: Vec<OperatorId>,
    /// Whether those who read it read all of its parts.
    pub(crate) is_gathered: bool,
}

/// The windows of all subgraphs.
pub(crate) fn windows(graph: &Graph, subgraphs: &[Subgraph]) -> Vec<Window> {
    let dividing = Dividing::of(graph);
    let tiled = tiled(graph, subgraphs);
    let mut places = vec![0; graph.operators().len()];
    graph.order().iter().enumerate().for_each(|(place, id)| places[id.index()] = place);
    let end_of = |subgraph: &Subgraph| subgraph.nodes.last().and_then(|node| node.last()).copied();
    let mut before = None;
    let mut windows = Vec::with_capacity(subgraphs.len());
    for (subgraph, may_be_tiled) in subgraphs.iter().zip(tiled) {
        let end = end_of(subgraph);
        let mut operators: Vec<OperatorId> = subgraph.operators().collect();
        operators.sort_by_key(|id| places[id.index()]);
        keep_between(graph, &mut operators, before, end);
        let operators = (0..operators.len()).map(|place| dividing.describe(graph, &operators, place, end)).collect();
        windows.push(Window { operators, may_be_tiled });
        before = end;
    }
    windows
}

/// Keeps what depends on the end of the subgraph before, if there is one, and what the own end depends on.
fn keep_between(graph: &Graph, operators: &mut Vec<OperatorId>, before: Option<OperatorId>, end: Option<OperatorId>) {
    let makers = |id: OperatorId| graph.operator(id).inputs.iter().filter_map(|&value| graph.producer(value));
    if let Some(before) = before {
        let mut after = HashSet::from([before]);
        operators.retain(|&id| {
            let depends = makers(id).any(|maker| after.contains(&maker));
            if depends {
                after.insert(id);
            }
            depends || id == before
        });
    }
    let mut wanted: HashSet<OperatorId> = end.into_iter().collect();
    for &id in operators.iter().rev() {
        if wanted.contains(&id) {
            wanted.extend(makers(id));
        }
    }
    operators.retain(|id| wanted.contains(id));
}

/// What may be divided by channels.
struct Dividing {
    /// Per operator.
    divisions: Vec<Vec<usize>>,
    leads: Vec<bool>,
    follows: Vec<Vec<OperatorId>>,
}

impl Dividing {
    fn of(graph: &Graph) -> Self {
        let count = graph.operators().len();
        let mut dividing =
            Self { divisions: vec![Vec::new(); count], leads: vec![false; count], follows: vec![Vec::new(); count] };
        for head in graph.operator_ids() {
            let Some(units) = graph.channel_units(head) else { continue };
            dividing.leads[head.index()] = true;
            dividing.divisions[head.index()].push(units.channels);
            for follower in graph.channel_followers(head) {
                dividing.divisions[follower.index()].push(units.channels);
                dividing.follows[follower.index()].push(head);
            }
        }
        dividing
    }

    fn describe(
        &self,
        graph: &Graph,
        operators: &[OperatorId],
        place: usize,
        end: Option<OperatorId>,
    ) -> WindowOperator {
        let id = operators[place];
        let operator = graph.operator(id);
        let bytes = |value: &ValueId| graph.value(*value).bytes().unwrap_or(0);
        let read = |value: &ValueId| {
            let maker = graph.producer(*value)?;
            Some((operators[..place].iter().position(|other| *other == maker)?, bytes(value)))
        };
        let readers: Vec<OperatorId> =
            operator.outputs.iter().flat_map(|&value| graph.readers(value)).copied().collect();
        let is_alone = |reader: &OperatorId| self.follows[reader.index()].is_empty();
        WindowOperator {
            id,
            reads: operator.inputs.iter().filter_map(read).collect(),
            output_bytes: operator.outputs.iter().map(bytes).min().unwrap_or(0),
            divisions: self.divisions[id.index()].clone(),
            leads: self.leads[id.index()],
            follows: self.follows[id.index()].clone(),
            is_gathered: Some(id) != end && !readers.is_empty() && readers.iter().all(is_alone),
        }
    }
}

/// Which subgraphs have something that may be divided into tiles: all of them, perhaps together with their neighbours,
/// or attention in them.
fn tiled(graph: &Graph, subgraphs: &[Subgraph]) -> Vec<bool> {
    let most = (MOST_STRETCHES / subgraphs.len().max(1)).min(MOST_TOGETHER);
    let heads: HashSet<OperatorId> = graph.head_groups().into_iter().flatten().collect();
    let has_heads = |subgraph: &Subgraph| subgraph.operators().any(|id| heads.contains(&id));
    let mut tiled: Vec<bool> = subgraphs.iter().map(has_heads).collect();
    for start in 0..subgraphs.len() {
        // The longest says all of the others.
        let longest = (start + 1..=(start + most).min(subgraphs.len())).rev().find(|&end| {
            let operators: Vec<OperatorId> = subgraphs[start..end].iter().flat_map(Subgraph::operators).collect();
            !TileRegion::worthwhile(graph, &operators).is_empty()
        });
        longest.into_iter().for_each(|end| tiled[start..end].fill(true));
    }
    tiled
}
