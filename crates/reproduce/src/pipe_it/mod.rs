//! Pipe-it: how many layers the networks have, how many ways there are to run them, and how fast the best are.

mod hikey;
mod power;
mod printed;
mod splits;
mod throughput;
mod together;

use millstream_graph::{Graph, OperatorKind};
use millstream_pipeline::{design_points, pipelines};
use millstream_report::{Align, Table, percent};

use crate::claim::Claim;
use crate::paper::ReproduceError;
use crate::report::{Kind, LeftOut, Reproduction, Section};
use crate::selection::PaperItem;

/// Major layers of table I.
const LAYERS: [(&str, &str, u64); 5] = [
    ("AlexNet", "alexnet", 11),
    ("GoogLeNet", "googlenet", 58),
    ("MobileNet", "mobilenet-v1", 28),
    ("ResNet50", "resnet50", 54),
    ("SqueezeNet", "squeezenet", 26),
];
/// Pipelines that section IV-B counts on four big and four small cores.
const PIPELINES: usize = 64;
/// Design points that section IV-B prints for MobileNet.
const MOBILENET_POINTS: usize = 5_379_616;
const ERRATUM: &str = "an erratum: printed is equation 2 with C(W, p - 1) in place of C(W - 1, p - 1)";
/// Cores of the HiKey 970.
const CORES: (u64, u64) = (4, 4);

const LEFT_OUT: [LeftOut; 6] = [
    LeftOut { what: "Table II", reason: "names parameters" },
    LeftOut {
        what: "Table III",
        reason: "errors of predicted times of layers (equations 3 to 8): neither the coefficients nor the measured times are printed",
    },
    LeftOut {
        what: "Figures 3 and 5",
        reason: "kernels over both clusters, measured: what keeping two clusters coherent costs is not printed, and no model here has it",
    },
    LeftOut {
        what: "Figures 4, 6, 7, 10, 11 and 12",
        reason: "measured times of kernels and layers, and sketches, drawn without numbers",
    },
    LeftOut {
        what: "Section VI-D, the steps of the search",
        reason: "depend on times of layers that are not printed; tests of the search have them with made-up times",
    },
    LeftOut { what: "Figures 14 and 15", reason: "other libraries and 8-bit kernels as measured" },
];

pub(crate) fn reproduce() -> Result<Reproduction, ReproduceError> {
    Ok(Reproduction {
        paper: "Wang et al., High-Throughput CNN Inference on Embedded ARM big.LITTLE Multicore Processors (TCAD 2020)"
            .to_owned(),
        sections: vec![
            layers()?,
            design_space(),
            pipeline_counts(),
            throughput::searches(4, 4)?,
            printed::printed_pipelines()?,
            throughput::searches(3, 2)?,
            power::section()?,
            splits::two_stages()?,
            splits::three_stages()?,
            together::section()?,
        ],
        figures: Vec::new(),
        slowdowns: Vec::new(),
        left_out: LEFT_OUT.to_vec(),
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
        let claim = Claim::count(format!("major layers of {name}"), ours as usize, printed as usize);
        table.row([name.to_owned(), ours.to_string(), printed.to_string(), percent(claim.difference())]);
        claims.push(claim);
    }
    let notes = vec!["AlexNet's three convolutions in two groups are two nodes each, as in ARM-CL.".to_owned()];
    Ok(Section {
        item: PaperItem::Table(1),
        about: "major layers".to_owned(),
        kind: Kind::Counted,
        table,
        notes,
        claims,
    })
}

fn design_space() -> Section {
    let mut table = Table::new([
        ("network", Align::Left),
        ("layers", Align::Right),
        ("design points, eq. 2", Align::Right),
        ("paper's", Align::Right),
    ]);
    let mut claims = Vec::new();
    for (name, _, layers) in LAYERS {
        let points = design_points(layers, CORES.0, CORES.1);
        let printed = if name == "MobileNet" { MOBILENET_POINTS.to_string() } else { "-".to_owned() };
        if name == "MobileNet" {
            claims.push(Claim::count("design points of MobileNet", points as usize, MOBILENET_POINTS).because(ERRATUM));
        }
        table.row([name.to_owned(), layers.to_string(), points.to_string(), printed]);
    }
    Section {
        item: PaperItem::Other("Equation 2"),
        about: "the design space on 4 big and 4 small cores".to_owned(),
        kind: Kind::Computed,
        table,
        notes: Vec::new(),
        claims,
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
    let claim = Claim::count("pipelines on 4 + 4 cores", total as usize, PIPELINES);
    Section {
        item: PaperItem::Other("Equation 1"),
        about: "pipelines on 4 big and 4 small cores (the paper: 64)".to_owned(),
        kind: Kind::Computed,
        table,
        notes: Vec::new(),
        claims: vec![claim],
    }
}
