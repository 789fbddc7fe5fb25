//! `boards`: the built-in boards with their names and processors.

use anyhow::Result;
use millstream::BuiltInBoard;
use millstream_board::Board;
use millstream_report::{Align, Table};
use serde::Serialize;

use crate::arguments::BoardsCommand;
use crate::output;

/// A built-in board, for programs.
#[derive(Serialize)]
struct Row {
    /// What stands for it in place of files.
    name: &'static str,
    board: String,
    processors: Vec<Group>,
}

/// A cluster with its cores, or an accelerator, which is one processor.
#[derive(Serialize)]
struct Group {
    label: String,
    count: usize,
}

pub(crate) fn run(command: &BoardsCommand) -> Result<()> {
    let rows = BuiltInBoard::all().map(row).collect::<Result<Vec<_>>>()?;
    if command.json {
        return output::json(&rows);
    }
    let mut table = Table::new([("name", Align::Left), ("board", Align::Left), ("processors", Align::Left)]);
    for row in rows {
        let groups = row.processors.iter().map(|group| match group.count {
            1 => group.label.clone(),
            count => format!("{count} x {}", group.label),
        });
        table.row([row.name.to_owned(), row.board, groups.collect::<Vec<_>>().join(", ")]);
    }
    output::table(&table);
    Ok(())
}

fn row(built_in: BuiltInBoard) -> Result<Row> {
    let board = built_in.board()?;
    Ok(Row { name: built_in.name(), board: board.name().to_owned(), processors: groups(&board) })
}

fn groups(board: &Board) -> Vec<Group> {
    let clusters =
        board.clusters().iter().map(|cluster| Group { label: cluster.label.to_string(), count: cluster.cores.len() });
    let accelerators =
        board.accelerators().iter().map(|accelerator| Group { label: accelerator.label.to_string(), count: 1 });
    clusters.chain(accelerators).collect()
}
