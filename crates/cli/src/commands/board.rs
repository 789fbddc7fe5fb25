use anyhow::Result;
use millstream_report::board_table;

use crate::arguments::BoardCommand;
use crate::{machine, output};

pub(crate) fn run(command: &BoardCommand) -> Result<()> {
    let board = match (command.software_gpu, &command.board.board) {
        (true, None) => machine::detect(true)?,
        (_, file) => machine::board(file.as_deref())?,
    };
    if command.json {
        return output::json(&board.to_document());
    }
    output::line(format!("{}, fingerprint {}", board.name(), board.fingerprint()));
    output::line(board_table(&board));
    Ok(())
}
