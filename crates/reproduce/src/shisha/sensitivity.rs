//! Figures 7 and 8: the heuristics H1 to H6 on all systems.

use millstream_report::{Align, BarChart, Table};
use millstream_tune::{Configuration, Database, Heuristic, Shisha, Tuner, Tuning};

use super::systems::SYSTEMS;
use crate::claim::Claim;
use crate::paper::ReproduceError;
use crate::report::{Figure, Kind, Section};
use crate::selection::PaperItem;
use crate::shisha::case::{Case, Network, seconds};

fn run(case: &Case, heuristic: Heuristic) -> Result<Tuning<Configuration>, ReproduceError> {
    let shisha = Shisha { heuristic, ..Shisha::default() };
    Ok(shisha.tune(&case.space, &mut Database::new(case.times.clone()))?)
}

/// Figure 7: throughput of each heuristic, in terms of the best there is.
pub(super) fn heuristics() -> Result<(Section, Option<Figure>), ReproduceError> {
    let mut table = Table::new([
        ("network", Align::Left),
        ("system", Align::Left),
        ("H1", Align::Right),
        ("H2", Align::Right),
        ("H3", Align::Right),
        ("H4", Align::Right),
        ("H5", Align::Right),
        ("H6", Align::Right),
    ]);

    let mut groups = Vec::new();
    let mut wins = 0;
    for network in Network::ALL {
        for system in SYSTEMS {
            let case = Case::new(network, system)?;
            let shares = Heuristic::ALL
                .map(|heuristic| run(&case, heuristic).map(|tuning| case.throughput(tuning.trial.period)));
            let shares: Vec<f64> = shares.into_iter().collect::<Result<_, _>>()?;
            let best = shares.iter().copied().fold(0.0, f64::max);
            wins += usize::from(shares[0].max(shares[2]) >= best);
            let cell = |index: usize| format!("{:.3}", shares[index]);
            table.row([
                network.to_string(),
                system.name.to_owned(),
                cell(0),
                cell(1),
                cell(2),
                cell(3),
                cell(4),
                cell(5),
            ]);
            groups.push((format!("{} {}", &network.name()[..1], system.name), shares));
        }
    }

    let cases = Network::ALL.len() * SYSTEMS.len();
    let title = "Throughput of Shisha's heuristics over the best there is (R: ResNet50, Y: YOLOv3, S: SynthNet)";
    let series = Heuristic::ALL.map(|heuristic| heuristic.to_string()).to_vec();
    let svg = BarChart { title, label: "throughput / best", series, groups }.to_svg()?;

    let section = Section {
        item: PaperItem::Figure(7),
        about: "assignment and balancing, H1 to H6 on C1 to C5".to_owned(),
        kind: Kind::Assumed,
        table,
        notes: Vec::new(),
        claims: vec![Claim::number(
            "part of the cases in which H1 or H3 is the best, or as good",
            wins as f64 / cases as f64,
            0.8,
        )],
    };
    Ok((section, Some(Figure { file: "shisha-figure-7.svg".to_owned(), svg })))
}

/// Figure 8: time that H1 and H3 spend, over the shorter of both.
pub(super) fn convergence_of_two() -> Result<(Section, Option<Figure>), ReproduceError> {
    let mut table = Table::new([
        ("network", Align::Left),
        ("system", Align::Left),
        ("H1 s", Align::Right),
        ("H3 s", Align::Right),
        ("H1 / shorter", Align::Right),
        ("H3 / shorter", Align::Right),
    ]);

    let mut groups = Vec::new();
    let mut wins = 0;
    for network in [Network::ResNet50, Network::YoloV3] {
        for system in SYSTEMS {
            let case = Case::new(network, system)?;
            let [one, three] = [run(&case, Heuristic::ALL[0])?.spent, run(&case, Heuristic::H3)?.spent];
            let shorter = one.min(three).seconds();
            let shares = [one, three].map(|spent| spent.seconds() / shorter);
            wins += usize::from(three < one);
            table.row([
                network.to_string(),
                system.name.to_owned(),
                seconds(one),
                seconds(three),
                format!("{:.2}", shares[0]),
                format!("{:.2}", shares[1]),
            ]);
            groups.push((format!("{} {}", &network.name()[..1], system.name), shares.to_vec()));
        }
    }

    let title = "Time that H1 and H3 spend, over the shorter of both (R: ResNet50, Y: YOLOv3)";
    let series = vec!["H1".to_owned(), "H3".to_owned()];
    let svg = BarChart { title, label: "time / shorter", series, groups }.to_svg()?;
    let cases = 2 * SYSTEMS.len();

    let section = Section {
        item: PaperItem::Figure(8),
        about: "convergence of H1 and H3".to_owned(),
        kind: Kind::Assumed,
        table,
        notes: Vec::new(),
        claims: vec![Claim::number(
            "part of the cases in which H3 converges sooner than H1",
            wins as f64 / cases as f64,
            0.9,
        )],
    };
    Ok((section, Some(Figure { file: "shisha-figure-8.svg".to_owned(), svg })))
}
