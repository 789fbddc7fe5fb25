//! Certificates checked without the search that found the schedule.

use std::path::Path;

use millstream_board::Board;
use millstream_certify::{Certificate, NetworkBlocks, check, check_prediction};
use millstream_cost::{CostTable, Nanoseconds};
use millstream_schedule::ScheduleDocument;
use millstream_sim::SteadyState;

use crate::error::{Error, InFile};
use crate::files;
use crate::machine::Machine;
use crate::measuring::CostSource;
use crate::schedules::Scheduled;

/// Checks the certificate in a file against a schedule, by costs that are known. Nothing is searched.
///
/// # Errors
/// [`Error::Certificate`] with what is not so, [`Error::File`] if the file is no certificate.
pub fn certify(
    path: &Path,
    scheduled: &Scheduled,
    machine: &Machine,
    costs: CostSource<'_>,
) -> Result<Certificate, Error> {
    let certificate = Certificate::from_json(&files::read(path)?).in_file(path)?;
    let Scheduled { network, document, .. } = scheduled;
    let machine = &machine.as_planned(document);
    let board = machine.board();
    let table = costs.table(network, machine)?.at_clocks(board, &document.clocks);
    let table = table.with_one_driver_of_each_device(board, &scheduled.schedule.accelerators());
    let blocks = NetworkBlocks { graph: network.graph(), chain: network.chain() };
    check(&certificate, document, blocks, board, &table).in_file(path)?;
    if !document.predicted.is_measured {
        check_simulated(document, scheduled, board, &table).in_file(path)?;
    }
    Ok(certificate)
}

/// Whether all that was promised is what a simulation shows, where processors wait for memory or stages and replicas
/// for the same link.
fn check_simulated(
    document: &ScheduleDocument,
    Scheduled { network, schedule, .. }: &Scheduled,
    board: &Board,
    table: &CostTable,
) -> Result<(), Error> {
    let (graph, rate) = (network.graph(), board.memory_bytes_per_second());
    let SteadyState { mut evaluation, energy } = SteadyState::of(schedule, graph, table, rate)?;
    // Of few frames, a simulation may show a little less than what is possible.
    let unhindered = schedule.evaluate(graph, &table.within_memory_of(board, graph))?.least_period();
    let bound = Nanoseconds::from_seconds(document.predicted.lower_bound_period_seconds);
    evaluation.period = evaluation.period.max(unhindered).max(bound);
    Ok(check_prediction(&document.predicted, &evaluation, energy)?)
}
