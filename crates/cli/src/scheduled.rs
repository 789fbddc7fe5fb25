//! A schedule file with everything that it refers to.

use anyhow::{Context, Result};
use millstream_board::Board;
use millstream_schedule::{Schedule, ScheduleDocument};

use crate::arguments::ScheduledArguments;
use crate::model::Network;
use crate::{files, machine};

/// A schedule that fits its network and its board.
pub(crate) struct Scheduled {
    pub(crate) document: ScheduleDocument,
    pub(crate) network: Network,
    pub(crate) board: Board,
    pub(crate) schedule: Schedule,
}

impl Scheduled {
    /// Reads the schedule and loads what it was made for, or what the caller names instead.
    pub(crate) fn load(arguments: &ScheduledArguments) -> Result<Self> {
        let path = &arguments.schedule;
        let context = || path.display().to_string();
        let document = ScheduleDocument::from_json(&files::read(path)?).with_context(context)?;
        let network = match &arguments.model.model {
            Some(source) => Network::load(source, &arguments.model.dimensions)?,
            None => Network::of_schedule(&document.model)?,
        };
        let board = machine::board(arguments.board.board.as_deref())?;
        let schedule = document.resolve(network.model.graph(), network.model.digest(), &board).with_context(context)?;
        Ok(Self { document, network, board, schedule })
    }
}
