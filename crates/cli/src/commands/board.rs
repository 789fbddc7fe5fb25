//! `board`: processors and engines of a machine, as tables or as a board file.

use anyhow::Result;
use millstream::{CpuQuota, EngineReport, Machine, engines};
use millstream_report::{Align, Table, board_table};

use crate::arguments::BoardCommand;
use crate::output;

pub(crate) fn run(command: &BoardCommand) -> Result<()> {
    let machine = match (command.software_gpu, &command.board.board) {
        (true, None) => command.board.with_engine(Machine::detect_with(true)?)?,
        _ => command.board.machine()?,
    };
    let board = machine.board();
    if command.json {
        return output::json(&board.to_document());
    }
    output::line(format!("{}, fingerprint {}", board.name(), board.fingerprint()));
    output::table(&board_table(board));
    output::prose(
        "\nA label with a number, such as B2, is a processor: that many cores of a cluster. Capacity is the speed of one core; the fastest kind has 1024.",
    );
    match (&command.board.board, CpuQuota::detect()) {
        (None, Ok(Some(quota))) => output::prose(format!(
            "\nThis container may use {} cores' time; the cores above are as many as that is worth: {}",
            quota.cores,
            board.cores().count()
        )),
        _ => board.quota_cores().into_iter().for_each(|cores| {
            output::prose(format!("\nA container on this board may use {cores} cores' time, on all cores together"));
        }),
    }

    output::line(match command.board.board {
        None => "\nEngines:\n",
        Some(_) => "\nEngines and devices of this computer, and what of the board would use them:\n",
    });
    let (table, missing) = engines_table(&machine);
    output::table(&table);
    for reason in missing {
        output::line("");
        output::prose(reason);
    }
    Ok(())
}

/// What computes, and for whom; and why what is missing is not here.
fn engines_table(machine: &Machine) -> (Table, Vec<String>) {
    let mut table = Table::new([
        ("engine", Align::Left),
        ("version", Align::Left),
        ("device", Align::Left),
        ("used by", Align::Left),
    ]);
    let mut missing = Vec::new();
    for EngineReport { engine, version, device, used_by } in engines(machine) {
        let version = version.unwrap_or_else(|reason| {
            missing.push(reason);
            "not here".to_owned()
        });
        let or_none = |text: String| if text.is_empty() { "-".to_owned() } else { text };
        table.row([engine, version, or_none(device.unwrap_or_default()), or_none(used_by.join(" "))]);
    }
    (table, missing)
}
