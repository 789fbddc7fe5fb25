//! Into what parts operators may be divided, and what a part takes at least.

use millstream_cost::{CostTable, PartCost};
use millstream_graph::{Graph, Locality, OperatorId};

/// For every operator, the numbers of channels that it may be divided by: its own, and those of operators that it
/// follows.
pub(crate) fn divisions(graph: &Graph) -> Vec<Vec<usize>> {
    let mut divisions = vec![Vec::new(); graph.operators().len()];
    for head in graph.operator_ids() {
        let Some(units) = graph.channel_units(head) else { continue };
        for id in std::iter::once(head).chain(graph.channel_followers(head)) {
            divisions[id.index()].push(units.channels);
        }
    }
    divisions
}

/// Whether processors may make tiles of an operator's rows. A tile never takes less than its share.
pub(crate) fn may_be_tiled(graph: &Graph, table: &CostTable, id: OperatorId) -> bool {
    let is_local = graph.operator(id).locality != Locality::Global;
    is_local && table.class_ids().any(|processor| table.rows(processor, id).is_some())
}

/// The least time of a part for its share of all channels, in terms of the time of the whole, by whichever of some
/// numbers of channels it is divided: below 1 where the last wave is not full.
pub(crate) fn least_per_share(part: &PartCost, divisions: &[usize]) -> f64 {
    let wave = part.wave.max(1);
    if wave == 1 {
        return 1.0;
    }
    let of_division = |&of: &usize| {
        let full = (1..=of.div_ceil(wave)).map(move |waves| (waves * wave).min(of));
        full.map(move |channels| part.fraction(channels, of) * of as f64 / channels as f64)
    };
    divisions.iter().flat_map(of_division).fold(1.0, f64::min)
}
