//! Table II: stages of the hybrids, and the subgraphs that they run.

use millstream_pipeline::{Plan, PlannedStage};
use millstream_report::{Align, Table};

use super::bst::SIMULATED;
use crate::claim::Claim;
use crate::para_pipe::chosen::Chosen;
use crate::report::{Kind, Section};
use crate::selection::PaperItem;

/// Where the assumed speeds lead to the printed stages, and where to the printed subgraphs.
const SAME_STAGES: (&str, &str) = ("inception-v4", "hybrid-T");
const SAME_SUBGRAPHS: (&str, &str) = ("petr-like", "hybrid-L");

/// Table II: network, choice, stages, subgraphs.
const ALLOCATIONS: [(&str, &str, &str, &str); 8] = [
    ("googlenet", "hybrid-L", "NPU - 2DSPs", "[1,10] - [11]"),
    ("googlenet", "hybrid-T", "NPU - 2DSPs", "[1,9] - [10,11]"),
    ("inception-v4", "hybrid-L", "NPU+DSP - DSP", "[1,20] - [21]"),
    ("inception-v4", "hybrid-T", "DSP - NPU+DSP", "[1,3] - [4,21]"),
    ("petr-like", "hybrid-L", "NPU+DSP - DSP", "[1,17] - [18,24]"),
    ("petr-like", "hybrid-T", "NPU+DSP - DSP", "[1,15] - [16,24]"),
    ("bevformer-like", "hybrid-L", "NPU+DSP - DSP", "[1,23] - [24,25]"),
    ("bevformer-like", "hybrid-T", "DSP - NPU+DSP", "[1,2] - [3,25]"),
];

/// The stages in the paper's words.
fn stages(plan: &Plan) -> String {
    let stage = |stage: &PlannedStage| {
        let of = |cluster: &str| stage.processors().filter(|class| class.cluster == cluster).count();
        let dsps = match of("D") {
            0 => None,
            1 => Some("DSP".to_owned()),
            more => Some(format!("{more}DSPs")),
        };
        (of("N") > 0).then(|| "NPU".to_owned()).into_iter().chain(dsps).collect::<Vec<_>>().join("+")
    };
    plan.stages.iter().map(stage).collect::<Vec<_>>().join(" - ")
}

pub(super) fn section(all: &[Chosen]) -> Section {
    let mut table = Table::new([
        ("network", Align::Left),
        ("choice", Align::Left),
        ("stages, ours", Align::Left),
        ("paper's", Align::Left),
        ("subgraphs, ours", Align::Left),
        ("paper's", Align::Left),
        ("throughput / exact", Align::Right),
    ]);

    let mut claims = Vec::new();
    for (model, name, printed, subgraphs) in ALLOCATIONS {
        let Some(chosen) = all.iter().find(|chosen| chosen.network.model == model) else { continue };
        let (Some(plan), Some(exact)) = (chosen.plan(name), chosen.plan("exact, throughput")) else { continue };
        table.row([
            chosen.network.name.to_owned(),
            name.to_owned(),
            stages(plan),
            printed.to_owned(),
            chosen.allocation(plan),
            subgraphs.to_owned(),
            format!("{:.2}", exact.period.seconds() / plan.period.seconds()),
        ]);
        let of = |what: &str| format!("{what} of {name}, {}", chosen.network.name);
        let unless = |same: (&str, &str)| (same != (model, name)).then_some(SIMULATED);
        claims.push(Claim::choice(of("stages"), stages(plan), printed).because(unless(SAME_STAGES)));
        let ours = chosen.allocation(plan);
        claims.push(Claim::choice(of("subgraphs"), ours, subgraphs).because(unless(SAME_SUBGRAPHS)));
    }

    Section {
        item: PaperItem::Table(2),
        about: "subgraphs of the stages of hybrid-L and hybrid-T".to_owned(),
        kind: Kind::Assumed,
        table,
        notes: vec![
            "The last column: part of the throughput of the best pipeline that hybrids reach under the same costs. That hybrids have two stages is so by \
             definition, with three processors."
                .to_owned(),
        ],
        claims,
    }
}
