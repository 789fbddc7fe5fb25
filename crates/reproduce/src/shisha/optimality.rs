//! Figure 5: how near searches come to what exhaustive search finds.

use millstream_report::{Align, BarChart, Table};

use super::systems::C2;
use crate::claim::Claim;
use crate::evidence::{ClaimTolerance, Evidence};
use crate::paper::ReproduceError;
use crate::report::{Figure, Kind, Section};
use crate::selection::PaperItem;
use crate::shisha::case::{Case, Network, divisions, seconds};
use crate::shisha::searches::{Algorithm, FEW_GAINS, Found, HEAVY_LAYERS, of, run_all};

const LOCAL: &str = "the paper's times are from a simulator and not printed; by ours, Shisha ends beside the best, where no single layer is left to move";
/// Trials on four places (section 7.3), and which part of the divisions into stages they are, in per cent.
const TRIALS_OF_SHISHA: [f64; 2] = [25.0, 35.0];
const EXPLORED: f64 = 0.1;
const EXPLORED_SYNTHNET: f64 = 2.5;

/// What all searches find of a network on four places.
struct Searched {
    case: Case,
    found: Vec<Found>,
    /// The shortest period that exhaustive search finds, in seconds.
    best: f64,
}

impl Searched {
    fn of(network: Network) -> Result<Self, ReproduceError> {
        let case = Case::new(network, C2)?;
        let found = run_all(&case)?;
        let best = of(&found, Algorithm::Exhaustive).map_or(f64::NAN, |result| result.tuning.trial.period.seconds());
        Ok(Self { case, found, best })
    }

    /// Throughput over that of exhaustive search.
    fn share(&self, found: &Found) -> f64 {
        self.best / found.tuning.trial.period.seconds()
    }

    fn share_of(&self, search: Algorithm) -> f64 {
        of(&self.found, search).map_or(f64::NAN, |result| self.share(result))
    }

    fn trials_of_shisha(&self) -> f64 {
        of(&self.found, Algorithm::SHISHA).map_or(0, |result| result.tuning.trials) as f64
    }

    /// What section 7.3 says of Shisha on this network, and checks of our own searches.
    fn claims(&self) -> [Claim; 4] {
        let network = self.case.network;
        let (printed, few, reason) = match network {
            Network::SynthNet => (EXPLORED_SYNTHNET, Some(FEW_GAINS), HEAVY_LAYERS),
            Network::ResNet50 | Network::YoloV3 => (EXPLORED, None, LOCAL),
        };
        let part = 100.0 * self.trials_of_shisha() / divisions(self.case.layers.len(), self.case.space.most_stages());
        let reached = format!("Shisha's throughput over that of exhaustive search, {network} on 4 places");
        let tried = format!("part of the divisions that Shisha tries, {network}, per cent");
        let guided = format!("part of the best throughput that our model-guided search reaches, {network} on 4 places");
        let exact = format!("throughput of the exact search over that of exhaustive search, {network}");

        [
            Claim::number(reached, self.share_of(Algorithm::SHISHA), 1.0).within(ClaimTolerance::Exact).because(reason),
            Claim::number(tried, part, printed).within(ClaimTolerance::Rounding(0.05)).because(few),
            Claim::range(guided, self.share_of(Algorithm::ModelGuided), [0.99, 1.0])
                .within(ClaimTolerance::Exact)
                .only(Evidence::NotInThePaper),
            Claim::number(exact, self.best / self.case.optimum.seconds(), 1.0)
                .within(ClaimTolerance::Exact)
                .only(Evidence::SelfConsistency),
        ]
    }
}

/// Throughput over that of exhaustive search, on four places.
pub(super) fn section() -> Result<(Section, Option<Figure>), ReproduceError> {
    let searched = Network::ALL.into_iter().map(Searched::of).collect::<Result<Vec<_>, _>>()?;
    let trials: Vec<f64> = searched.iter().map(Searched::trials_of_shisha).collect();
    let mean = trials.iter().sum::<f64>() / trials.len() as f64;
    let mut claims: Vec<Claim> = searched.iter().flat_map(Searched::claims).collect();
    claims.push(Claim::range("mean trials of Shisha on 4 places", mean, TRIALS_OF_SHISHA).because(FEW_GAINS));

    let section = Section {
        item: PaperItem::Figure(5),
        about: "how near searches come to the best, four places (C2)".to_owned(),
        kind: Kind::Assumed,
        table: table(&searched),
        notes: Vec::new(),
        claims,
    };
    Ok((section, Some(figure(&searched)?)))
}

fn table(searched: &[Searched]) -> Table {
    let mut table = Table::new([
        ("network", Align::Left),
        ("search", Align::Left),
        ("trials", Align::Right),
        ("simulated s", Align::Right),
        ("throughput / exhaustive", Align::Right),
    ]);
    for search in searched {
        for found in &search.found {
            table.row([
                search.case.network.to_string(),
                found.name.clone(),
                found.tuning.trials.to_string(),
                seconds(found.tuning.spent),
                format!("{:.3}", search.share(found)),
            ]);
        }
    }
    table
}

fn figure(searched: &[Searched]) -> Result<Figure, ReproduceError> {
    let shares = |search: &Searched| search.found.iter().map(|found| search.share(found)).collect();
    let svg = BarChart {
        title: "Throughput over that of exhaustive search, four places (C2)",
        label: "throughput / exhaustive search",
        series: searched
            .first()
            .map_or(Vec::new(), |search| search.found.iter().map(|found| found.name.clone()).collect()),
        groups: searched.iter().map(|search| (search.case.network.to_string(), shares(search))).collect(),
    }
    .to_svg()?;
    Ok(Figure { file: "shisha-figure-5.svg".to_owned(), svg })
}
