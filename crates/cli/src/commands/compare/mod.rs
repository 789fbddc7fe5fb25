//! `compare`: our schedules beside what one would use otherwise.

mod summary;

use anyhow::Result;
use millstream::{ContenderReport, Network, NetworkContest, SlowCore, SlowedCores, Slowing, compare, with_slow_cores};
use millstream_report::{Align, Table, milliseconds, percent};
use serde::Serialize;

use crate::arguments::{CompareCommand, DEFAULT_MODEL, sources};
use crate::control::control;
use crate::{interrupt, output};

#[derive(Serialize)]
struct Report {
    slow_cores: Vec<String>,
    networks: Vec<NetworkContest>,
}

pub(crate) fn run(command: &CompareCommand) -> Result<()> {
    let plain = command.board.machine()?;
    plain.check_usable()?;
    let machine = with_slow_cores(&plain, &command.slow_cores)?;
    let mut sources = sources(&command.models);
    if sources.is_empty() {
        sources.push(DEFAULT_MODEL.to_owned());
    }
    command.inputs.check_only_network(sources.len())?;
    let (options, inputs) = (command.dimensions.read_options()?, command.inputs.inputs());
    let control = control();
    let slowed = SlowedCores::start(&command.slow_cores)?;
    let slow_cores = command.slow_cores.iter().zip(slowed.methods()).map(describe).collect();
    let mut report = Report { slow_cores, networks: Vec::new() };
    for source in &sources {
        let network = Network::open(source, options.clone())?.with_inputs(&inputs)?;
        let compared = compare(&machine, &network, command.rounds as usize, command.budget.0, &control)?;
        if !command.json {
            print(&compared, &report.slow_cores);
        }
        report.networks.push(compared);
        if interrupt::requested() {
            output::remark("interrupted; the networks so far are complete");
            break;
        }
    }
    drop(slowed);
    if command.json {
        output::json(&report)?;
    } else if report.networks.len() > 1 {
        summary::print(&report.networks);
    }
    Ok(())
}

fn describe((slow, method): (&SlowCore, &Slowing)) -> String {
    format!("core {} {} times slower by {method}", slow.core, slow.factor)
}

fn print(report: &NetworkContest, slow_cores: &[String]) {
    let conditions = if slow_cores.is_empty() { "all cores free".to_owned() } else { slow_cores.join(", ") };
    output::line(format!("{}, {conditions}: medians over the rounds\n", report.network));
    let Some(ours) = report.contenders.first() else { return };
    let mut table = Table::new([
        ("contender", Align::Left),
        ("processors", Align::Left),
        ("frames/s", Align::Right),
        ("p25 - p75", Align::Right),
        ("ours is", Align::Right),
        ("frame ms", Align::Right),
        ("worst ms", Align::Right),
        ("order kept", Align::Left),
        ("period error", Align::Right),
        ("latency error", Align::Right),
    ]);
    for contender in &report.contenders {
        table.row([
            contender.name.clone(),
            contender.configuration.clone(),
            format!("{:.1}", contender.frames_per_second),
            format!("{:.1} - {:.1}", contender.frames_per_second_p25, contender.frames_per_second_p75),
            over(ours, contender),
            milliseconds(contender.median_frame_seconds),
            milliseconds(contender.worst_frame_seconds),
            if contender.in_order { "yes" } else { "no" }.to_owned(),
            period_error(contender).map_or("-".to_owned(), percent),
            latency_error(contender).map_or("-".to_owned(), percent),
        ]);
    }
    output::table(&table);
    if report.contenders.iter().skip(1).any(|contender| ours.is_within_noise_of(contender)) {
        output::line(match ours.rounds.len() {
            0..6 => "=: fewer than six rounds tell no difference from noise with 95 %",
            _ => "=: too small a difference for these rounds to tell (95 % interval of the median of their ratios)",
        });
    }
    if let Some(disturbed) = disturbed(&report.contenders) {
        output::line(format!(
            "Disturbed, also when repeated: {disturbed}; other programs used more than a tenth of a core"
        ));
    }
    output::line("");
}

/// Which rounds of which contenders stayed disturbed; `None` if none did.
fn disturbed(contenders: &[ContenderReport]) -> Option<String> {
    let rounds = |own: &ContenderReport| format!("{} of {} rounds", own.disturbed_rounds, own.rounds.len());
    let concerned: Vec<&ContenderReport> = contenders.iter().filter(|own| own.disturbed_rounds > 0).collect();
    let first = concerned.first()?;
    let is_same = contenders.iter().all(|own| own.disturbed_rounds == first.disturbed_rounds);
    Some(match is_same {
        true => format!("{} of every contender", rounds(first)),
        false => {
            concerned.iter().map(|own| format!("{} of '{}'", rounds(own), own.name)).collect::<Vec<_>>().join(", ")
        }
    })
}

/// How many times as many frames ours passed, and whether that is more than noise.
fn over(ours: &ContenderReport, other: &ContenderReport) -> String {
    let ratio = ours.frames_per_second / other.frames_per_second;
    let is_noise = !std::ptr::eq(ours, other) && ours.is_within_noise_of(other);
    format!("{ratio:.2}x{}", if is_noise { " =" } else { "" })
}

fn period_error(contender: &ContenderReport) -> Option<f64> {
    Some(contender.predicted_period_seconds? * contender.frames_per_second - 1.0)
}

fn latency_error(contender: &ContenderReport) -> Option<f64> {
    Some(contender.predicted_latency_seconds? / contender.measured_latency_seconds? - 1.0)
}
