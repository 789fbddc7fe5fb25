//! Table 5: how long one side waits for the other.

use millstream_report::{Align, Table};

use super::data::{IDLE, LAYERS, PLATFORMS, PROCESSING_ELEMENTS};
use crate::claim::Claim;
use crate::co_scheduling::outcome::Outcome;
use crate::evidence::ClaimTolerance;
use crate::report::{Kind, Section};
use crate::selection::PaperItem;

/// The mean and the largest of table 5, as section IV-B prints them.
const MEAN: f64 = 0.0161;
const LARGEST: f64 = 0.0716;
/// Cells of table 5 that are underlined: there the accelerator waits.
const ACCELERATOR_WAITS: usize = 96;
const ROUNDED_UP: &str = "equation 12 rounds the accelerator's channels up, and by equation 2 its processing elements work in whole waves, so \
                          that by the models the CPU always waits; measured times contain what the models leave out, as much as is waited";

pub(super) fn section() -> Section {
    let mut table = Table::new([
        ("layer", Align::Right),
        ("platform", Align::Left),
        ("2 PEs: ours", Align::Right),
        ("paper's", Align::Right),
        ("4 PEs: ours", Align::Right),
        ("paper's", Align::Right),
        ("8 PEs: ours", Align::Right),
        ("paper's", Align::Right),
    ]);

    let mut idle = Vec::new();
    for (index, layer) in LAYERS.into_iter().enumerate() {
        for (platform, printed) in PLATFORMS.iter().zip(IDLE[index]) {
            let ours = PROCESSING_ELEMENTS.map(|elements| Outcome::of(platform, elements, layer).idle());
            let show = |place: usize| format!("{:.2} % {}", 100.0 * ours[place].0, ours[place].1);
            let paper = |place: usize| format!("{:.2} %", printed[place]);
            let name = platform.name.to_owned();
            table.row([index.to_string(), name, show(0), paper(0), show(1), paper(1), show(2), paper(2)]);
            idle.extend(ours);
        }
    }

    let mean = idle.iter().map(|(idle, _)| idle).sum::<f64>() / idle.len() as f64;
    let largest = idle.iter().map(|(idle, _)| *idle).fold(0.0, f64::max);
    let accelerator_waits = idle.iter().filter(|(_, who)| *who == "acc.").count();
    Section {
        item: PaperItem::Table(5),
        about: "part of the time that one side waits for the other".to_owned(),
        kind: Kind::Computed,
        table,
        notes: vec!["Ours has who waits.".to_owned()],
        claims: vec![
            Claim::number("mean part of the time that is waited", mean, MEAN).because(ROUNDED_UP),
            Claim::number("largest part of the time that is waited", largest, LARGEST).because(ROUNDED_UP),
            Claim::number("cells in which the accelerator waits", accelerator_waits as f64, ACCELERATOR_WAITS as f64)
                .within(ClaimTolerance::General)
                .because(ROUNDED_UP),
        ],
    }
}
