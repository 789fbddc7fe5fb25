//! Equations 8 to 13 and figure 9: which granularity is the best for how much work.

use millstream_predict::Line;
use millstream_predict::published::{Granularity, GranularityModel};
use millstream_report::{Align, Axis, Marks, Plot, Series, Table};

use crate::claim::Claim;
use crate::evidence::ClaimTolerance;
use crate::paper::ReproduceError;
use crate::report::{Figure, Kind, Section};
use crate::selection::PaperItem;

/// Regions of figure 9 with an order of their own, and two of these orders, the slowest first (section 6.3).
const REGIONS: usize = 7;
const FIRST: &str = "1, 2, 16, 8, 4, 32";
const FOURTH: &str = "1, 2, 32, 16, 8, 4";
/// How much faster than the finest the best granularity is in print, at most.
const MOST_GAIN: f64 = 4.0;

/// Where an order begins, in multiply-accumulates, and the order, the slowest first.
fn orders(model: &GranularityModel) -> Vec<(f64, String)> {
    let lines: Vec<(Granularity, Line)> =
        model.lines().iter().map(|(&granularity, &line)| (granularity, line)).collect();
    let mut starts = vec![0.0];
    for (index, (_, one)) in lines.iter().enumerate() {
        starts.extend(lines[index + 1..].iter().filter_map(|(_, other)| one.crossing(*other)).filter(|&at| at > 0.0));
    }
    starts.sort_by(f64::total_cmp);
    let order = |index: usize| {
        let start = starts[index];
        let within = starts.get(index + 1).map_or(2.0 * start, |&next| f64::midpoint(start, next));
        let mut lines = lines.clone();
        lines.sort_by(|(_, one), (_, other)| other.at(within).total_cmp(&one.at(within)));
        lines.iter().map(|(granularity, _)| granularity.0.to_string()).collect::<Vec<_>>().join(", ")
    };
    (0..starts.len()).map(|index| (starts[index], order(index))).collect()
}

pub(super) fn section(model: &GranularityModel) -> Section {
    let orders = orders(model);
    let mut table = Table::new([("from MACs", Align::Right), ("granularities, the slowest first", Align::Left)]);
    for (from, order) in &orders {
        table.row([format!("{from:.3e}"), order.clone()]);
    }
    let order = |index: usize| orders.get(index).map_or(String::new(), |(_, order)| order.clone());
    let never = model.regions().iter().filter(|(_, best)| best.0 <= 2).count();
    // The gain is the largest where the overhead of threads is all there is.
    let start = |granularity: u32| model.seconds(Granularity(granularity), 0).unwrap_or(f64::NAN);
    let gain = start(1) / model.best(0).map_or(f64::NAN, |best| start(best.0));
    Section {
        item: PaperItem::Other("Equations 8-13, figure 9"),
        about: "the best granularity by work, at 1497 MHz".to_owned(),
        kind: Kind::Computed,
        table,
        notes: Vec::new(),
        claims: vec![
            Claim::count("regions with an order of their own", orders.len(), REGIONS),
            Claim::choice("order in the first region, A", order(0), FIRST),
            Claim::choice("order in the fourth region, D", order(3), FOURTH),
            Claim::count("regions in which granularity 1 or 2 is the best", never, 0),
            Claim::number("how much faster than the finest the best is, at most", gain, MOST_GAIN).because(
                "the printed gain is of single layers as measured; the printed lines are nowhere further apart than this",
            ),
        ],
    }
}

/// Equation 6: the line for granularity 1 at 900 MHz, in milliseconds.
const AT_900_MEGAHERTZ: (f64, f64, f64) = (0.9e9, 2.82e-6, 13.49);

/// Equation 14 beside the line that the paper fitted at another frequency.
pub(super) fn frequencies(model: &GranularityModel) -> Section {
    let (hertz, slope, intercept) = AT_900_MEGAHERTZ;
    let scaled = model.at_frequency(hertz);
    let mut table = Table::new([
        ("900 MHz, granularity 1", Align::Left),
        ("scaled from 1497 MHz (eq. 14)", Align::Right),
        ("fitted in the paper (eq. 6)", Align::Right),
        ("difference", Align::Right),
    ]);
    let line = scaled.lines().get(&Granularity(1)).copied().unwrap_or(Line::new(f64::NAN, f64::NAN));
    let mut claims = Vec::new();
    for (what, ours, paper) in [("ms per MAC", line.slope * 1e3, slope), ("ms", line.intercept * 1e3, intercept)] {
        let claim = Claim::number(format!("line at 900 MHz, {what}"), ours, paper).within(ClaimTolerance::General);
        let difference = millstream_report::percent(claim.difference());
        table.row([what.to_owned(), format!("{ours:.3e}"), format!("{paper:.3e}"), difference]);
        claims.push(claim);
    }
    Section {
        item: PaperItem::Other("Equation 14"),
        about: "scaling between frequencies".to_owned(),
        kind: Kind::Computed,
        table,
        notes: vec!["The paper expects such a scaling to be good enough for choosing, not to be exact.".to_owned()],
        claims,
    }
}

pub(super) fn figure(model: &GranularityModel) -> Result<Figure, ReproduceError> {
    let points =
        |line: &Line| (0..=30).map(|step| f64::from(step) * 1e6).map(|macs| (macs, 1e3 * line.at(macs))).collect();
    let series = model
        .lines()
        .iter()
        .map(|(granularity, line)| Series { name: format!("granularity {}", granularity.0), points: points(line) })
        .collect();
    let plot = Plot {
        title: "Time by work and granularity, Nexus 5 at 1497 MHz (figure 9)",
        x: Axis { label: "multiply-accumulates", is_logarithmic: false },
        y: Axis { label: "ms", is_logarithmic: false },
        marks: Marks::Lines,
        series,
    };
    Ok(Figure { file: "granularity-figure-9.svg".to_owned(), svg: plot.to_svg()? })
}
