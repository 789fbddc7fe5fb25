//! The table of several networks that share a board.

use millstream_schedule::ScheduleSetDocument;

use crate::align::Align;
use crate::duration::milliseconds;
use crate::table::Table;

/// The networks of a file that share a board: stages, rates beside each other, and latencies alone.
pub fn set_table(document: &ScheduleSetDocument) -> Table {
    let mut table = Table::new([
        ("network", Align::Left),
        ("stages", Align::Left),
        ("weight", Align::Right),
        ("frames/s", Align::Right),
        ("latency ms alone", Align::Right),
        ("deadline ms", Align::Right),
    ]);
    for network in &document.networks {
        let predicted = &network.schedule.predicted;
        table.row([
            network.schedule.model.name.clone(),
            network.schedule.configuration.clone(),
            network.weight.to_string(),
            format!(
                "{:.1}",
                if document.takes_turns {
                    network.weight * document.rounds_per_second
                } else {
                    1.0 / predicted.period_seconds
                }
            ),
            milliseconds(predicted.latency_seconds),
            network.deadline_seconds.map_or("-".to_owned(), milliseconds),
        ]);
    }
    table
}
