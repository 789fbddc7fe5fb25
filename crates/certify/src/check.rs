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
    same("model", &certificate.model, &schedule.model, |own| {
        format!("'{}' (digest {:.12}, sizes {:?}, batch {})", own.name, own.digest, own.dimensions, own.batch)
    })?;
    same("board", &certificate.board, &schedule.board, |own| format!("'{}' ({})", own.name, own.fingerprint))?;
    same("choice of clocks", &certificate.clocks, &schedule.clocks, |own| match own.is_empty() {
        true => "none".to_owned(),
        false => format!("{own:?}"),
    })?;
    same("configuration", &certificate.configuration, &schedule.configuration, String::clone)?;
    let predicted = schedule.predicted.period_seconds;
    let seconds = |own: &f64| format!("{own} s");
    same("period", &certificate.predicted_period_seconds, &predicted, seconds)?;

    let own = schedule.resolve(graph, &certificate.model.digest, board)?;
    // Nobody is faster than the memory.
    let searched = table.within_memory_of(board, graph);
    let evaluated = own.evaluate(graph, &searched)?.period.0;
    nanoseconds("the schedule's period [ns]", certificate.evaluated_period_nanoseconds, evaluated)?;

    check_throughput(&certificate.throughput, graph, board, table)?;
    let bound = Nanoseconds(certificate.throughput.period_nanoseconds).seconds();
    number("the gap", certificate.gap, predicted / bound.max(1e-12) - 1.0)?;
    let promised = schedule.predicted.lower_bound_period_seconds;
    same("lower bound", &bound, &promised, seconds)?;
    match &certificate.single_processors {
        Some(proof) => check_single_processors(proof, (graph, chain), board, &searched),
        None => Ok(()),
    }
}

fn same<T: PartialEq>(
    what: &'static str,
    certified: &T,
    own: &T,
    text: impl Fn(&T) -> String,
) -> Result<(), CertifyError> {
    if certified == own {
        return Ok(());
    }
    Err(CertifyError::OtherSchedule { what, certified: text(certified), own: text(own) })
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
