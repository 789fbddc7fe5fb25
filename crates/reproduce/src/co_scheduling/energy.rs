//! Figure 11: energy relative to the CPU alone.

use millstream_report::{Align, BarChart, Table};

use super::data::{LAYERS, PLATFORMS, PROCESSING_ELEMENTS};
use crate::claim::Claim;
use crate::co_scheduling::outcome::Outcome;
use crate::paper::ReproduceError;
use crate::report::{Figure, Kind, Section};
use crate::selection::PaperItem;

/// How much more power both draw than the CPU alone, and than the accelerator alone: at most, with 8 processing
/// elements (section IV-C).
const MORE_POWER: [f64; 2] = [0.018, 0.013];
/// Reduction of energy against the CPU alone and against the accelerator alone, over all platforms and versions.
const REDUCTION: [[f64; 2]; 2] = [[0.480, 0.798], [0.149, 0.497]];

pub(super) fn section() -> Result<(Section, Figure), ReproduceError> {
    let mut table = Table::new([
        ("processing elements", Align::Right),
        ("platform", Align::Left),
        ("less than the CPU", Align::Right),
        ("less than the accelerator", Align::Right),
    ]);

    let mut groups = Vec::new();
    let mut reductions: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
    let percent = |value: f64| format!("{:.1} %", 100.0 * value);
    for elements in PROCESSING_ELEMENTS {
        for platform in &PLATFORMS {
            let outcomes: Vec<Outcome> =
                LAYERS.into_iter().map(|layer| Outcome::of(platform, elements, layer)).collect();
            let mean =
                |ratio: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(ratio).sum::<f64>() / outcomes.len() as f64;
            // Power is printed only as a bound; what is bought by more processing elements grows with them.
            let more = MORE_POWER.map(|most| 1.0 + most * elements as f64 / 8.0);
            let over_cpu = more[0] * mean(&|outcome| outcome.both_seconds() / outcome.cpu_seconds);
            let over_accelerator = more[1] * mean(&|outcome| outcome.both_seconds() / outcome.accelerator_seconds);
            let reduced = [1.0 - over_cpu, 1.0 - over_accelerator];
            table.row([elements.to_string(), platform.name.to_owned(), percent(reduced[0]), percent(reduced[1])]);
            reductions.iter_mut().zip(reduced).for_each(|(all, reduction)| all.push(reduction));
            groups.push((format!("{} / {elements}", platform.name), vec![1.0, over_cpu / over_accelerator, over_cpu]));
        }
    }

    let mut claims = Vec::new();
    for ((what, printed), all) in ["the CPU", "the accelerator"].into_iter().zip(REDUCTION).zip(&reductions) {
        let extremes = [all.iter().copied().fold(f64::INFINITY, f64::min), all.iter().copied().fold(0.0, f64::max)];
        for ((which, ours), paper) in ["least", "most"].into_iter().zip(extremes).zip(printed) {
            claims.push(Claim::number(format!("{which} part of the energy saved against {what}"), ours, paper));
        }
    }

    let chart = BarChart {
        title: "Energy relative to the CPU alone, by platform / processing elements (figure 11)",
        label: "energy / CPU only",
        series: ["CPU only", "accelerator only", "CPU + accelerator"].map(str::to_owned).to_vec(),
        groups,
    };
    let figure = Figure { file: "co-scheduling-figure-11.svg".to_owned(), svg: chart.to_svg()? };

    let section = Section {
        item: PaperItem::Figure(11),
        about: "energy saved, means over the 14 layers".to_owned(),
        kind: Kind::Computed,
        table,
        notes: vec![
            "The paper measures the platform's power and prints only that both together draw at most 1.8 % more than the CPU and 1.3 % more than \
             the accelerator, with 8 processing elements; that is taken to grow with these. Time does the rest. In print: 48.0-79.8 % and \
             14.9-49.7 %."
                .to_owned(),
        ],
        claims,
    };
    Ok((section, figure))
}
