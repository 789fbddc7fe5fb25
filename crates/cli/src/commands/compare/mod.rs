//! `compare`: our schedules beside what one would use otherwise.

mod page;
mod summary;
mod tables;

use anyhow::Result;
use millstream::{
    Network, NetworkContest, SlowCore, SlowedCores, Slowing, TurnOptions, compare, files, with_slow_cores,
};
use serde::Serialize;

use crate::arguments::{CompareCommand, DEFAULT_MODEL, sources};
use crate::control::control;
use crate::distinct::NamedFiles;
use crate::{html, interrupt, output};

#[derive(Serialize)]
struct Report {
    slow_cores: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quota_cores: Option<f64>,
    networks: Vec<NetworkContest>,
}

fn named_files(command: &CompareCommand) -> NamedFiles {
    let files = NamedFiles::default().reads_models(command.models.iter().map(String::as_str));
    let files = command.board.named(files).reads_inputs(&command.inputs.inputs);
    files.writes("--html", command.html.as_deref())
}

pub(crate) fn run(command: &CompareCommand) -> Result<()> {
    named_files(command).check()?;
    command.html.iter().try_for_each(|path| files::check_writable(path))?;
    let plain = command.board.machine()?;
    plain.check_usable()?;
    let machine = with_slow_cores(&plain, &command.slow_cores)?;
    let mut sources = sources(&command.models);
    if sources.is_empty() {
        sources.push(DEFAULT_MODEL.to_owned());
    }
    command.inputs.check_only_network(sources.len())?;

    let options = Network::options_of_each(&sources, &command.dimensions.read_options()?)?;
    let inputs = command.inputs.inputs();
    let control = control();
    let slowed = SlowedCores::start(&command.slow_cores)?;
    let slow_cores = command.slow_cores.iter().zip(slowed.methods()).map(describe).collect();
    let mut report = Report { slow_cores, quota_cores: machine.board().quota_cores(), networks: Vec::new() };
    let conditions = all_conditions(&report.slow_cores, report.quota_cores);

    let turns = TurnOptions::new(command.rounds as usize).with_turn(command.turn.0);
    let mut chapters = Vec::new();
    for (source, options) in sources.iter().zip(options) {
        let network = Network::open(source, options)?.with_inputs(&inputs)?;
        let compared = compare(&machine, &network, &turns, command.budget.0, &control)?;
        if !command.json {
            print(&compared, &conditions);
        }
        if command.html.is_some() {
            chapters.push(page::chapter(&network, &compared, &conditions));
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
    if let Some(path) = &command.html {
        if let [_, _, ..] = report.networks.as_slice() {
            chapters.insert(0, summary::chapter(&report.networks));
        }
        html::write(path, "Schedules beside what one would use otherwise", chapters)?;
    }
    Ok(())
}

/// What the cores were like while all took turns.
fn all_conditions(slow_cores: &[String], quota_cores: Option<f64>) -> String {
    let quota = quota_cores.map(|cores| format!("a quota of {cores} cores"));
    let parts: Vec<&str> = slow_cores.iter().chain(&quota).map(String::as_str).collect();
    if parts.is_empty() { "all cores free".to_owned() } else { parts.join(", ") }
}

/// How a core was made slower.
pub(crate) fn describe((slow, method): (&SlowCore, &Slowing)) -> String {
    format!("core {} {} times slower by {method}", slow.core, slow.factor)
}

fn print(report: &NetworkContest, conditions: &str) {
    output::line(format!("{}, {conditions}: medians over the rounds\n", report.network));
    output::table(&tables::rates(report));
    output::line("");
    output::table(&tables::times(report));
    output::line("");
    output::facts(&tables::notes(report));
    output::line("");
}

#[cfg(test)]
mod tests {
    use super::all_conditions;

    #[test]
    fn cores_are_free_where_nothing_takes_of_their_time() {
        assert_eq!(all_conditions(&[], None), "all cores free");
        assert_eq!(all_conditions(&["slow".to_owned()], Some(1.5)), "slow, a quota of 1.5 cores");
    }
}
