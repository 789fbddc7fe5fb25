//! `certify`: the check of a certificate, and what it proves of its schedule.

use anyhow::{Result, bail};
use millstream::{CostSource, Hosts, Machine, Scheduled, certify, read_schedules};
use millstream_certify::{Certificate, HostsProof};
use millstream_cost::Nanoseconds;
use millstream_report::{Fact, in_words, milliseconds};
use millstream_schedule::{SearchedBound, SearchedSpace};

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
    print(&certificate, scheduled, &machine, hosts.is_some());
    Ok(())
}

/// Says what is proven, and what is not.
fn print(certificate: &Certificate, scheduled: &Scheduled, machine: &Machine, is_system: bool) {
    let Certificate { model, board, configuration, .. } = certificate;
    output::line(format!("The certificate holds for {configuration}: {} on {}.", model.name, board.name));
    let memory =
        if machine.board().memory_bytes_per_second().is_some() { ", even without memory contention" } else { "" };
    let mut facts = vec![Fact::new("Bound", bound(certificate)), Fact::new("Predicted", promise(certificate))];
    let promised = scheduled.document.predicted.searched.as_ref();
    if is_system {
        facts.push(Fact::new("Searched", over_hosts(certificate, promised)));
    } else {
        facts.push(Fact::new("Single", single(certificate, memory)));
        facts.push(Fact::new("Searched", searched(certificate, promised, memory)));
    }
    output::facts(&facts);
}

fn bound(certificate: &Certificate) -> String {
    let clocks = if certificate.clocks.is_empty() { "" } else { " at these clocks" };
    let least = milliseconds_of(certificate.throughput.period_nanoseconds);
    format!("no schedule by these costs{clocks} has a period below {least} ms.")
}

fn promise(certificate: &Certificate) -> String {
    let above = match in_words(certificate.gap, ["above", "below"]) {
        same if same == "the same" => "just that".to_owned(),
        other => format!("{other} that"),
    };
    let period = milliseconds(certificate.predicted_period_seconds);
    let evaluated = milliseconds_of(certificate.evaluated_period_nanoseconds);
    if certificate.is_measured {
        format!("a period of {period} ms, {above}; it was measured in a trial, which this check can't repeat.")
    } else if evaluated == period {
        format!("a period of {period} ms, {above}; the schedule evaluates to it by these costs.")
    } else {
        format!(
            "a period of {period} ms, {above}; the schedule evaluates to {evaluated} ms, and waits for memory or links beyond that in a simulation."
        )
    }
}

fn single(certificate: &Certificate, memory: &str) -> String {
    match &certificate.single_processors {
        Some(proof) => format!(
            "contiguous stages of whole blocks on one processor each, or replicas of it, take {} ms at least{memory}: checked over {} states.",
            milliseconds_of(proof.period_nanoseconds),
            proof.reached.len()
        ),
        None => "it says nothing of stages on single processors: there is no proof of them in it.".to_owned(),
    }
}

fn searched(certificate: &Certificate, promised: Option<&SearchedBound>, memory: &str) -> String {
    let Some(SearchedBound { period_seconds, space }) = promised else {
        return "nothing was searched that it could speak of.".to_owned();
    };
    let Some(proof) = &certificate.searched else {
        let least = milliseconds(*period_seconds);
        return format!("not proven: that all that was searched takes {least} ms at least. Searched were {space}.");
    };
    let (least, teams) = (milliseconds_of(proof.period_nanoseconds), proof.dual_prices.len());
    let outside = if certificate.evaluated_period_nanoseconds < proof.period_nanoseconds {
        " This schedule is none of these."
    } else {
        ""
    };
    format!(
        "all that was searched takes {least} ms at least{memory}: checked over {teams} teams. Searched were {space}.{outside}"
    )
}

/// What is said of pipelines over several hosts.
fn over_hosts(certificate: &Certificate, promised: Option<&SearchedBound>) -> String {
    let Some(HostsProof { period_nanoseconds, without, .. }) = &certificate.hosts else {
        return match promised {
            None => "nothing is proven of the shortest period over the hosts: the schedule promises none.".to_owned(),
            Some(SearchedBound { period_seconds, .. }) => format!(
                "not proven, as there are too many pipelines: that {} ms is the shortest period over the hosts.",
                milliseconds(*period_seconds)
            ),
        };
    };
    let without = match without.as_slice() {
        [] => String::new(),
        hosts => format!(" Nothing runs on {}.", hosts.join(", ")),
    };
    let outside = if certificate.evaluated_period_nanoseconds < *period_nanoseconds {
        " This schedule is none of these: processors of a host work on the same frame."
    } else {
        ""
    };
    format!(
        "of what was searched without teams, the shortest period is {} ms, where memories have room for it and nobody waits for a link within \
         a host: checked by following all of it. Searched so were {}.{without}{outside}",
        milliseconds_of(*period_nanoseconds),
        SearchedSpace::Hosts
    )
}

fn milliseconds_of(nanoseconds: u64) -> String {
    milliseconds(Nanoseconds(nanoseconds).seconds())
}
