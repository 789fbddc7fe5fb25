//! The published fine-grained program in HiGHS beside ours, on subgraphs of real networks: makespan, bound, gap, and
//! the time until the gap that the published program reached.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints a table")]

use std::time::{Duration, Instant};

use millstream_board::ProcessorClass;
use millstream_cost::{ClassId, CostTable, Nanoseconds, TransferModel};
use millstream_graph::Graph;
use millstream_mapping::{BoundedMapper, FineIlp, Mapper, MapperLimits, Mapping, MappingProblem, STEPS_PER_SECOND};
use millstream_partition::subgraphs;

/// Time for either on one subgraph.
const TIME: Duration = Duration::from_secs(20);

fn main() {
    // `cargo test` runs benchmarks as well, only to see that they start.
    let networks: &[&str] = if std::env::args().any(|argument| argument == "--test") {
        &[]
    } else {
        &["googlenet", "inception-v3", "inception-v4", "inception-resnet-v2", "bevformer-like", "petr-like"]
    };
    println!(
        "| instance | nodes | published: gap | seconds | ours: gap | seconds | ours to the published gap: s | ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|");

    for name in networks {
        let model = millstream_zoo::build(name).unwrap();
        let graph = model.graph();
        let table = table(graph);
        let classes: Vec<ClassId> = table.class_ids().collect();
        let processors = [classes[0], classes[1], classes[1]];
        let problems =
            subgraphs(graph).into_iter().map(|part| MappingProblem::of_subgraph(graph, &part, &table, &processors));
        // The largest subgraph of each network.
        let problem = problems.map(Result::unwrap).max_by_key(MappingProblem::len).unwrap();
        let (published, published_seconds) = timed(&FineIlp, &problem, 0.0);
        let (ours, our_seconds) = timed(&BoundedMapper, &problem, 0.0);
        let (_, same_gap_seconds) = timed(&BoundedMapper, &problem, published.gap());
        println!(
            "| {name} | {} | {:.2} % | {published_seconds:.2} | {:.2} % | {our_seconds:.2} | {same_gap_seconds:.3} | {:.0} |",
            problem.len(),
            100.0 * published.gap(),
            100.0 * ours.gap(),
            published_seconds / same_gap_seconds.max(1e-6)
        );
    }
}

fn timed(mapper: &dyn Mapper, problem: &MappingProblem, gap: f64) -> (Mapping, f64) {
    let start = Instant::now();
    let limits =
        MapperLimits { steps: TIME.as_secs() * STEPS_PER_SECOND, program_time: TIME, gap, ..MapperLimits::default() };
    let mapping = mapper.map(problem, &limits).unwrap();
    (mapping, start.elapsed().as_secs_f64())
}

/// A fast processor that can't do everything, and one of which there are two.
fn table(graph: &Graph) -> CostTable {
    let classes = ["N", "D"].map(|cluster| ProcessorClass::new(cluster, 1));
    let mut table = CostTable::new(graph.operators().len(), classes);
    let processors: Vec<ClassId> = table.class_ids().collect();
    for id in graph.operator_ids() {
        let operator = graph.operator(id);
        let seconds = |macs: f64, bytes: f64| operator.work.macs as f64 / macs + operator.work.bytes() as f64 / bytes;
        if !matches!(operator.op_type.as_str(), "LRN" | "Softmax" | "LayerNormalization" | "Transpose" | "ReduceMean") {
            table.set_time(processors[0], id, Nanoseconds::from_seconds(8e-6 + seconds(400e9, 12e9)));
        }
        table.set_time(processors[1], id, Nanoseconds::from_seconds(5e-6 + seconds(120e9, 8e9)));
    }
    let link = TransferModel { latency_seconds: 5e-6, seconds_per_byte: 1.0 / 6e9, ..TransferModel::default() };
    for &from in &processors {
        processors.iter().for_each(|&to| table.set_transfer(from, to, link));
    }
    table
}
