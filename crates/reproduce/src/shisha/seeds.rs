//! Figure 6: what Shisha's seed is worth.

use millstream_report::{Align, Axis, Marks, Plot, Series, Table};
use millstream_tune::{Configuration, Database, Shisha, Tuner, Tuning, random_configuration};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::systems::C5;
use crate::claim::Claim;
use crate::paper::ReproduceError;
use crate::report::{Figure, Kind, Section};
use crate::selection::PaperItem;
use crate::shisha::case::{Case, Network, seconds};

/// Random seeds of the figure.
const SEEDS: u64 = 100;

/// Section 7.4: how much longer random seeds take for ResNet50, and how much less throughput they lead to for YOLOv3.
const LONGER: f64 = 0.35;
const BETTER: f64 = 0.16;
const WIDE: &str = "how the paper draws its random seeds is not described; ours are divisions and places of all kinds, and some of them end soon, and badly";

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// What section 7.4 says of a network: how much better Shisha's seed leads, how much longer random ones take, and how
/// often.
fn claims_of(
    network: Network,
    tuned: &Tuning<Configuration>,
    others: &[Tuning<Configuration>],
    throughput: impl Fn(&Tuning<Configuration>) -> f64,
) -> Vec<Claim> {
    let reached = mean(&others.iter().map(&throughput).collect::<Vec<_>>());
    let better = throughput(tuned) / reached - 1.0;
    let spent = mean(&others.iter().map(|other| other.spent.seconds()).collect::<Vec<_>>());
    let longer = spent / tuned.spent.seconds() - 1.0;
    let sooner = others.iter().filter(|other| tuned.spent < other.spent).count();
    let of = |what: &str| format!("{what}, {network}");
    match network {
        Network::ResNet50 => vec![
            Claim::number(of("throughput from Shisha's seed over that from random ones"), 1.0 + better, 1.0)
                .because(WIDE),
            Claim::number(of("how much longer random seeds take"), longer, LONGER).because(WIDE),
        ],
        Network::YoloV3 | Network::SynthNet => vec![
            Claim::number(of("how much more throughput Shisha's seed leads to than random ones"), better, BETTER)
                .because(WIDE),
            Claim::count(of("random seeds that take longer, of 100"), sooner, others.len()).because(WIDE),
        ],
    }
}

/// Shisha on one network from its own seed, and from random ones.
struct Searches {
    case: Case,
    tuned: Tuning<Configuration>,
    others: Vec<Tuning<Configuration>>,
}

impl Searches {
    fn of(network: Network) -> Result<Self, ReproduceError> {
        let case = Case::new(network, C5)?;
        let shisha = Shisha::default();
        let tuned = shisha.tune(&case.space, &mut Database::new(case.times.clone()))?;

        let mut random = ChaCha8Rng::seed_from_u64(6);
        let mut others: Vec<Tuning<Configuration>> = Vec::new();
        for _ in 0..SEEDS {
            let start = random_configuration(&case.space, &mut random);
            others.push(shisha.tune_from(&case.space, start, &mut Database::new(case.times.clone()))?);
        }
        Ok(Self { case, tuned, others })
    }

    /// Throughput of the seed, over the best there is.
    fn first(&self, tuning: &Tuning<Configuration>) -> f64 {
        tuning.improvements.first().map_or(0.0, |first| self.case.throughput(first.period))
    }

    /// Throughput of what was found, likewise.
    fn last(&self, tuning: &Tuning<Configuration>) -> f64 {
        self.case.throughput(tuning.trial.period)
    }

    /// A row of means over some searches.
    fn row(&self, seed: &str, tunings: &[Tuning<Configuration>]) -> [String; 6] {
        let of = |value: &dyn Fn(&Tuning<Configuration>) -> f64| mean(&tunings.iter().map(value).collect::<Vec<_>>());
        [
            self.case.network.to_string(),
            seed.to_owned(),
            format!("{:.3}", of(&|tuning| self.first(tuning))),
            format!("{:.3}", of(&|tuning| self.last(tuning))),
            format!("{:.1}", of(&|tuning| tuning.trials as f64)),
            format!("{:.1}", of(&|tuning| tuning.spent.seconds())),
        ]
    }

    fn series(&self) -> [Series; 2] {
        let Self { case, tuned, others } = self;
        let point = |tuning: &Tuning<Configuration>| (tuning.spent.seconds(), self.last(tuning));
        [
            Series { name: format!("{}, random seeds", case.network), points: others.iter().map(point).collect() },
            Series {
                name: format!("{}, Shisha's seed ({} s)", case.network, seconds(tuned.spent)),
                points: vec![point(tuned)],
            },
        ]
    }
}

pub(super) fn seeds() -> Result<(Section, Option<Figure>), ReproduceError> {
    let mut table = Table::new([
        ("network", Align::Left),
        ("seed", Align::Left),
        ("seed's throughput / best", Align::Right),
        ("found / best", Align::Right),
        ("trials", Align::Right),
        ("simulated s", Align::Right),
    ]);
    let (mut series, mut claims) = (Vec::new(), Vec::new());
    for network in [Network::ResNet50, Network::YoloV3] {
        let searches = Searches::of(network)?;
        let Searches { case, tuned, others } = &searches;
        claims.extend(claims_of(case.network, tuned, others, |tuning| searches.last(tuning)));
        table.row(searches.row("Shisha's", std::slice::from_ref(tuned)));
        table.row(searches.row("100 random ones, mean", others));
        series.extend(searches.series());
    }

    let svg = Plot {
        title: "Shisha from its own seed and from random ones, eight places (C5)",
        x: Axis { label: "simulated time spent [s]", is_logarithmic: true },
        y: Axis { label: "throughput over the best there is", is_logarithmic: false },
        series,
        marks: Marks::Dots,
    }
    .to_svg()?;
    let section = Section {
        item: PaperItem::Figure(6),
        about: "Shisha's seed against random ones, eight places (C5)".to_owned(),
        kind: Kind::Assumed,
        table,
        notes: Vec::new(),
        claims,
    };
    Ok((section, Some(Figure { file: "shisha-figure-6.svg".to_owned(), svg })))
}
