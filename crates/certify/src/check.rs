//! The check of a whole certificate against a schedule.

use millstream_board::{Board, host_of};
use millstream_cost::{CostTable, Nanoseconds};
use millstream_schedule::{ScheduleDocument, SearchedBound, SearchedSpace};

use crate::certificate::Certificate;
use crate::comparing::nanoseconds;
use crate::error::CertifyError;
use crate::hosts::{can_check_hosts, check_hosts};
use crate::network::NetworkBlocks;
use crate::promise::{check_constraints, check_not_below, check_power, check_prediction};
use crate::searched::check_searched;
use crate::single::{check_single_processors, is_beyond_proof, need_teams};
use crate::stage_rates::StageRates;
use crate::throughput::check_throughput;

/// Checks what a certificate says of a schedule, and what the schedule promises, on the costs at the schedule's clocks.
///
/// What is measured is not promised by costs. Where processors compete for memory, or stages or replicas for a link, it
/// depends on a simulation what frames take; here, only that the period is not below what is possible.
/// [`check_prediction`] compares the rest with what a simulation shows.
///
/// # Errors
/// The first thing that is not so.
pub fn check(
    certificate: &Certificate,
    schedule: &ScheduleDocument,
    network: NetworkBlocks<'_>,
    board: &Board,
    table: &CostTable,
) -> Result<(), CertifyError> {
    let graph = network.graph;
    same("model", &certificate.model, &schedule.model, |model| {
        format!("'{}' (digest {:.12}, sizes {:?}, batch {})", model.name, model.digest, model.dimensions, model.batch)
    })?;
    same("board", &certificate.board, &schedule.board, |board| format!("'{}' ({})", board.name, board.fingerprint))?;
    same("choice of clocks", &certificate.clocks, &schedule.clocks, |clocks| {
        if clocks.is_empty() { "none".to_owned() } else { format!("{clocks:?}") }
    })?;
    same("configuration", &certificate.configuration, &schedule.configuration, String::clone)?;
    let predicted = schedule.predicted.period_seconds;
    let seconds = |seconds: &f64| format!("{seconds} s");
    same("period", &certificate.predicted_period_seconds, &predicted, seconds)?;
    let measured = |is_measured: &bool| if *is_measured { "measured" } else { "by costs alone" }.to_owned();
    same("promise", &certificate.is_measured, &schedule.predicted.is_measured, measured)?;

    let resolved = schedule.resolve(graph, &certificate.model.digest, board)?;
    same("configuration", &certificate.configuration, &resolved.to_string(), String::clone)?;
    // Of several drivers of a device, the costs are of one.
    let board = &table.board_without_other_drivers(board);
    // Nobody is faster than the memory.
    let searched = table.within_memory_of(board, graph);
    let evaluated = resolved.evaluate(graph, &searched)?;
    nanoseconds("the schedule's period [ns]", certificate.evaluated_period_nanoseconds, evaluated.period.0)?;
    let promised = &schedule.predicted;
    if !promised.is_measured {
        if board.memory_bytes_per_second().is_some() || evaluated.shares_board_links() {
            check_not_below(promised, &evaluated)?;
        } else {
            check_prediction(promised, &evaluated, resolved.energy(graph, &searched)?)?;
        }
    }
    check_power(promised)?;
    check_constraints(schedule)?;

    check_throughput(&certificate.throughput, graph, board, table)?;
    let bound = Nanoseconds(certificate.throughput.period_nanoseconds).seconds();
    number("the gap", certificate.gap, predicted / bound.max(1e-12) - 1.0)?;
    let promised = schedule.predicted.lower_bound_period_seconds;
    same("lower bound", &bound, &promised, seconds)?;
    let checked = Checked { certificate, schedule, network, board, table: &searched };
    if searched.hosts().is_empty() { check_of_board(checked) } else { check_of_hosts(checked) }
}

/// A certificate and its schedule, with what both are of. No operator is faster in the table than the memory.
#[derive(Clone, Copy)]
struct Checked<'a> {
    certificate: &'a Certificate,
    schedule: &'a ScheduleDocument,
    network: NetworkBlocks<'a>,
    board: &'a Board,
    table: &'a CostTable,
}

/// Checks what is proven of pipelines on a single board, and that it is all that the schedule says of them.
fn check_of_board(checked: Checked<'_>) -> Result<(), CertifyError> {
    let Checked { certificate, network, board, table, .. } = checked;
    if certificate.hosts.is_some() {
        return Err(CertifyError::Hosts { detail: "the schedule is of a single board".to_owned() });
    }
    if let Some(proof) = &certificate.single_processors {
        check_single_processors(proof, network, board, table)?;
    }
    if let Some(proof) = &certificate.searched {
        check_searched(proof, network, board, table)?;
    }
    check_promised_bound(checked)
}

/// Checks what is proven of pipelines over several hosts, and that it is all that the schedule says of them.
fn check_of_hosts(checked: Checked<'_>) -> Result<(), CertifyError> {
    let Checked { certificate, schedule, network, board, table } = checked;
    if certificate.single_processors.is_some() || certificate.searched.is_some() {
        let detail = "it proves something of a single board, and the schedule is of several hosts".to_owned();
        return Err(CertifyError::Hosts { detail });
    }
    if certificate.is_measured {
        return Err(CertifyError::Hosts { detail: "nothing is measured of plans for several hosts".to_owned() });
    }
    let promised = &schedule.predicted.searched;
    let Some(proof) = &certificate.hosts else {
        if promised.is_some() && can_check_hosts(network, board, table, &[]) {
            return Err(CertifyError::Missing { what: "what pipelines over the hosts take at least" });
        }
        return same_unproven(&certificate.unproven, promised);
    };
    check_hosts(proof, network, board, table)?;
    check_uses_none_of(&proof.without, schedule)?;
    same_unproven(&certificate.unproven, &None)?;
    let period_seconds = Nanoseconds(proof.period_nanoseconds).seconds();
    let proven = Some(SearchedBound { period_seconds, space: SearchedSpace::Hosts });
    same("shortest period over the hosts", &proven, promised, bound_in_words)
}

/// Whether a schedule has no stage on the hosts that its proof leaves out.
fn check_uses_none_of(without: &[String], schedule: &ScheduleDocument) -> Result<(), CertifyError> {
    let replicas = schedule.stages.iter().flat_map(|stage| &stage.replicas);
    let used = replicas.flat_map(|replica| &replica.assignments);
    let mut hosts = used.filter_map(|assignment| host_of(&assignment.processor.cluster));
    let left_out = hosts.find(|host| without.iter().any(|out| out == host));
    left_out.map_or(Ok(()), |host| {
        let detail = format!("it leaves out the host '{host}', and the schedule has a stage there");
        Err(CertifyError::Hosts { detail })
    })
}

/// Whether what the schedule says of all that was searched is what the certificate proves, and nothing is missing there
/// that can be written down.
fn check_promised_bound(checked: Checked<'_>) -> Result<(), CertifyError> {
    let Checked { certificate, schedule, network, board, table } = checked;
    let Some(promised) = &schedule.predicted.searched else { return Ok(()) };
    let missing = |what| Err(CertifyError::Missing { what });
    let is_incomplete = certificate.single_processors.is_none() || certificate.searched.is_none();
    let is_beyond_proof = is_incomplete && is_beyond_proof(network, board, table);
    if certificate.single_processors.is_none() && !is_beyond_proof && !need_teams(network, board, table) {
        return missing("what contiguous stages on single processors reach");
    }
    let Some(proof) = &certificate.searched else {
        if !is_beyond_proof {
            return missing("a bound on all that was searched");
        }
        return same_unproven(&certificate.unproven, &schedule.predicted.searched);
    };
    same_unproven(&certificate.unproven, &None)?;
    let has_links = StageRates::new(network, board, table).is_some_and(|rates| rates.have_links());
    same("searched space", &proof.teams.space(has_links), &promised.space, |space| format!("'{space}'"))?;
    let bound = Nanoseconds(proof.period_nanoseconds).seconds();
    same("bound on all that was searched", &bound, &promised.period_seconds, |seconds| format!("{seconds} s"))
}

/// Whether what is said without a proof is what the schedule says.
fn same_unproven(unproven: &Option<SearchedBound>, promised: &Option<SearchedBound>) -> Result<(), CertifyError> {
    same("unproven bound on all that was searched", unproven, promised, bound_in_words)
}

fn bound_in_words(bound: &Option<SearchedBound>) -> String {
    let Some(SearchedBound { period_seconds, space }) = bound else { return "none".to_owned() };
    let of = match space {
        SearchedSpace::SingleProcessors => "stages on single processors",
        SearchedSpace::Teams { .. } => "stages on teams",
        SearchedSpace::Hosts => "pipelines over several hosts",
    };
    format!("{period_seconds} s for {of}")
}

fn same<T: PartialEq>(
    what: &'static str,
    certified: &T,
    of_schedule: &T,
    text: impl Fn(&T) -> String,
) -> Result<(), CertifyError> {
    if certified == of_schedule {
        return Ok(());
    }
    Err(CertifyError::OtherSchedule { what, certified: text(certified), of_schedule: text(of_schedule) })
}

/// Equal to the last digit: files keep all of them.
fn number(what: &'static str, certified: f64, found: f64) -> Result<(), CertifyError> {
    if certified.total_cmp(&found).is_eq() { Ok(()) } else { Err(CertifyError::Number { what, certified, found }) }
}
