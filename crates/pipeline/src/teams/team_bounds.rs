//! What is known of a team's stages before any of them is evaluated.

use millstream_board::ProcessorClass;
use millstream_cost::{ClassId, Nanoseconds};
use millstream_graph::OperatorId;

use crate::board::senders::Senders;
use crate::board::stage_power::StagePower;
use crate::teams::context::TeamContext;
use crate::teams::power::LeastPower;
use crate::teams::subgraph_range::SubgraphRange;

/// Dual prices of a team's processors, in billionths: those of all processors add up to a billion. The work of a
/// subgraph's operators by these prices, each operator where it is cheapest, is a lower bound on the team's time (the
/// dual of spreading operators over processors).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DualPrices {
    /// For each subgraph, of each processor in the team's order; empty where the longest path is a bound that is no
    /// lower.
    pub subgraphs: Vec<Vec<u64>>,
    /// For all subgraphs that may be divided into tiles, of each processor; empty if there are none.
    pub tiles: Vec<u64>,
}

/// Lower bounds on what stages of a team take and draw.
#[derive(Debug)]
pub(super) struct TeamBounds {
    /// Of the first so many subgraphs, from none of them to all.
    first: Vec<FirstSubgraphs>,
    /// The proof of the times.
    dual_prices: DualPrices,
    /// Per senders: what a stage pays at least which does not begin the network.
    hand_overs: Vec<Nanoseconds>,
    /// `None` if the power of one of the processors is not known.
    power: Option<LeastPower>,
}

/// The first so many subgraphs of a network together.
#[derive(Debug, Clone, Copy, Default)]
struct FirstSubgraphs {
    /// Their least time.
    time: Nanoseconds,
    /// How many of them have an operator that no processor of the team runs.
    unsupported: usize,
}

impl TeamBounds {
    /// Those of a team of these processors, which are those of `classes` in the cost table.
    pub(super) fn of(context: &TeamContext, classes: &[ProcessorClass], class_ids: &[ClassId]) -> Self {
        let times = context.windows.least_times(&context.table, class_ids);
        let mut all = FirstSubgraphs::default();
        let mut first = vec![all];
        for (subgraph, least) in context.subgraphs.iter().zip(&times.subgraphs) {
            let runs = |id: OperatorId| class_ids.iter().any(|&processor| context.table.time(processor, id).is_some());
            all.time += least.time;
            all.unsupported += usize::from(!subgraph.operators().all(runs));
            first.push(all);
        }

        let receivers: Vec<&str> = classes.iter().map(|class| class.cluster.as_str()).collect();
        let hand_over = |senders: Senders| {
            let senders = context.kinds.sending_to(senders, &receivers);
            let from = || senders.iter().filter_map(|class| context.table.find(class));
            let of = |&to: &ClassId| {
                from().map(|from| context.table.hand_over(from, to, context.least_bytes)).max().unwrap_or_default()
            };
            class_ids.iter().map(of).min().unwrap_or_default()
        };

        let subgraphs = times.subgraphs.into_iter().map(|least| least.dual_prices).collect();
        Self {
            first,
            dual_prices: DualPrices { subgraphs, tiles: times.tile_prices },
            hand_overs: context.kinds.all().map(hand_over).collect(),
            power: LeastPower::of(context, class_ids),
        }
    }

    /// The proof of the bounds on the times of subgraphs.
    pub(super) fn dual_prices(&self) -> &DualPrices {
        &self.dual_prices
    }

    /// Whether some processor of the team runs each operator of these subgraphs.
    pub(super) fn can_run(&self, subgraphs: SubgraphRange) -> bool {
        self.first[subgraphs.end.index()].unsupported == self.first[subgraphs.start.index()].unsupported
    }

    /// What these subgraphs take at least.
    pub(super) fn least_time(&self, subgraphs: SubgraphRange) -> Nanoseconds {
        self.first[subgraphs.end.index()].time - self.first[subgraphs.start.index()].time
    }

    /// What a stage pays at least which takes its frames over from these senders.
    pub(super) fn least_hand_over(&self, senders: Senders) -> Nanoseconds {
        self.hand_overs[senders.index()]
    }

    /// What a stage of these subgraphs draws at least beyond idle power, and the idle power of all processors of the
    /// team, though some may come to have nothing to do. `None` if the power of one of them is not known.
    pub(super) fn least_power(&self, subgraphs: SubgraphRange) -> Option<StagePower> {
        Some(self.power.as_ref()?.of_subgraphs(subgraphs))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_board::Board;
    use millstream_cost::{
        BlockedEnd, CostTable, HandOver, LinkCost, PartCost, PowerOrigin, ProcessorPower, RowCost, TransferModel,
    };
    use millstream_graph::{Along, Graph};
    use millstream_partition::Chain;
    use millstream_test_support::{attention, board};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::problem::Problem;
    use crate::teams::space::teams_of;
    use crate::teams::team::TeamTime;
    use crate::times::range_table::ranges;

    /// So that some operators wait for memory, and others don't.
    const MEMORY_BYTES_PER_SECOND: f64 = 3e9;

    /// Times, parts, transfers and links of all sorts.
    fn table(graph: &Graph, board: &Board, has_tiles: bool, random: &mut ChaCha8Rng) -> CostTable {
        let mut table = CostTable::new(graph.operators().len(), board.processor_classes());
        let waves = [1, 1, 4, 24];
        for processor in table.class_ids() {
            let speed = random.random_range(0.3..3.0);
            let makes_tiles = has_tiles && random.random_bool(0.8);
            for id in graph.operator_ids() {
                if processor.index() > 0 && random.random_bool(0.03) {
                    continue;
                }
                let work = graph.operator(id).work.macs as f64 / 1e3 + 300.0;
                let time = work / speed * random.random_range(0.5..2.0);
                table.set_time(processor, id, Nanoseconds(time as u64));
                let wave = waves[random.random_range(0..waves.len())];
                let apart = Nanoseconds(random.random_range(0..900));
                let part = PartCost { fixed_fraction: random.random_range(0.0..0.3), wave, apart };
                table.set_part(processor, id, part);
                if makes_tiles {
                    let [start, read, write] = [900, 500, 700].map(|most| Nanoseconds(random.random_range(0..most)));
                    let rows = RowCost { fixed_fraction: random.random_range(0.0..0.1), start, read, write };
                    table.set_rows(processor, id, rows);
                }
            }
            table.set_hand_over(processor, HandOver { seconds: 2e-6, seconds_per_byte: 1e-11 });
            let power = ProcessorPower { active_watts: 2.0 * speed, idle_watts: 0.1, origin: PowerOrigin::BoardFile };
            table.set_power(processor, power);
        }

        let all: Vec<ClassId> = table.class_ids().collect();
        for (&from, &to) in all.iter().flat_map(|from| all.iter().map(move |to| (from, to))) {
            let latency_seconds = random.random_range(0.0..4e-6);
            let blocks = [None, Some(BlockedEnd::Sender), Some(BlockedEnd::Receiver)][random.random_range(0..3)];
            let model = TransferModel { latency_seconds, seconds_per_byte: 1e-10, blocks, ..TransferModel::default() };
            table.set_transfer(from, to, model);
            if from.index() % 2 == 0 {
                let hand_over = HandOver { seconds: latency_seconds, seconds_per_byte: 0.0 };
                table.set_link(from, to, LinkCost { hand_over, occupied_seconds_per_byte: 0.0 });
            }
        }

        table
    }

    /// A bound that is above what was found is none, whatever found it.
    #[test]
    fn no_stage_takes_less_than_its_bound() {
        let board = board("B2+s2:300+G");
        let (mut looked_at, mut is_close) = (0, 0);
        let networks = ["squeezenet", "googlenet", "mobilenet-v2", "minilm-like-int8", "petr-like", "attention"];
        let (mut tiled, mut by_heads, mut is_power_close) = (0, 0, 0);
        for (name, seed) in networks.into_iter().flat_map(|name| [name, name]).zip(1..) {
            let graph = match name {
                "attention" => attention(200, 6, 32),
                _ => (**millstream_zoo::build(name).unwrap().graph()).clone(),
            };
            let graph = &graph;
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut table = table(graph, &board, seed % 2 == 1, &mut random);
            if seed % 4 < 2 {
                table = table.within_memory(graph, MEMORY_BYTES_PER_SECOND);
            }
            let mut teams = teams_of(&board);
            teams.retain(|_| random.random_bool(0.2));
            let chain = Chain::of(graph);
            let problem = Problem::with_teams(graph, &chain, &board, &table, &teams).unwrap();
            for way in &problem.teams {
                for blocks in ranges(problem.blocks()).filter(|range| range.len() < 6) {
                    let hoped: Vec<TeamTime> =
                        problem.all_senders().map(|senders| way.team.time(senders, blocks)).collect();
                    while !way.team.evaluate_next_part(blocks).unwrap() {}
                    for (senders, hoped) in problem.all_senders().zip(hoped) {
                        let TeamTime::Found(found) = way.team.time(senders, blocks) else { continue };
                        let least = way.team.lower_bound(senders, blocks).unwrap();
                        let processors = way.team.classes.iter().map(ProcessorClass::stand_in).collect();
                        let splits = way.team.work(blocks).unwrap().replica(processors).splits;
                        tiled += usize::from(splits.iter().any(|split| split.along == Along::Rows));
                        by_heads += usize::from(splits.iter().any(|split| split.along == Along::Heads));
                        assert!(least <= found, "{name} {:?} {blocks:?}: {least} > {found}", way.team.classes);
                        let drawn = way.team.power(senders, blocks).unwrap();
                        let StagePower { dynamic_joules, .. } = way.team.least_power(blocks).unwrap();
                        assert!(dynamic_joules <= drawn.dynamic_joules * (1.0 + 1e-9), "{name} {blocks:?}: {drawn:?}");
                        is_power_close += usize::from(dynamic_joules > 0.5 * drawn.dynamic_joules);
                        assert_ne!(hoped, TeamTime::Never);
                        looked_at += 1;
                        is_close += usize::from(least.seconds() > 0.6 * found.seconds());
                    }
                }
            }
        }

        // Of processors that are so unlike each other, many are of no use to a team, which no bound knows.
        assert!(is_power_close > looked_at / 4, "{is_power_close} of {looked_at} say something of power");
        assert!(tiled > 100 && by_heads > 10, "{tiled} and {by_heads} of {looked_at} have tiles and heads");
        assert!(looked_at > 2000 && is_close > looked_at / 4, "{is_close} of {looked_at} say something");
    }
}
