//! Time of the exact searches. Targets: at most 1 ms for 54 layers on 4+4 cores, 5 ms for 150; and for every trade-off
//! over 45 subgraphs on 3, 4 and 6 different processors, stages of several processors included, 1 ms, 10 ms and 200 ms.

use divan::{Bencher, black_box};
use millstream_cost::{CostTable, HandOver, Nanoseconds};
use millstream_graph::{DataType, Graph, GraphBuilder, NewOperator, OperatorKind, Shape};
use millstream_partition::Chain;
use millstream_pipeline::{ParaPipe, Problem, best_period, para_pipe_points, pareto_front, teams_of};
use millstream_test_support::board;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn main() {
    divan::main();
}

fn network(layers: usize) -> Graph {
    let build = || {
        let mut builder = GraphBuilder::new("chain");
        let mut value = builder.value("input", Some(DataType::F32), Some(Shape::from([1])))?;
        builder.input(value);
        for index in 0..layers {
            let made = builder.value(format!("v{index}"), Some(DataType::F32), Some(Shape::from([100_000])))?;
            let operator = NewOperator::new(format!("o{index}"), "Conv", OperatorKind::Opaque);
            builder.operator(operator.reads([value]).makes([made]))?;
            value = made;
        }
        builder.output(value);
        builder.build()
    };
    build().unwrap_or_else(|error| unreachable!("{error}"))
}

/// 4+4 cores.
fn problem(layers: usize) -> Problem {
    two_clusters(layers, 4, 4, false)
}

/// Cores of two kinds with layer times that scale imperfectly and differently from layer to layer.
fn two_clusters(layers: usize, big: usize, small: usize, with_teams: bool) -> Problem {
    two_clusters_of(&network(layers), big, small, with_teams)
}

fn two_clusters_of(graph: &Graph, big: usize, small: usize, with_teams: bool) -> Problem {
    let layers = graph.operators().len();
    let board = board(&format!("B{big}+s{small}:400"));
    let mut random = ChaCha8Rng::seed_from_u64(layers as u64);
    let mut table = CostTable::new(layers, board.processor_classes());
    let work: Vec<f64> = (0..layers).map(|_| random.random_range(1e5..3e6)).collect();
    for processor in table.class_ids() {
        let class = table.classes()[processor.index()].clone();
        let slowness = if class.cluster == "B" { 1.0 } else { 2.5 };
        for (operator, work) in table.operator_ids().zip(&work) {
            let speedup = (class.count as f64).powf(random.random_range(0.6..0.95));
            table.set_time(processor, operator, Nanoseconds((work * slowness / speedup) as u64));
        }
        table.set_hand_over(processor, HandOver { seconds: 2e-5, seconds_per_byte: 1e-10 });
    }
    let teams = if with_teams { teams_of(&board) } else { Vec::new() };
    let chain = Chain::of(graph);
    Problem::with_teams(graph, &chain, &board, &table, &teams).unwrap_or_else(|error| unreachable!("{error}"))
}

#[divan::bench(args = [28, 54, 150])]
fn shortest_period(bencher: Bencher<'_, '_>, layers: usize) {
    let problem = problem(layers);
    bencher.bench_local(|| best_period(black_box(&problem)));
}

#[divan::bench(args = [28, 54], sample_count = 5)]
fn front(bencher: Bencher<'_, '_>, layers: usize) {
    let problem = problem(layers);
    bencher.bench_local(|| pareto_front(black_box(&problem)));
}

/// Clusters of many cores, from costs to the front.
#[divan::bench(args = [ManyCores(8, 16, false), ManyCores(32, 32, false), ManyCores(8, 16, true), ManyCores(32, 32, true)], sample_count = 3)]
fn front_of_60_layers_on_many_cores(bencher: Bencher<'_, '_>, ManyCores(big, small, with_teams): ManyCores) {
    bencher.bench_local(|| pareto_front(&two_clusters(60, big, small, with_teams)));
}

#[derive(Clone, Copy)]
struct ManyCores(usize, usize, bool);

impl std::fmt::Display for ManyCores {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} + {}{}", self.0, self.1, if self.2 { " with teams" } else { "" })
    }
}

/// From the network to the front.
#[divan::bench(args = [5_000, 50_000], sample_count = 3)]
fn front_of_a_long_chain(bencher: Bencher<'_, '_>, layers: usize) {
    let graph = network(layers);
    bencher.bench_local(|| pareto_front(&two_clusters_of(&graph, 4, 4, false)));
}

/// As many clusters of one core, each twice as slow as the one before for some layers.
fn different_processors(subgraphs: usize, processors: usize) -> Problem {
    let labels = ["N", "B", "m", "s", "D", "E"];
    // Each half as fast as the one before it.
    let board = board(&labels[..processors].iter().map(|label| format!("{label}1")).collect::<Vec<_>>().join("+"));
    let graph = network(subgraphs);
    let mut random = ChaCha8Rng::seed_from_u64(processors as u64);
    let mut table = CostTable::new(subgraphs, board.processor_classes());
    let work: Vec<f64> = (0..subgraphs).map(|_| random.random_range(1e5..3e6)).collect();
    for processor in table.class_ids() {
        for (operator, work) in table.operator_ids().zip(&work) {
            let slowness = 1.0 + processor.index() as f64 * random.random_range(0.2..1.0);
            table.set_time(processor, operator, Nanoseconds((work * slowness) as u64));
        }
        table.set_hand_over(processor, HandOver { seconds: 2e-5, seconds_per_byte: 1e-10 });
    }
    let classes: Vec<_> = board.processor_classes().collect();
    let (chain, teams) = (Chain::of(&graph), ParaPipe::teams(&classes));
    Problem::with_teams(&graph, &chain, &board, &table, &teams).unwrap_or_else(|error| unreachable!("{error}"))
}

/// The argument is shown with the number of pipelines that enumeration would go through.
#[divan::bench(args = [Processors(3), Processors(4), Processors(6)], sample_count = 20)]
fn all_trade_offs_of_45_subgraphs(bencher: Bencher<'_, '_>, Processors(count): Processors) {
    let problem = different_processors(45, count);
    bencher.bench_local(|| pareto_front(black_box(&problem)));
}

#[derive(Clone, Copy)]
struct Processors(usize);

impl std::fmt::Display for Processors {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} ({} points)", self.0, para_pipe_points(45, self.0 as u32))
    }
}
