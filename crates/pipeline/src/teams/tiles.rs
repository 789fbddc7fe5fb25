//! How the processors of a team go through neighbouring subgraphs in tiles.

use std::collections::HashMap;
use std::ops::Range;

use millstream_cosched::exact_tiles;
use millstream_cost::{ClassId, Nanoseconds, TileCost, TilePlace};
use millstream_graph::{Slab, ValueId};
use millstream_mapping::ProcessorId;
use millstream_partition::SubgraphId;
use millstream_schedule::{OperatorSplit, bytes_shared};

use crate::teams::context::TeamContext;
use crate::teams::regions::Region;
use crate::teams::solutions::{Ends, Solution, good_ends};

/// The best division of a region into tiles, for each pair of processors where it may begin and end.
#[derive(Debug, Default)]
pub(crate) struct TileSolutions(HashMap<Ends, Solution>);

impl TileSolutions {
    /// The divisions of a region that begins with the subgraph `start`. `may_be_first`: whether a stage may begin with
    /// it.
    pub(crate) fn find(
        context: &TeamContext,
        class_ids: &[ClassId],
        start: SubgraphId,
        region: &Region,
        may_be_first: bool,
    ) -> Self {
        let tiling = Tiling::new(context, class_ids, region);
        let mut solutions = HashMap::new();
        if tiling.able() > 1 {
            let ends = |subgraph: SubgraphId| good_ends(context, class_ids, subgraph);
            let sources = start.before().map_or(Vec::new(), ends).into_iter().map(Some);
            for source in std::iter::once(None).filter(|_| may_be_first).chain(sources) {
                for end in ends(region.last) {
                    let ends = Ends { source, end };
                    solutions.extend(tiling.solve(ends).map(|solution| (ends, solution)));
                }
            }
        }
        Self(solutions)
    }

    pub(crate) fn get(&self, ends: Ends) -> Option<&Solution> {
        self.0.get(&ends)
    }
}

/// The search for a team's way through one region in tiles.
struct Tiling<'a> {
    context: &'a TeamContext,
    class_ids: &'a [ClassId],
    region: &'a Region,
    /// Per processor, what tiles of the operators take; `None` if it can't make tiles of all of them.
    costs: Vec<Option<Vec<TileCost>>>,
    /// Per operator, the rows of what it makes.
    rows: Vec<usize>,
    /// What the region reads of other subgraphs, with its bytes.
    read: HashMap<ValueId, u64>,
    /// Bytes of all that the region makes for others.
    made_bytes: u64,
}

impl<'a> Tiling<'a> {
    fn new(context: &'a TeamContext, class_ids: &'a [ClassId], region: &'a Region) -> Self {
        let TeamContext { graph, table, .. } = context;
        let of_processor = |&processor: &ClassId| {
            let costs = region.operators.iter().map(|&id| table.tile_cost(processor, id));
            costs.collect::<Option<Vec<_>>>()
        };
        let bytes = |value: ValueId| graph.value(value).bytes().unwrap_or(0);
        let boundary = graph.boundary(&region.operators);
        // What the network is given is in the memory that all share.
        let made_before = boundary.inputs.iter().filter(|&&value| graph.producer(value).is_some());
        Self {
            context,
            class_ids,
            region,
            costs: class_ids.iter().map(of_processor).collect(),
            rows: region.tiles.rows_of_operators().collect(),
            read: made_before.map(|&value| (value, bytes(value))).collect(),
            made_bytes: boundary.outputs.iter().map(|&value| bytes(value)).sum(),
        }
    }

    /// How many processors can make tiles.
    fn able(&self) -> usize {
        self.costs.iter().flatten().count()
    }

    /// The division whose last tile is there first.
    fn solve(&self, ends: Ends) -> Option<Solution> {
        let rows = self.region.tiles.rows();
        let cost = |processor: ProcessorId, tile: Range<usize>| self.time(processor, tile, ends);
        let tiling = exact_tiles(rows, self.class_ids.len(), cost)?;
        if tiling.made.iter().filter(|&&rows| rows > 0).count() < 2 {
            return None;
        }
        let list = |&rows: &usize| if rows > 0 { self.region.operators.clone() } else { Vec::new() };
        let lists = tiling.made.iter().map(list).collect();
        let operators = self.region.operators.clone();
        let splits = vec![OperatorSplit { operators, along: self.region.along, shares: tiling.made }];
        Some(Solution { lists, splits, time: tiling.latest.max(Nanoseconds(1)) })
    }

    /// Positions of a value along the dimension that some of it is along.
    fn size(&self, value: ValueId, read: &Slab) -> usize {
        let shape = self.context.graph.value(value).shape.as_ref();
        shape.and_then(|shape| shape.dimensions().get(read.axis).copied()).unwrap_or(1).max(1)
    }

    /// When a processor's tile is where the region ends, from when what the region reads is made.
    fn time(&self, processor: ProcessorId, rows: Range<usize>, Ends { source, end }: Ends) -> Option<Nanoseconds> {
        let costs = self.costs[processor.index()].as_ref()?;
        self.context.spend(costs.len() as u64);
        let table = &self.context.table;
        let all = self.region.tiles.rows();
        let made_rows = rows.len();
        let tile = self.region.tiles.tile(rows);
        let class = |place: ProcessorId| self.class_ids[place.index()];
        let transfer = |from: ProcessorId, to: ProcessorId, bytes: u64| {
            if from == to { Nanoseconds::ZERO } else { table.transfer(class(from), class(to), bytes) }
        };

        let arrivals = source.into_iter().flat_map(|source| {
            tile.read.iter().filter_map(move |(value, read)| Some((source, *value, *self.read.get(value)?, read)))
        });
        let arrival = arrivals.map(|(source, value, bytes, read)| {
            let part =
                read.as_ref().map_or(bytes, |read| bytes_shared(bytes, read.range.len(), self.size(value, read)));
            transfer(source, processor, part)
        });
        let mut time = arrival.max().unwrap_or_default();
        let last = costs.len() - 1;
        for (place, (cost, made)) in costs.iter().zip(&tile.made).enumerate() {
            let at = TilePlace { is_head: place == 0, is_last: place == last, reads_whole: false };
            time += cost.time(made.len(), self.rows[place], at);
        }
        Some(time + transfer(processor, end, bytes_shared(self.made_bytes, made_rows, all)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::sync::Arc;

    use millstream_board::{Board, ProcessorClass};
    use millstream_cost::{CostTable, RowCost, TransferModel};
    use millstream_graph::{
        DataType, Graph, GraphBuilder, Locality, NewOperator, OperatorKind, Shape, TileRegion, Window,
    };
    use millstream_partition::{BlockId, BlockRange, Chain};
    use millstream_test_support::board;
    use proptest::prelude::*;

    use super::*;
    use crate::problem::Problem;
    use crate::teams::team::{Team, TeamTime};

    const ROWS: usize = 6;

    /// A chain of windows of these spans, each a subgraph of its own; where there is none, an operator that needs
    /// everything.
    fn chain(spans: &[usize]) -> Graph {
        let mut builder = GraphBuilder::new("chain");
        let value = |builder: &mut GraphBuilder, name: String| {
            builder.value(name, Some(DataType::F32), Some(Shape::from([1, 1, ROWS, 100]))).unwrap()
        };
        let mut last = value(&mut builder, "x".to_owned());
        builder.input(last);
        for (index, &span) in spans.iter().enumerate() {
            let locality = match span {
                0 => Locality::Global,
                span => Locality::Windows(vec![Window { span, stride: 1, padding: span / 2 }; 2]),
            };
            let made = value(&mut builder, format!("v{index}"));
            let operator = NewOperator::new(format!("o{index}"), "Any", OperatorKind::Opaque).locality(locality);
            builder.operator(operator.reads([last]).makes([made])).unwrap();
            last = made;
        }
        builder.output(last);
        builder.build().unwrap()
    }

    #[derive(Debug, Clone)]
    struct Costs {
        /// Per operator and processor.
        times: Vec<[u64; 2]>,
        rows: [RowCost; 2],
        /// From the first processor to the second, and back.
        latencies: [u64; 2],
    }

    fn table(board: &Board, costs: &Costs) -> CostTable {
        let mut table = CostTable::new(costs.times.len(), board.processor_classes());
        let class_ids: Vec<ClassId> = table.class_ids().collect();
        for (place, &processor) in class_ids.iter().enumerate() {
            for (operator, times) in table.operator_ids().zip(&costs.times) {
                table.set_time(processor, operator, Nanoseconds(times[place]));
                table.set_rows(processor, operator, costs.rows[place]);
            }
            let latency_seconds = costs.latencies[place] as f64 * 1e-9;
            let model = TransferModel { latency_seconds, seconds_per_byte: 1e-10, ..TransferModel::default() };
            table.set_transfer(processor, class_ids[1 - place], model);
        }
        table
    }

    /// When a chain is done at the earliest: every operator whole on either processor, or any run of them in any two
    /// tiles of rows or of columns, and every place where one of these may end.
    fn least(graph: &Graph, costs: &Costs, table: &CostTable) -> u64 {
        let order = graph.order();
        let class_ids: Vec<ClassId> = table.class_ids().collect();
        let bytes = (ROWS * 100 * 4) as u64;
        let moved = |from: usize, to: usize, bytes: u64| {
            if from == to { 0 } else { table.transfer(class_ids[from], class_ids[to], bytes).0 }
        };

        let mut done = vec![[Some(0), Some(0)]];
        for behind in 1..=order.len() {
            let mut best = [None, None];
            for start in 0..behind {
                let regions = TileRegion::worthwhile(graph, &order[start..behind]);
                for (source, end) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    let Some(before) = done[start][source] else { continue };
                    let arrival = |to: usize, bytes: u64| if start == 0 { 0 } else { moved(source, to, bytes) };
                    let mut ways: Vec<u64> = Vec::new();
                    if behind == start + 1 {
                        let whole = |on: usize| arrival(on, bytes) + costs.times[start][on] + moved(on, end, bytes);
                        ways.extend([whole(0), whole(1)]);
                    }
                    let cuts = |way| std::iter::repeat(way).zip(1..TileRegion::rows(way));
                    for (region, cut) in regions.iter().flat_map(|(_, region)| cuts(region)) {
                        let all = region.rows();
                        let sizes: Vec<usize> = region.rows_of_operators().collect();
                        let part = |on: usize, rows: Range<usize>| {
                            let tile = region.tile(rows.clone());
                            let read = tile.read[0].1.as_ref().map_or(all, |read| read.range.len());
                            let operators = tile.made.iter().enumerate().map(|(place, made)| {
                                let at = TilePlace {
                                    is_head: place == 0,
                                    is_last: place + 1 == sizes.len(),
                                    reads_whole: false,
                                };
                                let whole = Nanoseconds(costs.times[start + place][on]);
                                costs.rows[on].time(whole, made.len(), sizes[place], at).0
                            });
                            let of_all = |some: usize| bytes / all as u64 * some as u64;
                            let back = moved(on, end, of_all(rows.len()));
                            arrival(on, of_all(read)) + operators.sum::<u64>() + back
                        };
                        ways.push(part(0, 0..cut).max(part(1, cut..all)));
                    }
                    let soonest = ways.into_iter().min().map(|way| before + way);
                    best[end] = best[end].into_iter().chain(soonest).min();
                }
            }
            done.push(best);
        }

        done[order.len()].into_iter().flatten().min().unwrap()
    }

    fn costs(operators: usize) -> impl Strategy<Value = Costs> {
        let rows =
            (0.0..0.3_f64, 0_u64..600, 0_u64..600, 0_u64..600).prop_map(|(fixed_fraction, start, read, write)| {
                let [start, read, write] = [start, read, write].map(Nanoseconds);
                RowCost { fixed_fraction, start, read, write }
            });
        let times = prop::collection::vec([500_u64..9000, 500_u64..9000], operators);
        (times, [rows.clone(), rows], [0_u64..400, 0_u64..400]).prop_map(|(times, rows, latencies)| Costs {
            times,
            rows,
            latencies,
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(80))]

        /// Any division is found, whichever subgraphs go together and wherever they end; running it as soon as can be
        /// takes no longer.
        #[test]
        fn chains_are_cut_where_they_are_done_first(
            (spans, costs) in prop::collection::vec(prop::sample::select(vec![0, 1, 3, 3, 5]), 1..6)
                .prop_flat_map(|spans| { let operators = spans.len(); (Just(spans), costs(operators)) })
        ) {
            let graph = chain(&spans);
            let board = board("B1+s1");
            let table = table(&board, &costs);
            let chain = Chain::of(&graph);
            let classes = ["B", "s"].map(|cluster| ProcessorClass::new(cluster, 1)).to_vec();
            let problem = Problem::with_teams(&graph, &chain, &board, &table, std::slice::from_ref(&classes)).unwrap();
            let team: &Arc<Team> = &problem.teams[0].team;
            let all = BlockRange::new(BlockId::new(0), BlockId::new(chain.blocks().len()));
            while !team.evaluate_next_part(all).unwrap() {}
            let found = team.composed(all).unwrap();
            prop_assert_eq!(found.0, least(&graph, &costs, &table), "{:?}", spans);
            let senders = problem.all_senders().next().unwrap();
            let TeamTime::Found(time) = team.time(senders, all) else { return Err(TestCaseError::fail("nothing found")) };
            prop_assert!(time <= found, "{time} above {found}: {:?}", team.work(all));
        }
    }
}
