//! Pipe-it: how many layers the networks have, how many ways there are to run them, and how fast the best are.

mod hikey;
mod power;
mod throughput;
mod together;

use millstream_graph::{Graph, OperatorKind};
use millstream_pipeline::{design_points, pipelines};
use millstream_report::{Align, Table, percent};

use crate::{Claim, Kind, ReproduceError, Reproduction, Section};

/// Major layers of table I.
const LAYERS: [(&str, &str, u64); 5] = [
    ("AlexNet", "alexnet", 11),
    ("GoogLeNet", "googlenet", 58),
    ("MobileNet", "mobilenet-v1", 28),
    ("ResNet50", "resnet50", 54),
    ("SqueezeNet", "squeezenet", 26),
];
/// Pipelines that section IV-B counts on four big and four small cores.
const PIPELINES: u128 = 64;
/// Design points that section IV-B prints for MobileNet.
const MOBILENET_POINTS: u128 = 5_379_616;
/// Cores of the HiKey 970.
const CORES: (u64, u64) = (4, 4);

pub(crate) fn reproduce() -> Result<Reproduction, ReproduceError> {
    Ok(Reproduction {
        paper: "Wang et al., High-Throughput CNN Inference on Embedded ARM big.LITTLE Multicore Processors (TCAD 2020)"
            .to_owned(),
        sections: vec![
            layers()?,
            design_space(),
            pipeline_counts(),
            throughput::searches(4, 4)?,
            throughput::printed_pipelines()?,
            throughput::searches(3, 2)?,
            power::section()?,
            together::section()?,
        ],
        figures: Vec::new(),
    })
}

/// Convolutions and fully connected layers; a convolution in few groups is as many nodes in ARM-CL (table I, footnote).
fn major_layers(graph: &Graph) -> u64 {
    let nodes = |kind: &OperatorKind| match kind {
        OperatorKind::Convolution(convolution) if convolution.groups <= 2 => convolution.groups as u64,
        OperatorKind::Convolution(_) | OperatorKind::FullyConnected => 1,
        _ => 0,
    };
    graph.operators().iter().map(|operator| nodes(&operator.kind)).sum()
}

fn layers() -> Result<Section, ReproduceError> {
    let mut table = Table::new([
        ("network", Align::Left),
        ("major layers, ours", Align::Right),
        ("paper's", Align::Right),
        ("difference", Align::Right),
    ]);
    let mut claims = Vec::new();
    for (name, model, printed) in LAYERS {
        let ours = major_layers(millstream_zoo::build(model)?.graph());
        let claim = Claim {
            what: format!("major layers of {name}"),
            ours: ours as f64,
            paper: [printed as f64; 2],
            tolerance: 0.0,
        };
        table.row([name.to_owned(), ours.to_string(), printed.to_string(), percent(claim.difference())]);
        claims.push(claim);
    }
    let notes = vec!["AlexNet's three convolutions in two groups are two nodes each, as in ARM-CL.".to_owned()];
    Ok(Section { title: "Table 1: major layers".to_owned(), kind: Kind::Counted, table, notes, claims })
}

fn design_space() -> Section {
    let mut table = Table::new([
        ("network", Align::Left),
        ("layers", Align::Right),
        ("design points, eq. 2", Align::Right),
        ("paper's", Align::Right),
    ]);
    for (name, _, layers) in LAYERS {
        let points = design_points(layers, CORES.0, CORES.1);
        let printed = if name == "MobileNet" { MOBILENET_POINTS.to_string() } else { "-".to_owned() };
        table.row([name.to_owned(), layers.to_string(), points.to_string(), printed]);
    }
    Section {
        title: "Equation 2: the design space on 4 big and 4 small cores".to_owned(),
        kind: Kind::Computed,
        table,
        notes: vec![
            "The number that the paper prints for MobileNet is equation 2 with C(W, p - 1) in place of C(W - 1, p - 1)."
                .to_owned(),
        ],
        claims: Vec::new(),
    }
}

fn pipeline_counts() -> Section {
    let mut table = Table::new([("stages", Align::Right), ("pipelines, eq. 1", Align::Right)]);
    let counts: Vec<(u64, u128)> = (2..=8).map(|stages| (stages, pipelines(CORES.0, CORES.1, stages))).collect();
    for (stages, count) in &counts {
        table.row([stages.to_string(), count.to_string()]);
    }
    let total: u128 = counts.iter().map(|(_, count)| count).sum();
    table.row(["2-8".to_owned(), total.to_string()]);
    let claim = Claim {
        what: "pipelines on 4 + 4 cores".to_owned(),
        ours: total as f64,
        paper: [PIPELINES as f64; 2],
        tolerance: 0.0,
    };
    Section {
        title: "Equation 1: pipelines on 4 big and 4 small cores (the paper: 64)".to_owned(),
        kind: Kind::Computed,
        table,
        notes: Vec::new(),
        claims: vec![claim],
    }
}
