//! Table 3: every search on every system.

use millstream_report::{Align, Table};
use millstream_tune::Heuristic;

use super::systems::SYSTEMS;
use crate::paper::ReproduceError;
use crate::report::{Kind, Section};
use crate::selection::PaperItem;
use crate::shisha::case::{Case, Network, seconds};
use crate::shisha::searches::{Algorithm, run};

/// What searches on all systems find; exhaustive search would not end on most.
pub(super) fn section() -> Result<Section, ReproduceError> {
    let mut table = Table::new([
        ("network", Align::Left),
        ("system", Align::Left),
        ("search", Align::Left),
        ("trials", Align::Right),
        ("simulated s", Align::Right),
        ("throughput / best", Align::Right),
    ]);

    let other_heuristics =
        Heuristic::ALL.map(Algorithm::Shisha).into_iter().filter(|&search| search != Algorithm::SHISHA);
    let searches: Vec<Algorithm> =
        Algorithm::PUBLISHED.into_iter().chain(other_heuristics).chain([Algorithm::ModelGuided]).collect();
    for network in Network::ALL {
        for system in SYSTEMS {
            let case = Case::new(network, system)?;
            for found in run(&case, searches.iter().copied())? {
                table.row([
                    case.network.to_string(),
                    system.name.to_owned(),
                    found.name,
                    found.tuning.trials.to_string(),
                    seconds(found.tuning.spent),
                    format!("{:.3}", case.throughput(found.tuning.trial.period)),
                ]);
            }
        }
    }

    Ok(Section {
        item: PaperItem::Table(3),
        about: "every search on the systems C1 to C5".to_owned(),
        kind: Kind::Assumed,
        table,
        notes: vec!["The best there is comes from the exact search.".to_owned()],
        claims: Vec::new(),
    })
}
