//! Figures 4 and 5: all searches beside each other.

use millstream_report::{Align, Axis, BarChart, Marks, Plot, Series, Table};
use millstream_tune::{
    Beliefs, Configuration, Database, Exhaustive, Heuristic, HillClimbing, ModelGuided, PipeSearch, RandomWalk, Shisha,
    SimulatedAnnealing, Start, Tuner, Tuning, Uncertainty,
};

use super::systems::SYSTEMS;
use crate::paper::ReproduceError;
use crate::shisha::case::{Case, NETWORKS, PREPARATION, divisions, seconds};
use crate::{Claim, ClaimTolerance, Evidence, Figure, Kind, Section};

/// Trials that the searches without an end of their own may run.
const TRIALS: usize = 300;
/// Trials of the random walk, which is run for longer.
const RANDOM_TRIALS: usize = 1000;
/// What the paper's searches know of layers when they begin: the sizes of layers, not their times.
const UNCERTAINTY: Uncertainty = Uncertainty { layer: 0.3, place: std::f64::consts::LN_2, noise: 0.01 };

const SHISHA: &str = "Shisha H3";
const GUIDED: &str = "model-guided (ours)";
const HEAVY_LAYERS: &str = "the paper's times are from a simulator and not printed; by ours, a few layers are so heavy that a stage of one of them on a slow \
                            place is the bottleneck, from where moving layers does not lead to the best";
const LOCAL: &str = "the paper's times are from a simulator and not printed; by ours, Shisha ends beside the best, where no single layer is left to move";
const FEW_GAINS: &str = "a search ends ten trials after its last gain, and by our times gains are few";
const PATIENCE: &str = "the paper ends Pipe-Search after a time that its user sets, and does not print the time";
const LIMIT: &str = "how long annealing and climbing may go on is not printed; here 300 trials";
/// Trials on four places (section 7.3), and which part of the divisions into stages they are, in per cent.
const TRIALS_OF_SHISHA: [f64; 2] = [25.0, 35.0];
const EXPLORED: f64 = 0.1;
const EXPLORED_SYNTHNET: f64 = 2.5;

type Found = (String, Tuning<Configuration>);

/// What searches on all systems are run with; exhaustive search would not end on most.
pub(super) fn systems() -> Result<Section, ReproduceError> {
    let mut table = Table::new([
        ("network", Align::Left),
        ("system", Align::Left),
        ("search", Align::Left),
        ("trials", Align::Right),
        ("simulated s", Align::Right),
        ("throughput / best", Align::Right),
    ]);

    for network in NETWORKS {
        for system in SYSTEMS {
            let case = Case::new(network, system)?;
            let mut tuners = published();
            let others = Heuristic::ALL.into_iter().filter(|&heuristic| heuristic != Heuristic::H3);
            tuners
                .extend(others.map(|heuristic| Box::new(Shisha { heuristic, ..Shisha::default() }) as Box<dyn Tuner>));
            let mut found = run(&case, &tuners)?;
            found.push(guided(&case)?);
            for (name, tuning) in found {
                table.row([
                    case.network.to_owned(),
                    system.name.to_owned(),
                    name,
                    tuning.trials.to_string(),
                    seconds(tuning.spent),
                    format!("{:.3}", case.throughput(tuning.trial.period)),
                ]);
            }
        }
    }

    Ok(Section {
        title: "Table 3: every search on the systems C1 to C5".to_owned(),
        kind: Kind::Assumed,
        table,
        notes: vec!["The best there is comes from the exact search.".to_owned()],
        claims: Vec::new(),
    })
}

fn published() -> Vec<Box<dyn Tuner>> {
    vec![
        Box::new(PipeSearch { preparation: PREPARATION, ..PipeSearch::default() }),
        Box::new(RandomWalk { trials: RANDOM_TRIALS, seed: 1 }),
        Box::new(SimulatedAnnealing { trials: TRIALS, seed: 1, ..SimulatedAnnealing::default() }),
        Box::new(SimulatedAnnealing {
            trials: TRIALS,
            seed: 1,
            start: Start::ShishaSeed,
            ..SimulatedAnnealing::default()
        }),
        Box::new(HillClimbing { trials: TRIALS, seed: 1, ..HillClimbing::default() }),
        Box::new(HillClimbing { trials: TRIALS, seed: 1, start: Start::ShishaSeed }),
        Box::new(Shisha::default()),
    ]
}

fn run(case: &Case, tuners: &[Box<dyn Tuner>]) -> Result<Vec<Found>, ReproduceError> {
    let found =
        tuners.iter().map(|tuner| Ok((tuner.name(), tuner.tune(&case.space, &mut Database::new(case.times.clone()))?)));
    found.collect()
}

fn guided(case: &Case) -> Result<Found, ReproduceError> {
    let mut beliefs = Beliefs::new(&case.space, case.system.prior(&case.space), UNCERTAINTY)?;
    let guided = ModelGuided::default().tune(&mut beliefs, &mut Database::new(case.times.clone()))?;
    Ok((GUIDED.to_owned(), guided))
}

/// Every search on a case, ours last.
fn searches(case: &Case) -> Result<Vec<Found>, ReproduceError> {
    let mut tuners: Vec<Box<dyn Tuner>> =
        vec![Box::new(Exhaustive { preparation: PREPARATION, ..Exhaustive::default() })];
    tuners.append(&mut published());
    let mut found = run(case, &tuners)?;
    found.push(guided(case)?);
    Ok(found)
}

/// Figure 4: throughput over time spent, SynthNet on eight places.
pub(super) fn convergence() -> Result<(Section, Option<Figure>), ReproduceError> {
    let case = Case::new(NETWORKS[2], SYSTEMS[4])?;
    let found = searches(&case)?;
    let mut table = Table::new([
        ("search", Align::Left),
        ("trials", Align::Right),
        ("of all", Align::Right),
        ("simulated s", Align::Right),
        ("until its best", Align::Right),
        ("throughput / best", Align::Right),
    ]);

    let all: u128 = (1..=case.space.most_stages()).map(|stages| case.space.configurations(stages)).sum();
    for (name, tuning) in &found {
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

    let slower = slower_than_shisha(&found);
    let claims = convergence_claims(&case, &found, slower);
    let lines = found.iter().map(|(name, tuning)| Series { name: name.clone(), points: course(&case, tuning) });

    let title = "SynthNet on eight places: the best throughput found so far";
    let svg = Plot {
        title,
        x: Axis { label: "simulated time spent [s]", is_logarithmic: true },
        y: Axis { label: "throughput over the best there is", is_logarithmic: false },
        series: lines.collect(),
        marks: Marks::Lines,
    }
    .to_svg()?;

    let section = Section {
        title: "Figure 4: convergence on SynthNet, eight places (C5)".to_owned(),
        kind: Kind::Assumed,
        table,
        notes: vec![
            format!(
                "The other searches, beside which Shisha's time is set, are annealing and climbing with {TRIALS} trials."
            ),
            "A trial runs ten frames. Listing a configuration for Pipe-Search and exhaustive search costs 29 ms, from the 1200 s that the \
             paper reports. The best there is comes from the exact search, which runs nothing."
                .to_owned(),
        ],
        claims,
    };
    Ok((section, Some(Figure { file: "shisha-figure-4.svg".to_owned(), svg })))
}

/// The best throughput found so far over the time spent, as steps.
fn course(case: &Case, tuning: &Tuning<Configuration>) -> Vec<(f64, f64)> {
    let improvements = tuning.improvements.iter();
    let points = improvements.map(|step| (step.spent.seconds(), case.throughput(step.period)));
    let end = (tuning.spent.seconds(), case.throughput(tuning.trial.period));
    steps(&points.chain([end]).collect::<Vec<_>>())
}

/// Mean time that annealing and climbing spend, over Shisha's.
fn slower_than_shisha(found: &[Found]) -> f64 {
    let spent = |starts: &[&str]| {
        let of = found.iter().filter(|(name, _)| starts.iter().any(|start| name.starts_with(start)));
        let times: Vec<f64> = of.map(|(_, tuning)| tuning.spent.seconds()).collect();
        times.iter().sum::<f64>() / times.len().max(1) as f64
    };
    spent(&["simulated", "hill"]) / spent(&["Shisha"])
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
fn convergence_claims(case: &Case, found: &[Found], slower: f64) -> Vec<Claim> {
    let of = |name: &str| found.iter().find(|(other, _)| other == name).map(|(_, tuning)| tuning);
    let reached = |name: &str| of(name).map_or(f64::NAN, |tuning| case.throughput(tuning.trial.period));
    let all = divisions(case.layers.len(), case.space.most_stages());
    let part = |name: &str| 100.0 * of(name).map_or(f64::NAN, |tuning| tuning.trials as f64) / all;
    vec![
        Claim::number("Shisha's throughput over that of exhaustive search, SynthNet on 8 places", reached(SHISHA), 1.0)
            .within(ClaimTolerance::Exact)
            .because(HEAVY_LAYERS),
        Claim::number("part of the divisions that Shisha tries, per cent", part(SHISHA), 0.12).because(FEW_GAINS),
        Claim::number("part of the divisions that Pipe-Search tries, per cent", part("Pipe-Search"), 2.03)
            .because(PATIENCE),
        Claim::number("time that other searches spend over Shisha's", slower, 35.0).because(LIMIT),
        Claim::range(
            "part of the best throughput that our model-guided search reaches, SynthNet on 8 places",
            reached(GUIDED),
            [0.99, 1.0],
        )
        .within(ClaimTolerance::Exact)
        .only(Evidence::NotInThePaper),
    ]
}

/// Checks of our own searches: nothing of the paper.
fn own_searches(case: &Case, guided: f64, best: f64) -> [Claim; 2] {
    let what =
        format!("part of the best throughput that our model-guided search reaches, {} on 4 places", case.network);
    let exact = format!("throughput of the exact search over that of exhaustive search, {}", case.network);
    [
        Claim::range(what, guided, [0.99, 1.0]).within(ClaimTolerance::Exact).only(Evidence::NotInThePaper),
        Claim::number(exact, best / case.optimum.seconds(), 1.0)
            .within(ClaimTolerance::Exact)
            .only(Evidence::SelfConsistency),
    ]
}

/// Figure 5: throughput over that of exhaustive search, on four places.
pub(super) fn optimality() -> Result<(Section, Option<Figure>), ReproduceError> {
    let mut table = Table::new([
        ("network", Align::Left),
        ("search", Align::Left),
        ("trials", Align::Right),
        ("simulated s", Align::Right),
        ("throughput / exhaustive", Align::Right),
    ]);

    let (mut claims, mut trials) = (Vec::new(), Vec::new());
    let mut groups = Vec::new();
    let mut series = Vec::new();
    for network in NETWORKS {
        let case = Case::new(network, SYSTEMS[1])?;
        let found = searches(&case)?;
        series = found.iter().map(|(name, _)| name.clone()).collect();
        let best = found[0].1.trial.period.seconds();
        let shares = found.iter().map(|(_, tuning)| best / tuning.trial.period.seconds());
        for ((name, tuning), share) in found.iter().zip(shares.clone()) {
            table.row([
                case.network.to_owned(),
                name.clone(),
                tuning.trials.to_string(),
                seconds(tuning.spent),
                format!("{share:.3}"),
            ]);
        }

        groups.push((case.network.to_owned(), shares.clone().collect()));
        let of = |name: &str| found.iter().position(|(other, _)| other == name);
        let share = |name: &str| of(name).and_then(|index| shares.clone().nth(index)).unwrap_or(f64::NAN);
        let what = format!("Shisha's throughput over that of exhaustive search, {} on 4 places", case.network);
        let reason = if network.1 == "synthnet" { HEAVY_LAYERS } else { LOCAL };
        claims.push(Claim::number(what, share(SHISHA), 1.0).within(ClaimTolerance::Exact).because(reason));
        let own = found.iter().find(|(name, _)| name == SHISHA).map_or(0, |(_, tuning)| tuning.trials);
        trials.push(own as f64);
        let part = 100.0 * own as f64 / divisions(case.layers.len(), case.space.most_stages());
        let what = format!("part of the divisions that Shisha tries, {}, per cent", case.network);
        let (printed, reason) =
            if network.1 == "synthnet" { (EXPLORED_SYNTHNET, Some(FEW_GAINS)) } else { (EXPLORED, None) };
        claims.push(Claim::number(what, part, printed).within(ClaimTolerance::Rounding(0.05)).because(reason));
        claims.extend(own_searches(&case, share(GUIDED), best));
    }

    let mean = trials.iter().sum::<f64>() / trials.len() as f64;
    claims.push(Claim::range("mean trials of Shisha on 4 places", mean, TRIALS_OF_SHISHA).because(FEW_GAINS));
    let title = "Throughput over that of exhaustive search, four places (C2)";
    let svg = BarChart { title, label: "throughput / exhaustive search", series, groups }.to_svg()?;

    let section = Section {
        title: "Figure 5: how near searches come to the best, four places (C2)".to_owned(),
        kind: Kind::Assumed,
        table,
        notes: Vec::new(),
        claims,
    };
    Ok((section, Some(Figure { file: "shisha-figure-5.svg".to_owned(), svg })))
}
