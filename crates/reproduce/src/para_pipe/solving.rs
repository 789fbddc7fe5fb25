//! Table III: mapping all subgraphs on an NPU and two DSPs.

use std::time::Instant;

use millstream_cost::{ClassId, CostTable};
use millstream_graph::Graph;
use millstream_mapping::{
    CoarseIlp, Cpop, Heft, Mapper, MapperLimits, MappingError, STEPS_PER_SECOND, compose, map_network,
};
use millstream_partition::{Subgraph, subgraphs};
use millstream_report::{Align, Table, milliseconds, percent};

use super::bst::board;
use crate::claim::Claim;
use crate::evidence::{ClaimTolerance, Evidence};
use crate::paper::ReproduceError;
use crate::para_pipe::networks::{NETWORKS, Network};
use crate::report::{Kind, Section, Slowdown};
use crate::selection::PaperItem;

const COUNTED: &str = "which operators the paper counts is not said; ours counts all but normalisations of batches";

/// Time for proving an optimum, and time for reaching a small gap where that is not enough.
const PROOF_STEPS: u64 = 5 * STEPS_PER_SECOND;
const STEPS: u64 = 60 * STEPS_PER_SECOND;
/// A gap that is small enough where the optimum can't be proven.
const GAP: f64 = 0.02;

const NOTES: [&str; 2] = [
    "HEFT, CPOP, coarse: how much longer a frame takes when subgraphs are mapped that way, under the same evaluation and \
     composed in the same way.",
    "The paper prints no speeds of its board: ours are assumed, with an NPU that can't run normalisation, softmax and \
     transposition. Times are of this machine.",
];

/// The table, and how much longer frames take with other mappers.
pub(super) fn section() -> Result<(Section, Vec<Slowdown>), ReproduceError> {
    let mut table = Table::new([
        ("network", Align::Left),
        ("operators, ours", Align::Right),
        ("paper's", Align::Right),
        ("makespan ms", Align::Right),
        ("bound ms", Align::Right),
        ("gap", Align::Right),
        ("seconds", Align::Right),
        ("paper's minutes", Align::Right),
        ("HEFT", Align::Right),
        ("CPOP", Align::Right),
        ("coarse", Align::Right),
    ]);
    let (mut claims, mut slowdowns) = (Vec::new(), Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    for network in &NETWORKS {
        let model = millstream_zoo::build(network.model)?;
        let graph = model.graph();
        let parts = subgraphs(graph);
        let (costs, processors) = board(graph);
        let operators = counted_operators(graph);

        let start = Instant::now();
        let mapped = solve(graph, &parts, &costs, &processors, threads)?;
        let seconds = start.elapsed().as_secs_f64();

        let mut longer = Vec::new();
        for mapper in [&Heft as &(dyn Mapper + Sync), &Cpop, &CoarseIlp] {
            let limits = MapperLimits { steps: STEPS, ..MapperLimits::default() };
            let theirs = compose(graph, &parts, &costs, &processors, mapper, &limits, threads)?;
            let relative = theirs.makespan.seconds() / mapped.makespan.seconds() - 1.0;
            longer.push(Slowdown { network: network.name, mapper: mapper.name(), relative });
        }

        let mut cells = vec![
            network.name.to_owned(),
            operators.to_string(),
            network.operators.to_string(),
            milliseconds(mapped.makespan.seconds()),
            milliseconds(mapped.lower_bound.seconds()),
            format!("{:.2} %", 100.0 * mapped.gap()),
            format!("{seconds:.1}"),
            network.minutes.to_owned(),
        ];
        cells.extend(longer.iter().map(|slowdown| percent(slowdown.relative)));
        table.row(cells);
        slowdowns.extend(longer);
        claims.extend(claims_of(network, operators, mapped.gap()));
    }
    let section = Section {
        item: PaperItem::Table(3),
        about: "mapping all subgraphs on an NPU and two DSPs".to_owned(),
        kind: Kind::Assumed,
        table,
        notes: NOTES.map(str::to_owned).to_vec(),
        claims,
    };
    Ok((section, slowdowns))
}

/// Normalisations of batches are parts of their convolutions once a network is trained.
fn counted_operators(graph: &Graph) -> usize {
    graph.operators().iter().filter(|operator| operator.op_type != "BatchNormalization").count()
}

/// To the optimum if that can be proven soon, else to a small gap.
fn solve(
    graph: &Graph,
    parts: &[Subgraph],
    costs: &CostTable,
    processors: &[ClassId],
    threads: usize,
) -> Result<millstream_mapping::NetworkMapping, MappingError> {
    let limits = MapperLimits { steps: PROOF_STEPS, ..MapperLimits::default() };
    let mapped = map_network(graph, parts, costs, processors, &limits, threads)?;
    if mapped.gap() <= GAP {
        return Ok(mapped);
    }
    let limits = MapperLimits { steps: STEPS, gap: GAP, ..MapperLimits::default() };
    map_network(graph, parts, costs, processors, &limits, threads)
}

/// The paper's solver ended with an optimum. The transformers are made to size, and their times assumed: nothing of
/// theirs is the paper's.
fn claims_of(network: &Network, operators: usize, gap: f64) -> [Claim; 2] {
    let count = Claim::count(format!("operators of {}", network.name), operators, network.operators);
    let proven = format!("gap to the bound, {}", network.name);
    if network.is_made_to_size {
        let small = Claim::range(proven, gap, [0.0, GAP]).within(ClaimTolerance::Exact).only(Evidence::NotInThePaper);
        return [count.only(Evidence::ByDefinition), small];
    }
    [
        count.because((network.model != "inception-v3").then_some(COUNTED)),
        Claim::number(proven, gap, 0.0).within(ClaimTolerance::Exact),
    ]
}
