use anyhow::{Result, bail};
use millstream::{CostSource, Hosts, Scheduled, certify, read_schedules};
use millstream_certify::Certificate;
use millstream_cost::Nanoseconds;
use millstream_report::{in_words, milliseconds};

use crate::arguments::{CertifyCommand, cost_source};
use crate::output;

pub(crate) fn run(command: &CertifyCommand) -> Result<()> {
    let hosts = command.system.as_deref().map(Hosts::read).transpose()?;
    let machine = match &hosts {
        Some(hosts) => hosts.machine().clone(),
        None => command.scheduled.board.machine()?,
    };
    let model = &command.scheduled.model;
    let options = model.dimensions.read_options()?;
    let set = read_schedules(&command.scheduled.schedule, machine.board(), model.model.as_deref(), &options)?;
    let [scheduled] = set.as_slice() else { bail!("certificates are of one network; the schedule file has several") };
    let table = hosts.as_ref().map(|hosts| hosts.table(&scheduled.network)).transpose()?;
    let costs = match &table {
        Some(table) => CostSource::Table(table),
        None => cost_source(command.cost.as_deref(), command.profile.as_deref()).unwrap_or(CostSource::Cached),
    };
    let certificate = certify(&command.certificate, scheduled, &machine, costs)?;
    if command.json {
        return output::json(&certificate);
    }
    print(&certificate, scheduled, machine.board().memory_bytes_per_second().is_some());
    Ok(())
}

/// Says what is proven, and of what nothing is.
fn print(certificate: &Certificate, scheduled: &Scheduled, is_memory_shared: bool) {
    let bound = Nanoseconds(certificate.throughput.period_nanoseconds);
    let clocks = if certificate.clocks.is_empty() { "" } else { " at these clocks" };
    output::line(format!(
        "The certificate holds: no schedule of {} on {} by these costs{clocks} has a period below {} ms.",
        certificate.model.name,
        certificate.board.name,
        milliseconds(bound.seconds())
    ));
    output::line(format!(
        "{} promises {} ms: {} that.",
        certificate.configuration,
        milliseconds(certificate.predicted_period_seconds),
        match in_words(certificate.gap, ["above", "below"]) {
            same if same == "the same" => "just".to_owned(),
            other => other,
        }
    ));

    if scheduled.document.predicted.is_measured {
        output::line("The schedule says that this was measured: nothing here proves it.");
    }
    let memory = if is_memory_shared { ", even if nobody waits for memory" } else { "" };
    let milliseconds_of = |nanoseconds: u64| milliseconds(Nanoseconds(nanoseconds).seconds());
    output::line(match &certificate.single_processors {
        Some(proof) => format!(
            "Contiguous stages on one processor each, or replicas of it, take {} ms at least{memory}: checked over {} states.",
            milliseconds_of(proof.period_nanoseconds),
            proof.reached.len()
        ),
        None => "It says nothing of stages on single processors: there is no proof of them in it.".to_owned(),
    });
    output::line(match (&certificate.searched, &scheduled.document.predicted.searched) {
        (Some(proof), Some(promised)) => format!(
            "All that was searched, {}, takes {} ms at least{memory}: checked over {} teams.",
            promised.space,
            milliseconds_of(proof.period_nanoseconds),
            proof.worths.len()
        ),
        (None, Some(promised)) => format!(
            "Not proven: that all that was searched, {}, takes {} ms at least.",
            promised.space,
            milliseconds(promised.period_seconds)
        ),
        _ => "Nothing was searched that it could speak of.".to_owned(),
    });
}
