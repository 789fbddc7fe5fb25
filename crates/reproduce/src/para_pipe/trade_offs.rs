//! What figures 2 and 10 say in numbers: latency for throughput, and energy (sections I, VII-B, VII-C and VII-E).

use millstream_report::{Align, Table};

use super::baselines::Baseline;
use crate::claim::Claim;
use crate::para_pipe::choices::{ASSUMPTIONS, Choices, mean};
use crate::report::{Kind, Section};
use crate::selection::PaperItem;

/// Why latencies, throughputs and stages miss.
pub(super) const TIMES: &str =
    "times of the small cluster, of the GPU and of copies follow from similar boards or are assumed";
/// Why energies miss.
pub(super) const POWER: &str =
    "the power of the GPU is assumed, and what processors draw while they wait is not known and counts as nothing";

/// All that figure 10 and its text say.
pub(super) fn claims(all: &[Choices]) -> Vec<Claim> {
    means(all).into_iter().chain(counts(all)).chain(of_inception_v4(all)).collect()
}

/// The means of sections VII-C and VII-E.
fn means(all: &[Choices]) -> Vec<Claim> {
    let claim = |what: &str, of: &dyn Fn(&Choices) -> f64, printed: f64, reason: Option<&'static str>| {
        let ours = mean(&all.iter().map(of).collect::<Vec<_>>());
        Claim::number(format!("{what}, mean"), ours, printed).because(reason)
    };
    let less_throughput = |case: &Choices, name: &str| 1.0 - case.throughput(name) / case.throughput("pipe-only");
    let less_latency = |case: &Choices, name: &str| 1.0 - case.latency(name) / case.latency("pipe-only");
    let more_frames = |case: &Choices, name: &str, than: &str| case.efficiency(name) / case.efficiency(than) - 1.0;

    let mut claims = vec![
        claim("more latency of pipe-only than of para-only", &|case| case.latency("pipe-only") - 1.0, 1.138, None),
        claim(
            "less throughput of para-only than of pipe-only",
            &|case| less_throughput(case, "para-only"),
            0.266,
            None,
        ),
        claim(
            "less throughput of hybrid-L than of pipe-only",
            &|case| less_throughput(case, "hybrid-L"),
            0.124,
            Some(TIMES),
        ),
        claim("less latency of hybrid-L than of pipe-only", &|case| less_latency(case, "hybrid-L"), 0.360, None),
        claim("less throughput of hybrid-T than of pipe-only", &|case| less_throughput(case, "hybrid-T"), 0.073, None),
        claim("less latency of hybrid-T than of pipe-only", &|case| less_latency(case, "hybrid-T"), 0.268, None),
        claim(
            "less latency of para-only than of HEFT & CPOP",
            &|case| 1.0 - 1.0 / case.baseline(case.lists)[0],
            0.109,
            Some(TIMES),
        ),
    ];

    for (name, than, printed) in [
        ("pipe-only", "para-only", 0.122),
        ("hybrid-L", "para-only", 0.167),
        ("hybrid-T", "para-only", 0.233),
        ("hybrid-L", "pipe-only", 0.087),
        ("hybrid-T", "pipe-only", 0.110),
    ] {
        let what = format!("more frames per joule of {name} than of {than}");
        claims.push(claim(&what, &|case| more_frames(case, name, than), printed, Some(POWER)));
    }

    let fewer = |case: &Choices, baseline: Baseline| 1.0 - case.baseline(baseline)[2];
    let what = "fewer frames per joule of layer-switched than of para-only";
    claims.push(claim(what, &|case| fewer(case, case.layer_switched), 0.245, Some(POWER)));
    let what = "fewer frames per joule of HEFT & CPOP than of para-only";
    claims.push(claim(what, &|case| fewer(case, case.lists), 0.080, Some(POWER)));
    claims
}

/// What the text says of all networks: which stages hybrids have (section VII-B), and who has more frames per joule.
fn counts(all: &[Choices]) -> Vec<Claim> {
    let stages = ["B4+s2-G1", "G1-B4+s2"];
    let with = |name: &str| {
        let is_so = |choices: &&Choices| stages.contains(&choices.plan(name).configuration().as_str());
        let ours = all.iter().filter(is_so).count();
        let what = format!("networks for which {name} has a stage of both clusters and one of the GPU");
        Claim::count(what, ours, all.len()).because(TIMES)
    };
    let more = all.iter().filter(|choices| choices.efficiency("pipe-only") > 1.0).count();
    vec![
        with("hybrid-L"),
        with("hybrid-T"),
        Claim::count("networks for which pipe-only gives more frames per joule than para-only", more, all.len()),
    ]
}

/// Section VII-E, hybrid-T beside pipe-only for Inception-v4.
fn of_inception_v4(all: &[Choices]) -> Vec<Claim> {
    let Some(choices) = all.iter().find(|choices| choices.network.model == "inception-v4") else { return Vec::new() };
    let over = |of: &dyn Fn(&str) -> f64| of("hybrid-T") / of("pipe-only") - 1.0;
    let claim = |what: &str, ours: f64, printed: f64, reason: Option<&'static str>| {
        Claim::number(format!("{what} of hybrid-T than of pipe-only, Inception-v4"), ours, printed).because(reason)
    };
    vec![
        claim("more throughput", over(&|name| choices.throughput(name)), 0.004, Some(TIMES)),
        claim("less latency", -over(&|name| choices.latency(name)), 0.333, None),
        claim("fewer frames per joule", -over(&|name| choices.efficiency(name)), 0.017, Some(POWER)),
    ]
}

/// Figure 2, of which the text has two numbers.
pub(super) fn figure_2(all: &[Choices]) -> Option<Section> {
    let choices = all.iter().find(|choices| choices.network.model == "inception-v3")?;
    let (latency, throughput) = (choices.latency("pipe-only") - 1.0, 1.0 - 1.0 / choices.throughput("pipe-only"));
    let mut table = Table::new([("Inception-v3", Align::Left), ("ours", Align::Right), ("paper's", Align::Right)]);
    let mut claims = Vec::new();
    for (what, ours, printed) in [
        ("more latency of pipe-only than of para-only", latency, 1.15),
        ("less throughput of para-only than of pipe-only", throughput, 0.26),
    ] {
        let percent = |value: f64| format!("{:.0} %", 100.0 * value);
        table.row([what.to_owned(), percent(ours), percent(printed)]);
        claims.push(Claim::number(format!("{what}, Inception-v3"), ours, printed).because(TIMES));
    }
    Some(Section {
        item: PaperItem::Figure(2),
        about: "what pipelines cost and give on Khadas VIM3".to_owned(),
        kind: Kind::Calibrated,
        table,
        notes: vec![ASSUMPTIONS.to_owned()],
        claims,
    })
}
