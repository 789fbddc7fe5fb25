use anyhow::Result;
use millstream::Machine;
use millstream_report::board_table;

use crate::arguments::BoardCommand;
use crate::output;

pub(crate) fn run(command: &BoardCommand) -> Result<()> {
    let machine = match (command.software_gpu, &command.board.board) {
        (true, None) => Machine::detect_with(true)?,
        _ => command.board.machine()?,
    };
    let board = machine.board();
    if command.json {
        return output::json(&board.to_document());
    }
    output::line(format!("{}, fingerprint {}", board.name(), board.fingerprint()));
    output::line(board_table(board));
    Ok(())
}
