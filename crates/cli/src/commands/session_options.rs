//! `session-options`: the fastest settings for one session of plain ONNX Runtime.

use anyhow::{Result, anyhow};
use millstream::{
    Machine, MeasuredSession, Network, SessionContest, SessionOptions, SlowedCores, TurnOptions, session_options,
    with_slow_cores,
};
use millstream_report::{Align, Table, milliseconds};
use serde::Serialize;

use crate::arguments::{DEFAULT_MODEL, SessionOptionsCommand};
use crate::commands::compare::describe;
use crate::control::control;
use crate::output;

#[derive(Serialize)]
struct Report<'a> {
    network: &'a str,
    /// Cores that were made slower, and how.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    slow_cores: &'a [String],
    /// Of the fastest session: what is to be pasted.
    options: &'a SessionOptions,
    sessions: &'a [MeasuredSession],
}

pub(crate) fn run(command: &SessionOptionsCommand) -> Result<()> {
    let machine = with_slow_cores(&Machine::detect()?, &command.slow_cores)?;
    let source = command.model.model.as_deref().unwrap_or(DEFAULT_MODEL);
    let options = command.model.dimensions.read_options()?;
    let network = Network::open(source, options)?.with_inputs(&command.inputs.inputs())?;

    let slowed = SlowedCores::start(&command.slow_cores)?;
    let slow_cores: Vec<String> = command.slow_cores.iter().zip(slowed.methods()).map(describe).collect();
    let turns = TurnOptions::new(command.rounds as usize).with_turn(command.turn.0);
    let measured = session_options(&machine, &network, &turns, &control())?;
    drop(slowed);

    let best = measured.sessions.first().ok_or_else(|| anyhow!("there is no way to set up a session"))?;
    if command.json {
        let SessionContest { network, sessions } = &measured;
        return output::json(&Report { network, slow_cores: &slow_cores, options: &best.options, sessions });
    }
    print(&measured, best, &slow_cores);
    Ok(())
}

fn print(measured: &SessionContest, best: &MeasuredSession, slow_cores: &[String]) {
    let conditions = if slow_cores.is_empty() { String::new() } else { format!(", {}", slow_cores.join(", ")) };
    output::line(format!(
        "One session of {}, frame after frame{conditions}: medians over the rounds, fastest first\n",
        measured.network
    ));

    let mut table = Table::new([
        ("threads", Align::Right),
        ("where", Align::Left),
        ("while they wait", Align::Left),
        ("frame ms", Align::Right),
        ("p25 - p75", Align::Right),
        ("time", Align::Right),
    ]);
    for session in &measured.sessions {
        let waiting =
            if session.options.intra_op_num_threads > 1 { session.waiting.to_string() } else { "-".to_owned() };
        table.row([
            session.options.intra_op_num_threads.to_string(),
            place(session),
            waiting,
            milliseconds(session.frame_seconds),
            format!("{} - {}", milliseconds(session.frame_seconds_p25), milliseconds(session.frame_seconds_p75)),
            format!("{:.2}x", session.frame_seconds / best.frame_seconds),
        ]);
    }

    output::table(&table);
    let is_disturbed = |session: &&MeasuredSession| session.disturbed_rounds > 0;
    let disturbed = measured.sessions.iter().filter(is_disturbed);
    let disturbed: Vec<String> =
        disturbed.map(|session| format!("{} {}", session.options.intra_op_num_threads, place(session))).collect();
    if !disturbed.is_empty() {
        let list = disturbed.join("; ");
        output::prose(format!(
            "Other programs, or heat, disturbed these, also when their rounds were repeated: {list}"
        ));
    }
    output::line(format!("\nIn Python:\n\n{}", best.options.python()));
}

/// Where a session's threads run.
fn place(session: &MeasuredSession) -> String {
    if session.is_default { "anywhere (default)".to_owned() } else { session.threads.clone() }
}
