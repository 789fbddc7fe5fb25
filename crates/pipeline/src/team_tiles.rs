//! How the processors of a team go through neighbouring subgraphs in tiles of rows.

use std::collections::HashMap;
use std::ops::Range;

use millstream_cosched::exact_tiles;
use millstream_cost::{Nanoseconds, ProcessorIndex, RowCost, TilePlace};
use millstream_graph::{Along, OperatorId, ValueId};
use millstream_mapping::ProcessorId;
use millstream_schedule::OperatorSplit;

use crate::regions::Region;
use crate::team::Ground;
use crate::team_solution::{Ends, Solution, good_ends};

/// The best division by rows of a region, for each pair of processors where it may begin and end.
#[derive(Debug, Default)]
pub(crate) struct TileSolutions(HashMap<Ends, Solution>);

impl TileSolutions {
    /// The divisions of a region that begins with the subgraph `start`.
    pub(crate) fn find(
        ground: &Ground,
        processors: &[ProcessorIndex],
        start: usize,
        region: &Region,
        may_be_first: bool,
    ) -> Self {
        let tiling = Tiling::new(ground, processors, region);
        let mut found = HashMap::new();
        if tiling.able() > 1 {
            let ends = |subgraph: usize| good_ends(ground, processors, subgraph);
            let sources = start.checked_sub(1).map_or(Vec::new(), ends).into_iter().map(Some);
            for source in std::iter::once(None).filter(|_| may_be_first).chain(sources) {
                for end in ends(region.end - 1) {
                    found.extend(tiling.solve((source, end)).map(|solution| ((source, end), solution)));
                }
            }
        }
        Self(found)
    }

    pub(crate) fn get(&self, ends: Ends) -> Option<&Solution> {
        self.0.get(&ends)
    }
}

/// A region before a team.
struct Tiling<'a> {
    ground: &'a Ground,
    processors: &'a [ProcessorIndex],
    region: &'a Region,
    /// Per processor, the operators' times and how these depend on rows; `None` if it can't make tiles of all of them.
    costs: Vec<Option<Vec<(Nanoseconds, RowCost)>>>,
    rows: Vec<usize>,
    /// Bytes of a row of what is read, and of what is made.
    read_bytes: HashMap<ValueId, (u64, u64)>,
    made_bytes: u64,
}

impl<'a> Tiling<'a> {
    fn new(ground: &'a Ground, processors: &'a [ProcessorIndex], region: &'a Region) -> Self {
        let Ground { graph, table, .. } = ground;
        let cost = |processor: ProcessorIndex, id: &OperatorId| {
            Some((table.time(processor, id.index())?, table.rows(processor, id.index())?))
        };
        let of_processor = |&processor: &ProcessorIndex| {
            region.operators.iter().map(|id| cost(processor, id)).collect::<Option<Vec<_>>>()
        };
        let axis = region.rows.axis();
        let bytes = |value: ValueId| graph.value(value).bytes().unwrap_or(0);
        let rows = |value: ValueId| {
            let shape = graph.value(value).shape.as_ref();
            shape.and_then(|shape| shape.dimensions().get(axis).copied()).unwrap_or(1).max(1) as u64
        };
        let boundary = graph.boundary(&region.operators);
        // What the network is given is in the memory that all share.
        let made_before = boundary.inputs.iter().filter(|&&value| graph.producer(value).is_some());
        Self {
            ground,
            processors,
            region,
            costs: processors.iter().map(of_processor).collect(),
            rows: region.rows.rows_of_operators().collect(),
            read_bytes: made_before.map(|&value| (value, (bytes(value), rows(value)))).collect(),
            made_bytes: boundary.outputs.iter().map(|&value| bytes(value)).sum(),
        }
    }

    /// How many processors can make tiles.
    fn able(&self) -> usize {
        self.costs.iter().flatten().count()
    }

    /// The division whose last tile is there first.
    fn solve(&self, (source, end): Ends) -> Option<Solution> {
        let rows = self.region.rows.rows();
        let cost = |processor: usize, tile: Range<usize>| self.time(ProcessorId::new(processor), tile, (source, end));
        let found = exact_tiles(rows, self.processors.len(), cost)?;
        if found.channels.iter().filter(|&&rows| rows > 0).count() < 2 {
            return None;
        }
        let list = |&rows: &usize| if rows > 0 { self.region.operators.clone() } else { Vec::new() };
        let lists = found.channels.iter().map(list).collect();
        let operators = self.region.operators.clone();
        let splits = vec![OperatorSplit { operators, along: Along::Rows, shares: found.channels }];
        Some(Solution { lists, splits, nanoseconds: found.latest.max(1) })
    }

    /// When a processor's tile is where the region ends, from when what the region reads is made.
    fn time(&self, processor: ProcessorId, rows: Range<usize>, (source, end): Ends) -> Option<u64> {
        let costs = self.costs[processor.index()].as_ref()?;
        self.ground.spend(costs.len() as u64);
        let table = &self.ground.table;
        let all = self.region.rows.rows() as u64;
        let own = rows.len() as u64;
        let tile = self.region.rows.tile(rows);
        let class = |place: ProcessorId| self.processors[place.index()];
        let transfer = |from: ProcessorId, to: ProcessorId, bytes: u64| {
            if from == to { Nanoseconds::ZERO } else { table.transfer(class(from), class(to), bytes) }
        };
        let arrivals = source.into_iter().flat_map(|source| {
            tile.read.iter().filter_map(move |(value, read)| Some((source, self.read_bytes.get(value)?, read)))
        });
        let arrival = arrivals.map(|(source, &(bytes, rows), read)| {
            let part = read.as_ref().map_or(bytes, |read| bytes * read.len() as u64 / rows);
            transfer(source, processor, part)
        });
        let mut time = arrival.max().unwrap_or_default();
        let last = costs.len() - 1;
        for (place, (&(whole, cost), made)) in costs.iter().zip(&tile.made).enumerate() {
            let at = TilePlace { is_head: place == 0, is_last: place == last };
            time += cost.time(whole, made.len(), self.rows[place], at);
        }
        Some((time + transfer(processor, end, self.made_bytes * own / all)).0)
    }
}
