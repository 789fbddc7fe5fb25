//! Figure 10: speedups over the CPU alone and the accelerator alone.

use millstream_report::{Align, BarChart, Table, percent};

use super::Outcome;
use super::data::{LAYERS, PLATFORMS, PROCESSING_ELEMENTS, SPEEDUPS, STATED_ERROR};
use crate::{Claim, Figure, Kind, ReproduceError, Section, Tolerance};

pub(super) fn section() -> Result<(Section, Figure), ReproduceError> {
    let mut table = Table::new([
        ("processing elements", Align::Right),
        ("platform", Align::Left),
        ("accelerator / CPU", Align::Right),
        ("paper's range", Align::Right),
        ("both / CPU", Align::Right),
        ("paper's range", Align::Right),
        ("both / accelerator", Align::Right),
        ("paper's range", Align::Right),
        ("exact split gains", Align::Right),
    ]);
    let mut claims = Vec::new();
    let mut bars = Vec::new();
    let mut largest_gain: f64 = 0.0;
    for (elements, printed) in PROCESSING_ELEMENTS.into_iter().zip(&SPEEDUPS) {
        let mut means: [Vec<f64>; 3] = Default::default();
        for platform in &PLATFORMS {
            let outcomes: Vec<Outcome> =
                LAYERS.into_iter().map(|layer| Outcome::of(platform, elements, layer)).collect();
            let mean =
                |ratio: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(ratio).sum::<f64>() / outcomes.len() as f64;
            let accelerator = mean(&|outcome| outcome.cpu_seconds / outcome.accelerator_seconds);
            let both = mean(&|outcome| outcome.cpu_seconds / outcome.both_seconds());
            let over_accelerator = mean(&|outcome| outcome.accelerator_seconds / outcome.both_seconds());
            let gain = |outcome: &Outcome| outcome.both_seconds() / outcome.exact_seconds - 1.0;
            largest_gain = outcomes.iter().map(gain).fold(largest_gain, f64::max);
            let range =
                |range: Option<[f64; 2]>| range.map_or("-".to_owned(), |[low, high]| format!("{low:.2}-{high:.2}"));
            table.row([
                elements.to_string(),
                platform.name.to_owned(),
                format!("{accelerator:.2}"),
                range(printed.accelerator_over_cpu),
                format!("{both:.2}"),
                range(Some(printed.both_over_cpu)),
                format!("{over_accelerator:.2}"),
                range(Some(printed.both_over_accelerator)),
                percent(mean(&gain)),
            ]);
            means.iter_mut().zip([accelerator, both, over_accelerator]).for_each(|(all, own)| all.push(own));
            bars.push((format!("{} / {elements}", platform.name), vec![1.0, accelerator, both]));
        }
        let ranges = [printed.accelerator_over_cpu, Some(printed.both_over_cpu), Some(printed.both_over_accelerator)];
        let names = ["the accelerator over the CPU", "both over the CPU", "both over the accelerator"];
        for ((what, range), means) in names.into_iter().zip(ranges).zip(&means) {
            claims.extend(range.into_iter().flat_map(|range| ends(what, elements, means, range)));
        }
    }
    let chart = BarChart {
        title: "Speed relative to the CPU alone, by platform / processing elements (figure 10)",
        label: "times the CPU's speed",
        series: ["CPU only", "accelerator only", "CPU + accelerator"].map(str::to_owned).to_vec(),
        groups: bars,
    };
    let figure = Figure { file: "co-scheduling-figure-10.svg".to_owned(), svg: chart.to_svg()? };
    let section = Section {
        title: "Figure 10: speedups, means over the 14 layers".to_owned(),
        kind: Kind::Computed,
        table,
        notes: vec![format!(
            "Equation 12 ignores that channels are computed in waves. The best split is up to {:.1} % faster on single layers.",
            100.0 * largest_gain
        )],
        claims,
    };
    Ok((section, figure))
}

/// A printed range is over the platforms: its ends are those of the slowest and of the fastest.
fn ends(what: &str, elements: u64, means: &[f64], [low, high]: [f64; 2]) -> [Claim; 2] {
    let least = means.iter().copied().fold(f64::INFINITY, f64::min);
    let most = means.iter().copied().fold(0.0, f64::max);
    [("least", least, low), ("largest", most, high)].map(|(which, ours, printed)| {
        let what = format!("{which} speedup of {what}, {elements} processing elements");
        let reason = (elements == 8 && high > 4.0 && which == "largest").then_some(
            "the models leave out what starting and interrupting costs, which weighs most where layers are shortest, with 8 processing elements",
        );
        Claim::number(what, ours, printed).within(Tolerance::Stated(2.0 * STATED_ERROR)).because(reason)
    })
}
