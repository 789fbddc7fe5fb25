//! Figure 9: what passing frames between chiplets may take.

use millstream_cost::Nanoseconds;
use millstream_report::{Align, Axis, Marks, Plot, Series, Table};
use millstream_tune::{Database, Oracle, Shisha, Tuner};

use super::systems::C5;
use crate::claim::Claim;
use crate::paper::ReproduceError;
use crate::report::{Figure, Kind, Section};
use crate::selection::PaperItem;
use crate::shisha::case::{Case, Network, seconds};

/// Up to this, the paper sees no effect.
const HARMLESS: Nanoseconds = Nanoseconds(1_000_000);

pub(super) fn latency() -> Result<(Section, Option<Figure>), ReproduceError> {
    let case = Case::new(Network::SynthNet, C5)?;
    let best = Shisha::default().tune(&case.space, &mut Database::new(case.times.clone()))?.best;
    let mut table = Table::new([
        ("latency s", Align::Right),
        ("throughput, solution kept", Align::Right),
        ("throughput, searched again", Align::Right),
    ]);

    let without = case.times.period(&best).seconds();
    let mut lines = [Vec::new(), Vec::new()];
    let mut claims = Vec::new();
    for exponent in 0..=9 {
        let transfer = Nanoseconds(10_u64.pow(exponent));
        let mut database = Database::new(case.times.clone()).with_transfer(transfer);
        let kept = without / database.measure(&best)?.period.seconds();
        let again = without / Shisha::default().tune(&case.space, &mut database)?.trial.period.seconds();
        table.row([format!("{:.0e}", transfer.seconds()), format!("{kept:.3}"), format!("{again:.3}")]);
        for (line, value) in lines.iter_mut().zip([kept, again]) {
            line.push((transfer.seconds(), value));
        }
        if transfer == HARMLESS {
            let what = format!("throughput with {} s between chiplets over that without", seconds(transfer));
            claims.push(Claim::number(what, kept, 1.0));
        }
    }

    let [kept, again] = lines;
    let svg = Plot {
        title: "SynthNet on eight places (C5) with slow links between chiplets",
        x: Axis { label: "latency between chiplets [s]", is_logarithmic: true },
        y: Axis { label: "throughput over that without latency", is_logarithmic: false },
        series: vec![
            Series { name: "solution kept".to_owned(), points: kept },
            Series { name: "searched again".to_owned(), points: again },
        ],
        marks: Marks::Lines,
    }
    .to_svg()?;

    let section = Section {
        item: PaperItem::Figure(9),
        about: "latency between chiplets, SynthNet, eight places (C5)".to_owned(),
        kind: Kind::Assumed,
        table,
        notes: vec!["The paper: latencies up to 1 ms leave the throughput as it is.".to_owned()],
        claims,
    };
    Ok((section, Some(Figure { file: "shisha-figure-9.svg".to_owned(), svg })))
}
