//! Figure 10: speedups over the CPU alone and the accelerator alone.

use millstream_report::{Align, BarChart, Table, percent};

use super::data::{LAYERS, PLATFORMS, PROCESSING_ELEMENTS, Platform, SPEEDUPS, STATED_ERROR, Speedups};
use crate::claim::Claim;
use crate::co_scheduling::outcome::Outcome;
use crate::evidence::ClaimTolerance;
use crate::paper::ReproduceError;
use crate::report::{Figure, Kind, Section};
use crate::selection::PaperItem;

/// Speedups on a platform, means over the layers.
struct Means {
    accelerator_over_cpu: f64,
    both_over_cpu: f64,
    both_over_accelerator: f64,
    /// How much less time the best split takes than the published one; the mean, and the most on one layer.
    gain: f64,
    largest_gain: f64,
}

impl Means {
    fn of(platform: &Platform, elements: u64) -> Self {
        let outcomes: Vec<Outcome> = LAYERS.into_iter().map(|layer| Outcome::of(platform, elements, layer)).collect();
        let mean = |ratio: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(ratio).sum::<f64>() / outcomes.len() as f64;
        let gain = |outcome: &Outcome| outcome.both_seconds() / outcome.exact_seconds - 1.0;
        Self {
            accelerator_over_cpu: mean(&|outcome| outcome.cpu_seconds / outcome.accelerator_seconds),
            both_over_cpu: mean(&|outcome| outcome.cpu_seconds / outcome.both_seconds()),
            both_over_accelerator: mean(&|outcome| outcome.accelerator_seconds / outcome.both_seconds()),
            gain: mean(&gain),
            largest_gain: outcomes.iter().map(gain).fold(0.0, f64::max),
        }
    }

    /// Our means beside the printed ranges.
    fn row(&self, platform: &Platform, elements: u64, printed: &Speedups) -> [String; 9] {
        [
            elements.to_string(),
            platform.name.to_owned(),
            format!("{:.2}", self.accelerator_over_cpu),
            range_text(printed.accelerator_over_cpu),
            format!("{:.2}", self.both_over_cpu),
            range_text(Some(printed.both_over_cpu)),
            format!("{:.2}", self.both_over_accelerator),
            range_text(Some(printed.both_over_accelerator)),
            percent(self.gain),
        ]
    }
}

fn range_text(range: Option<[f64; 2]>) -> String {
    range.map_or("-".to_owned(), |[low, high]| format!("{low:.2}-{high:.2}"))
}

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
            let found = Means::of(platform, elements);
            largest_gain = largest_gain.max(found.largest_gain);
            table.row(found.row(platform, elements, printed));
            let Means { accelerator_over_cpu, both_over_cpu, both_over_accelerator, .. } = found;
            let ratios = [accelerator_over_cpu, both_over_cpu, both_over_accelerator];
            means.iter_mut().zip(ratios).for_each(|(all, ratio)| all.push(ratio));
            bars.push((format!("{} / {elements}", platform.name), vec![1.0, accelerator_over_cpu, both_over_cpu]));
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
        item: PaperItem::Figure(10),
        about: "speedups, means over the 14 layers".to_owned(),
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
        Claim::number(what, ours, printed).within(ClaimTolerance::Stated(2.0 * STATED_ERROR)).because(reason)
    })
}
