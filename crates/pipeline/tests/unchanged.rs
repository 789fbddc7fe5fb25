//! What searches find, line by line, so that no change of it goes unseen. It need not be right: other tests hold it
//! against every plan that there is. Where a change is meant, `cargo xtask snapshots` accepts it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;

use millstream_board::{Board, ProcessorClass};
use millstream_cost::{
    BlockedEnd, CostTable, HandOver, LinkCost, Nanoseconds, PartCost, PowerOrigin, ProcessorPower, RowCost,
    TransferModel,
};
use millstream_graph::Graph;
use millstream_partition::Chain;
use millstream_pipeline::{
    Constraints, Effort, Objective, ParaPipe, ParaPipeStrategy, PeriodBound, PipeIt, Plan, Problem, ProblemInputs,
    ReachableStates, Search, Tenant, ThroughputBound, best_period, choose, divide_processors,
    energy_front_within_memory, pareto_front_within_memory, share, take_turns, teams_of, whole_network_plans,
};
use millstream_test_support::board;

/// A board, and what its costs are like.
#[derive(Clone, Copy)]
struct Kind {
    board: &'static str,
    has_links: bool,
    has_tiles: bool,
    blocks: Option<BlockedEnd>,
}

const PLAIN: Kind = Kind { board: "B2+m1:600+s2:300", has_links: false, has_tiles: false, blocks: None };
const TILES: Kind = Kind { has_tiles: true, blocks: Some(BlockedEnd::Receiver), ..PLAIN };
const WITH_GPU: Kind =
    Kind { board: "B2+s2:300+G", has_links: true, has_tiles: false, blocks: Some(BlockedEnd::Sender) };

/// Times by work, a little uneven, from whole numbers alone.
fn costs(graph: &Graph, board: &Board, kind: Kind) -> CostTable {
    let mut table = CostTable::new(graph.operators().len(), board.processor_classes());
    let classes: Vec<_> = table.class_ids().collect();
    for (place, &class) in (1_u64..).zip(&classes) {
        let ProcessorClass { cluster, count, .. } = table.classes()[class.index()].clone();
        // Nanoseconds for a thousand multiplications.
        let (one, wave) = match cluster.as_str() {
            "B" => (100, 8),
            "m" => (170, 4),
            "s" => (330, 1),
            _ => (60, 24),
        };
        let slowness = one * 10 / (3 + 7 * count as u64);
        for id in graph.operator_ids() {
            let operator = graph.operator(id);
            if cluster == "G" && operator.op_type == "Softmax" {
                continue;
            }
            let uneven = 80 + (id.index() as u64 * 37 + place * 11) % 41;
            let time = (operator.work.macs / 1000 * slowness + operator.work.bytes() / 20 + 800) * uneven / 100;
            table.set_time(class, id, Nanoseconds(time));
            table.set_part(class, id, PartCost { fixed_fraction: 0.0625, wave, apart: Nanoseconds(500) });
            if kind.has_tiles && cluster != "G" {
                let [start, read, write] = [700, 400, 600].map(Nanoseconds);
                table.set_rows(class, id, RowCost { fixed_fraction: 0.03125, start, read, write });
            }
        }
        table.set_hand_over(class, HandOver { seconds: 2e-6, seconds_per_byte: 1e-11 });
        let (active_watts, idle_watts) = (0.5 + 100.0 * count as f64 / one as f64, 0.125);
        table.set_power(class, ProcessorPower { active_watts, idle_watts, origin: PowerOrigin::BoardFile });
    }

    for (&from, &to) in classes.iter().flat_map(|from| classes.iter().map(move |to| (from, to))) {
        let model = TransferModel {
            latency_seconds: 1e-6,
            seconds_per_byte: 1e-10,
            blocks: kind.blocks,
            ..TransferModel::default()
        };
        table.set_transfer(from, to, model);
        if kind.has_links && (from.index() + to.index()) % 3 == 1 {
            let hand_over = HandOver { seconds: 4e-6, seconds_per_byte: 2e-11 };
            table.set_link(from, to, LinkCost { hand_over, occupied_seconds_per_byte: 2e-11 });
        }
    }
    table
}

/// What a plan is, and what it takes.
fn line(plan: &Plan) -> String {
    let stages: Vec<String> = plan.stages.iter().map(|stage| format!("{:?}", stage.blocks.indices())).collect();
    let energy = plan.energy.map_or(0, |energy| energy.0);
    format!("{} {} {} {energy} {}", plan.period.0, plan.latency.0, plan.configuration(), stages.join(" "))
}

fn lines(title: &str, plans: &[Plan]) -> String {
    let chosen: Vec<String> =
        Objective::ALL.iter().map(|&objective| format!("{:?}", choose(plans, objective))).collect();
    let plans: Vec<String> = plans.iter().map(line).collect();
    format!("{title}, chosen {}\n{}\n", chosen.join(" "), plans.join("\n"))
}

/// A number that every price has a part in, in thousandths: the last digits are those of the machine's exponentials.
fn digest<'a>(prices: impl Iterator<Item = &'a u64>) -> u64 {
    let thousandths = prices.map(|price| price / 1_000_000);
    thousandths.zip(1..).fold(0, |sum: u64, (price, place)| (31 * sum + price * place) % 1_000_000_007)
}

fn searched(name: &str, kind: Kind, effort: f64) -> String {
    let model = millstream_zoo::build(name).unwrap();
    let (graph, board) = (model.graph(), board(kind.board));
    let (chain, table) = (Chain::of(graph), costs(graph, &board, kind));
    let inputs = ProblemInputs { graph, chain: &chain, board: &board, table: &table };
    let problem = || Problem::with_teams_and_effort(inputs, &teams_of(&board), Effort::new(effort).unwrap()).unwrap();
    let mut text = String::new();

    let front = pareto_front_within_memory(&problem()).unwrap();
    text += &lines(&format!("front, whole: {}", front.is_whole), &front.plans);
    let together = problem();
    text += &lines("shortest period", &[best_period(&together).unwrap()]);
    let fresh = problem();
    let limits = Constraints { max_latency: Some(Nanoseconds(front.plans[0].latency.0 * 2)), ..Constraints::default() };
    let least = energy_front_within_memory(&fresh, &limits, 0.02).unwrap();
    text += &lines(&format!("with energy, whole: {}", least.is_whole), &least.plans);

    for (classes, prices) in together.team_dual_prices() {
        let names: Vec<String> = classes.iter().map(ToString::to_string).collect();
        let subgraphs = digest(prices.subgraphs.iter().flatten());
        writeln!(text, "prices of {}: {subgraphs} {}", names.join("+"), digest(prices.tiles.iter())).unwrap();
    }
    writeln!(text, "{:?} {:?}", PeriodBound::of(&together), ThroughputBound::of(graph, &board, &table)).unwrap();
    text + &without_teams(&inputs)
}

fn without_teams(&ProblemInputs { graph, chain, board, table }: &ProblemInputs<'_>) -> String {
    let alone = Problem::new(graph, chain, board, table).unwrap();
    let mut text = lines("alone", &pareto_front_within_memory(&alone).unwrap().plans);
    text += &lines("alone, no replicas", &pareto_front_within_memory(&alone.clone().without_replicas()).unwrap().plans);
    text += &lines("whole network", &whole_network_plans(&alone));
    text += &lines("pipe-it", &[PipeIt.search(&alone).unwrap()]);
    let processors: Vec<ProcessorClass> =
        board.clusters().iter().map(|cluster| cluster.class(cluster.cores.len())).collect();
    let with_teams = Problem::with_teams(graph, chain, board, table, &ParaPipe::teams(&processors)).unwrap();
    for strategy in ParaPipeStrategy::ALL {
        match (ParaPipe { processors: processors.clone(), strategy }).search(&with_teams) {
            Ok(plan) => text += &lines("para-pipe", &[plan]),
            Err(error) => writeln!(text, "para-pipe: {error}").unwrap(),
        }
    }
    match ReachableStates::of(&alone).unwrap() {
        Some(ReachableStates { period, blocks, states }) => {
            let done: usize = states.iter().flat_map(|state| &state.blocks_done).sum();
            writeln!(text, "{} states below {period:?} of {blocks} blocks, {done} done in all", states.len()).unwrap();
        }
        None => text += "too many states\n",
    }
    text
}

#[test]
fn on_clusters() {
    insta::assert_snapshot!(searched("squeezenet", PLAIN, 1.0));
}

#[test]
fn on_clusters_with_little_effort() {
    insta::assert_snapshot!(searched("googlenet", PLAIN, 0.02));
}

#[test]
fn with_tiles() {
    insta::assert_snapshot!(searched("tiny-darknet", TILES, 1.0));
}

#[test]
fn with_a_gpu_and_links() {
    insta::assert_snapshot!(searched("googlenet", WITH_GPU, 1.0));
}

/// Weights and values take more than the board has for the quickest plans.
#[test]
fn in_little_memory() {
    let kind = Kind { board: "B2+m1:600+s2:300 !15000000", ..PLAIN };
    insta::assert_snapshot!(searched("squeezenet", kind, 1.0));
}

#[test]
fn several_networks() {
    let models = ["squeezenet", "tiny-darknet"].map(|name| millstream_zoo::build(name).unwrap());
    let board = board(PLAIN.board);
    let problems = models.each_ref().map(|model| {
        let graph = model.graph();
        Problem::new(graph, &Chain::of(graph), &board, &costs(graph, &board, PLAIN)).unwrap()
    });
    let mut text = String::new();
    for (weight, part) in [(1.0, None), (3.0, None), (1.0, Some(2)), (0.5, Some(3))] {
        let deadline =
            part.map(|part| Nanoseconds(pareto_front_within_memory(&problems[0]).unwrap().plans[0].latency.0 * part));
        let tenants = [
            Tenant { name: "one", problem: &problems[0], weight, deadline },
            Tenant { name: "two", problem: &problems[1], weight: 1.0, deadline: None },
        ];
        let sharings = [
            divide_processors(&tenants),
            take_turns(&tenants),
            share(&tenants, |sharing| Some(sharing.rounds_per_second * if sharing.takes_turns { 0.9 } else { 0.8 })),
        ];

        for sharing in sharings {
            match sharing {
                Ok(sharing) => {
                    let rounds = sharing.rounds_per_second;
                    text += &lines(&format!("{rounds:.6} rounds, in turns: {}", sharing.takes_turns), &sharing.plans);
                }
                Err(error) => writeln!(text, "{error}").unwrap(),
            }
        }
    }
    insta::assert_snapshot!(text);
}
