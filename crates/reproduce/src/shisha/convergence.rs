//! Figure 4: how soon searches find what they find.

use millstream_report::{Align, Axis, Marks, Plot, Series, Table};
use millstream_tune::{Configuration, Tuning};

use super::systems::C5;
use crate::claim::Claim;
use crate::evidence::{ClaimTolerance, Evidence};
use crate::paper::ReproduceError;
use crate::report::{Figure, Kind, Section};
use crate::selection::PaperItem;
use crate::shisha::case::{Case, Network, divisions, seconds};
use crate::shisha::searches::{Algorithm, FEW_GAINS, Found, HEAVY_LAYERS, TRIALS, of, run_all};

const PATIENCE: &str = "the paper ends Pipe-Search after a time that its user sets, and does not print the time";
const LIMIT: &str = "how long annealing and climbing may go on is not printed; here 300 trials";

/// Throughput over time spent, SynthNet on eight places.
pub(super) fn section() -> Result<(Section, Option<Figure>), ReproduceError> {
    let case = Case::new(Network::SynthNet, C5)?;
    let found = run_all(&case)?;
    let section = Section {
        item: PaperItem::Figure(4),
        about: "convergence on SynthNet, eight places (C5)".to_owned(),
        kind: Kind::Assumed,
        table: table(&case, &found),
        notes: vec![
            format!(
                "The other searches, beside which Shisha's time is set, are annealing and climbing with {TRIALS} trials."
            ),
            "A trial runs ten frames. Listing a configuration for Pipe-Search and exhaustive search costs 29 ms, from the 1200 s that the \
             paper reports. The best there is comes from the exact search, which runs nothing."
                .to_owned(),
        ],
        claims: claims(&case, &found),
    };
    Ok((section, Some(figure(&case, &found)?)))
}

fn table(case: &Case, found: &[Found]) -> Table {
    let mut table = Table::new([
        ("search", Align::Left),
        ("trials", Align::Right),
        ("of all", Align::Right),
        ("simulated s", Align::Right),
        ("until its best", Align::Right),
        ("throughput / best", Align::Right),
    ]);

    let all: u128 = (1..=case.space.most_stages()).map(|stages| case.space.configurations(stages)).sum();
    for Found { name, tuning, .. } in found {
        let last = tuning.improvements.last().map_or(tuning.spent, |last| last.spent);
        table.row([
            name.clone(),
            tuning.trials.to_string(),
            format!("{:.4} %", 100.0 * tuning.trials as f64 / all as f64),
            seconds(tuning.spent),
            seconds(last),
            format!("{:.3}", case.throughput(tuning.trial.period)),
        ]);
    }
    table
}

fn figure(case: &Case, found: &[Found]) -> Result<Figure, ReproduceError> {
    let lines = found.iter().map(|result| Series { name: result.name.clone(), points: course(case, &result.tuning) });
    let svg = Plot {
        title: "SynthNet on eight places: the best throughput found so far",
        x: Axis { label: "simulated time spent [s]", is_logarithmic: true },
        y: Axis { label: "throughput over the best there is", is_logarithmic: false },
        series: lines.collect(),
        marks: Marks::Lines,
    }
    .to_svg()?;
    Ok(Figure { file: "shisha-figure-4.svg".to_owned(), svg })
}

/// The best throughput found so far over the time spent, as steps.
fn course(case: &Case, tuning: &Tuning<Configuration>) -> Vec<(f64, f64)> {
    let improvements = tuning.improvements.iter();
    let points = improvements.map(|step| (step.spent.seconds(), case.throughput(step.period)));
    let end = (tuning.spent.seconds(), case.throughput(tuning.trial.period));
    steps(&points.chain([end]).collect::<Vec<_>>())
}

/// A staircase through the points.
fn steps(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut stairs: Vec<(f64, f64)> = Vec::new();
    for &(x, y) in points {
        if let Some(&(_, before)) = stairs.last() {
            stairs.push((x, before));
        }
        stairs.push((x, y));
    }
    stairs
}

/// What Shisha and Pipe-Search reach and try on SynthNet (section 7.2).
fn claims(case: &Case, found: &[Found]) -> Vec<Claim> {
    let tuning = |search| of(found, search).map(|result| &result.tuning);
    let reached = |search| tuning(search).map_or(f64::NAN, |tuned| case.throughput(tuned.trial.period));
    let all = divisions(case.layers.len(), case.space.most_stages());
    let part = |search| 100.0 * tuning(search).map_or(f64::NAN, |tuned| tuned.trials as f64) / all;
    let what = "part of the best throughput that our model-guided search reaches, SynthNet on 8 places";
    vec![
        Claim::number(
            "Shisha's throughput over that of exhaustive search, SynthNet on 8 places",
            reached(Algorithm::SHISHA),
            1.0,
        )
        .within(ClaimTolerance::Exact)
        .because(HEAVY_LAYERS),
        Claim::number("part of the divisions that Shisha tries, per cent", part(Algorithm::SHISHA), 0.12)
            .because(FEW_GAINS),
        Claim::number("part of the divisions that Pipe-Search tries, per cent", part(Algorithm::PipeSearch), 2.03)
            .because(PATIENCE),
        Claim::number("time that other searches spend over Shisha's", slower_than_shisha(found), 35.0).because(LIMIT),
        Claim::range(what, reached(Algorithm::ModelGuided), [0.99, 1.0])
            .within(ClaimTolerance::Exact)
            .only(Evidence::NotInThePaper),
    ]
}

/// Mean time that annealing and climbing spend, over Shisha's.
fn slower_than_shisha(found: &[Found]) -> f64 {
    let spent = |is_meant: fn(Algorithm) -> bool| {
        let meant = found.iter().filter(|result| is_meant(result.search));
        let times: Vec<f64> = meant.map(|result| result.tuning.spent.seconds()).collect();
        times.iter().sum::<f64>() / times.len().max(1) as f64
    };
    let others = spent(|search| matches!(search, Algorithm::Annealing(_) | Algorithm::HillClimbing(_)));
    others / spent(|search| matches!(search, Algorithm::Shisha(_)))
}
