//! Figure 11: Para-Pipe's choices among stage configurations, on an NPU and two DSPs.

use millstream_pipeline::Plan;
use millstream_report::{Align, BarChart, Table};

use super::bst::SIMULATED;
use super::table_2;
use crate::claim::Claim;
use crate::evidence::ClaimTolerance;
use crate::paper::ReproduceError;
use crate::para_pipe::choices::mean;
use crate::para_pipe::chosen::Chosen;
use crate::para_pipe::networks::NETWORKS;
use crate::report::{Figure, Kind, Section};
use crate::selection::PaperItem;

pub(super) fn strategies() -> Result<(Vec<Section>, Figure), ReproduceError> {
    let all: Vec<Chosen> = NETWORKS.iter().map(Chosen::of).filter_map(Result::transpose).collect::<Result<_, _>>()?;
    let mut table = Table::new([
        ("network", Align::Left),
        ("choice", Align::Left),
        ("stages", Align::Left),
        ("latency / para-only", Align::Right),
        ("throughput / para-only", Align::Right),
    ]);

    let mut groups = Vec::new();
    for chosen in &all {
        let mut bars = Vec::new();
        for (name, stages, measures) in chosen.rows() {
            let [latency, throughput] = measures.unwrap_or([f64::NAN; 2]);
            let text = |value: f64| if value.is_nan() { "-".to_owned() } else { format!("{value:.2}") };
            table.row([chosen.network.name.to_owned(), name.to_owned(), stages, text(latency), text(throughput)]);
            bars.push(if throughput.is_nan() { 0.0 } else { throughput });
        }
        groups.push((chosen.network.name.to_owned(), bars));
    }

    let counts: Vec<String> = all.iter().map(|chosen| format!("{} {}", chosen.network.name, chosen.points)).collect();
    let title = "Throughput of Para-Pipe's choices over para-only, on an NPU and two DSPs";
    let series =
        all.first().map_or(Vec::new(), |chosen| chosen.rows().iter().map(|(name, ..)| (*name).to_owned()).collect());
    let svg = BarChart { title, label: "throughput / para-only", series, groups }.to_svg()?;

    let section = Section {
        item: PaperItem::Figure(11),
        about: "Para-Pipe's choices on an NPU and two DSPs".to_owned(),
        kind: Kind::Assumed,
        table,
        notes: vec![
            "Speeds are those assumed for table 3; as in the paper, no operator is divided by channels. HEFT and CPOP map the network as a whole, layer-switched runs one operator after the other.".to_owned(),
            format!("Pipelines that the enumeration goes through: {}.", counts.join(", ")),
        ],
        claims: claims(&all),
    };
    Ok((vec![table_2::section(&all), section], Figure { file: "para-pipe-figure-11.svg".to_owned(), svg }))
}

const REFUSES_LITTLE: &str = "which operators the paper's NPU refuses is not printed; the assumed one refuses few, so that a stage of its own suits it";

/// The numbers of sections VII-C and VII-D.
fn claims(all: &[Chosen]) -> Vec<Claim> {
    let of = |chosen: &Chosen, name: &str, measure: &dyn Fn(&Plan) -> f64| chosen.plan(name).map_or(f64::NAN, measure);
    let throughput = |chosen: &Chosen, name: &str| of(chosen, name, &|plan| chosen.throughput(plan));
    let latency = |chosen: &Chosen, name: &str| of(chosen, name, &|plan| chosen.latency(plan));
    let over_all = |measure: &dyn Fn(&Chosen) -> f64| mean(&all.iter().map(measure).collect::<Vec<_>>());
    let gain = over_all(&|chosen| throughput(chosen, "hybrid-T") - 1.0);
    let quick = over_all(&|chosen| latency(chosen, "hybrid-L"));
    let better = over_all(&|chosen| 1.0 - chosen.para.latency.seconds() / chosen.lists);
    let faster = all.iter().filter(|chosen| throughput(chosen, "pipe-only") > 1.0).count();

    let mut claims = vec![
        Claim::number("more throughput of hybrid-T than of para-only, mean", gain, 0.162).because(SIMULATED),
        Claim::number("latency of hybrid-L over para-only, mean", quick, 1.0).because(SIMULATED),
        Claim::number("less latency of para-only than of HEFT & CPOP, mean", better, 0.155).because(SIMULATED),
        Claim::range("networks for which pipe-only has more throughput than para-only", faster as f64, [0.0, 2.0])
            .within(ClaimTolerance::Exact)
            .because(REFUSES_LITTLE),
    ];

    for chosen in all {
        let what = |what: &str| format!("{what}, {}", chosen.network.name);
        if chosen.network.model == "petr-like" {
            claims.push(
                Claim::number(what("latency of pipe-only over para-only"), latency(chosen, "pipe-only"), 5.7)
                    .because(REFUSES_LITTLE),
            );
            claims.push(
                Claim::number(what("throughput of pipe-only over para-only"), throughput(chosen, "pipe-only"), 0.314)
                    .because(REFUSES_LITTLE),
            );
        } else if chosen.network.model == "bevformer-like" {
            let stages = chosen.plan("pipe-only").map_or("infeasible".to_owned(), Plan::configuration);
            claims.push(Claim::choice(what("pipe-only"), stages, "infeasible").because(REFUSES_LITTLE));
        }
    }
    claims
}
