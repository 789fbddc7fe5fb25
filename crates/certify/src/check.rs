use std::fmt::Debug;

use millstream_board::Board;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_partition::Chain;
use millstream_schedule::ScheduleDocument;

use crate::{Certificate, CertifyError, check_single_processors, check_throughput};

/// Checks everything that a certificate says of a schedule, on the costs at the schedule's clocks.
///
/// # Errors
/// The first thing that is not so.
pub fn check(
    certificate: &Certificate,
    schedule: &ScheduleDocument,
    (graph, chain): (&Graph, &Chain),
    board: &Board,
    table: &CostTable,
) -> Result<(), CertifyError> {
    same("model", &certificate.model, &schedule.model)?;
    same("board", &certificate.board, &schedule.board)?;
    same("clocks", &certificate.clocks, &schedule.clocks)?;
    same("configuration", &certificate.configuration, &schedule.configuration)?;
    let predicted = schedule.predicted.period_seconds;
    same("period", &certificate.predicted_period_seconds, &predicted)?;

    let own = schedule.resolve(graph, &certificate.model.digest, board)?;
    let evaluated = own.evaluate(graph, table)?.period.0;
    nanoseconds("the schedule's period [ns]", certificate.evaluated_period_nanoseconds, evaluated)?;

    check_throughput(&certificate.throughput, graph, board, table)?;
    let bound = Nanoseconds(certificate.throughput.period_nanoseconds).seconds();
    number("the gap", certificate.gap, predicted / bound.max(1e-12) - 1.0)?;
    let promised = schedule.predicted.lower_bound_period_seconds;
    number("the schedule's lower bound [s]", bound, promised)?;
    match &certificate.single_processors {
        Some(proof) => {
            // Nobody is faster than the memory.
            check_single_processors(proof, (graph, chain), board, &table.within_memory_of(board, graph))
        }
        None => Ok(()),
    }
}

fn same<T: PartialEq + Debug>(what: &'static str, certified: &T, own: &T) -> Result<(), CertifyError> {
    if certified == own {
        return Ok(());
    }
    Err(CertifyError::OtherSchedule { what, certified: format!("{certified:?}"), own: format!("{own:?}") })
}

/// Equal to the last digit: files keep all of them.
fn number(what: &'static str, certified: f64, found: f64) -> Result<(), CertifyError> {
    match certified.total_cmp(&found).is_eq() {
        true => Ok(()),
        false => Err(CertifyError::Number { what, certified, found }),
    }
}

pub(crate) fn nanoseconds(what: &'static str, certified: u64, found: u64) -> Result<(), CertifyError> {
    match certified == found {
        true => Ok(()),
        false => Err(CertifyError::Number { what, certified: certified as f64, found: found as f64 }),
    }
}
