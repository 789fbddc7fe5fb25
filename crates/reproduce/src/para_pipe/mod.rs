//! Para-Pipe: subgraphs of its networks, and mapping them on an NPU and two DSPs.

mod amlogic;
mod strategies;

use std::time::{Duration, Instant};

use millstream_board::ProcessorClass;
use millstream_cost::{CostTable, HandOver, Nanoseconds, ProcessorIndex, TransferModel};
use millstream_graph::Graph;
use millstream_mapping::{CoarseIlp, Cpop, Heft, Limits, Mapper, MappingError, STEPS_PER_SECOND, compose, map_network};
use millstream_partition::{Subgraph, subgraphs};
use millstream_report::{Align, Table, milliseconds, percent};

use crate::{Claim, Kind, ReproduceError, Reproduction, Section, Selection};

/// A network of tables 1 and 3: name, ours, subgraphs, parallelism, operators, and what solving took.
struct Network {
    name: &'static str,
    model: &'static str,
    subgraphs: u64,
    parallelism: u64,
    operators: u64,
    minutes: &'static str,
}

const NETWORKS: [Network; 6] = [
    network("GoogLeNet", "googlenet", [11, 4, 141], "< 1"),
    network("Inception-v3", "inception-v3", [13, 6, 220], "4"),
    network("Inception-v4", "inception-v4", [21, 6, 343], "4"),
    network("Inception-ResNet-v2", "inception-resnet-v2", [45, 4, 576], "< 1"),
    network("PETR-based", "petr-like", [24, 16, 337], "361"),
    network("BEVFormer-based", "bevformer-like", [25, 4, 257], "< 1"),
];

const fn network(name: &'static str, model: &'static str, counts: [u64; 3], minutes: &'static str) -> Network {
    let [subgraphs, parallelism, operators] = counts;
    Network { name, model, subgraphs, parallelism, operators, minutes }
}

/// Operators that the NPU of the assumed board can't run.
const NOT_ON_THE_NPU: [&str; 5] = ["LRN", "Softmax", "LayerNormalization", "Transpose", "ReduceMean"];
/// An NPU and a DSP: seconds for each operator, multiply-accumulates per second, bytes per second.
const NPU: [f64; 3] = [8e-6, 400e9, 12e9];
const DSP: [f64; 3] = [5e-6, 120e9, 8e9];
/// Between processors: through memory that they share.
const LINK: TransferModel = TransferModel {
    latency_seconds: 5e-6,
    seconds_per_byte: 1.0 / 6e9,
    conversion_seconds_per_byte: 0.0,
    blocks: None,
};
/// Time for proving an optimum, and time for reaching a small gap where that is not enough.
const PROOF_TIME: Duration = Duration::from_secs(5);
const TIME: Duration = Duration::from_secs(60);
const PROOF_STEPS: u64 = 5 * STEPS_PER_SECOND;
const STEPS: u64 = 60 * STEPS_PER_SECOND;
/// A gap that is small enough where the optimum can't be proven.
const GAP: f64 = 0.02;

pub(crate) fn reproduce(selection: Selection) -> Result<Reproduction, ReproduceError> {
    let mut sections = Vec::new();
    if selection.wants_table(1) {
        sections.push(structure()?);
    }
    if selection.wants_table(3) {
        sections.push(solving()?);
    }
    let mut figures = Vec::new();
    if selection.wants_table(2) || selection.figure == Some(11) {
        let (found, figure) = strategies::strategies()?;
        sections.extend(found);
        figures.push(figure);
    }
    if selection == Selection::default() || matches!(selection.figure, Some(10 | 12 | 13)) {
        let (found, drawn) = amlogic::figures()?;
        sections.extend(found);
        figures.extend(drawn);
    }
    Ok(Reproduction {
        paper:
            "Zhang et al., Para-Pipe: Exploiting Hierarchical Operator Parallelism of ML Computational Graphs on SoCs"
                .to_owned(),
        sections,
        figures,
    })
}

fn structure() -> Result<Section, ReproduceError> {
    let mut table = Table::new([
        ("network", Align::Left),
        ("subgraphs, ours", Align::Right),
        ("paper's", Align::Right),
        ("parallelism, ours", Align::Right),
        ("paper's", Align::Right),
        ("largest subgraph", Align::Right),
    ]);
    let mut claims = Vec::new();
    for network in &NETWORKS {
        let model = millstream_zoo::build(network.model)?;
        let found = subgraphs(model.graph());
        let parallelism = found.iter().map(|subgraph| subgraph.parallelism).max().unwrap_or(0);
        let largest = found.iter().map(|subgraph| subgraph.operators().count()).max().unwrap_or(0);
        table.row([
            network.name.to_owned(),
            found.len().to_string(),
            network.subgraphs.to_string(),
            parallelism.to_string(),
            network.parallelism.to_string(),
            format!("{largest} operators"),
        ]);
        for (what, ours, paper) in
            [("subgraphs", found.len(), network.subgraphs), ("parallelism", parallelism, network.parallelism)]
        {
            let what = format!("{what} of {}", network.name);
            claims.push(Claim { what, ours: ours as f64, paper: [paper as f64; 2], tolerance: 0.0 });
        }
    }
    Ok(Section {
        title: "Table 1: subgraphs and maximum parallelism".to_owned(),
        kind: Kind::Counted,
        table,
        notes: vec!["The transformer networks are ours, made in the sizes that the paper states.".to_owned()],
        claims,
    })
}

/// An NPU that can't do everything and two DSPs that can. The third class, both DSPs as one processor, runs nothing.
fn board(graph: &Graph) -> (CostTable, Vec<ProcessorIndex>) {
    let classes = [("N", 1), ("D", 1), ("D", 2)];
    let classes = classes.map(|(cluster, count)| ProcessorClass { cluster: cluster.into(), count });
    let mut table = CostTable::new(graph.operators().len(), classes);
    let processors: Vec<ProcessorIndex> = table.processors().collect();
    for (place, (&processor, speed)) in processors.iter().zip([NPU, DSP]).enumerate() {
        let [overhead, macs_per_second, bytes_per_second] = speed;
        for id in graph.operator_ids() {
            let operator = graph.operator(id);
            if place == 0 && NOT_ON_THE_NPU.contains(&operator.op_type.as_str()) {
                continue;
            }
            let (macs, bytes) = (operator.work.macs as f64, operator.work.bytes() as f64);
            let seconds = overhead + macs / macs_per_second + bytes / bytes_per_second;
            table.set_time(processor, id.index(), Nanoseconds::from_seconds(seconds));
        }
        for &other in &processors {
            table.set_transfer(processor, other, LINK);
        }
    }
    let npu_and_dsps = [0, 1, 1].map(|place| processors[place]);
    for processor in processors {
        let hand_over = HandOver { seconds: LINK.latency_seconds, seconds_per_byte: LINK.seconds_per_byte };
        table.set_hand_over(processor, hand_over);
    }
    (table, npu_and_dsps.to_vec())
}

fn solving() -> Result<Section, ReproduceError> {
    let mut table = Table::new([
        ("network", Align::Left),
        ("operators, paper's", Align::Right),
        ("makespan ms", Align::Right),
        ("bound ms", Align::Right),
        ("gap", Align::Right),
        ("seconds", Align::Right),
        ("paper's minutes", Align::Right),
        ("HEFT", Align::Right),
        ("CPOP", Align::Right),
        ("coarse", Align::Right),
    ]);
    let mut claims = Vec::new();
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    for network in &NETWORKS {
        let model = millstream_zoo::build(network.model)?;
        let graph = model.graph();
        let parts = subgraphs(graph);
        let (costs, processors) = board(graph);
        let start = Instant::now();
        let mapped = solve(graph, &parts, &costs, &processors, threads)?;
        let seconds = start.elapsed().as_secs_f64();
        let others: Vec<f64> = [&Heft as &(dyn Mapper + Sync), &Cpop, &CoarseIlp]
            .into_iter()
            .map(|mapper| {
                let limits = Limits { steps: STEPS, program_time: TIME, ..Limits::default() };
                let theirs = compose(graph, &parts, &costs, &processors, mapper, &limits, threads)?;
                Ok(theirs.makespan.seconds() / mapped.makespan.seconds() - 1.0)
            })
            .collect::<Result<_, MappingError>>()?;
        table.row([
            network.name.to_owned(),
            network.operators.to_string(),
            milliseconds(mapped.makespan.seconds()),
            milliseconds(mapped.lower_bound.seconds()),
            format!("{:.2} %", 100.0 * mapped.gap()),
            format!("{seconds:.1}"),
            network.minutes.to_owned(),
            percent(others[0]),
            percent(others[1]),
            percent(others[2]),
        ]);
        // The paper's solver ended with an optimum.
        let what = format!("1 + gap of {}", network.name);
        claims.push(Claim { what, ours: 1.0 + mapped.gap(), paper: [1.0, 1.0], tolerance: GAP });
    }
    Ok(Section {
        title: "Table 3: mapping all subgraphs on an NPU and two DSPs".to_owned(),
        kind: Kind::Assumed,
        table,
        notes: vec![
            "HEFT, CPOP, coarse: how much longer a frame takes when subgraphs are mapped that way, under the same evaluation and \
             composed in the same way."
                .to_owned(),
            "The paper prints no speeds of its board: ours are assumed, with an NPU that can't run normalisation, softmax and \
             transposition. Times are of this machine."
                .to_owned(),
        ],
        claims,
    })
}

/// To the optimum if that can be proven soon, else to a small gap.
fn solve(
    graph: &Graph,
    parts: &[Subgraph],
    costs: &CostTable,
    processors: &[ProcessorIndex],
    threads: usize,
) -> Result<millstream_mapping::NetworkMapping, MappingError> {
    let limits = Limits { steps: PROOF_STEPS, program_time: PROOF_TIME, ..Limits::default() };
    let mapped = map_network(graph, parts, costs, processors, &limits, threads)?;
    if mapped.gap() <= GAP {
        return Ok(mapped);
    }
    let limits = Limits { steps: STEPS, program_time: TIME, gap: GAP, ..Limits::default() };
    map_network(graph, parts, costs, processors, &limits, threads)
}
