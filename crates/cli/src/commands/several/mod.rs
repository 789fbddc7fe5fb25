//! Several networks that share a board.

mod run;
mod schedule;

use anyhow::{Context, Result, bail};
use millstream_board::Board;
use millstream_schedule::{Schedule, ScheduleDocument, ScheduleSetDocument, SharedSchedule};

use crate::arguments::ScheduledArguments;
use crate::model::Network;
use crate::{files, machine};

pub(crate) use run::run;
pub(crate) use schedule::schedule;

/// One of several networks, ready to run.
pub(crate) struct Loaded {
    pub(crate) network: Network,
    pub(crate) schedule: Schedule,
    pub(crate) document: ScheduleDocument,
    pub(crate) weight: f64,
    pub(crate) deadline_seconds: Option<f64>,
    /// Whether others use the same processors.
    pub(crate) takes_turns: bool,
    /// Time between two frames beside all others.
    expected_period_seconds: f64,
}

impl Loaded {
    /// A network that has the board for itself.
    pub(crate) fn alone(network: Network, schedule: Schedule, document: ScheduleDocument) -> Self {
        let expected_period_seconds = document.predicted.period_seconds;
        let (weight, deadline_seconds, takes_turns) = (1.0, None, false);
        Self { network, schedule, document, weight, deadline_seconds, takes_turns, expected_period_seconds }
    }
}

/// Reads the schedules of several networks and loads what they were made for.
pub(crate) fn load(arguments: &ScheduledArguments) -> Result<(Board, Vec<Loaded>)> {
    let path = &arguments.schedule;
    let context = || path.display().to_string();
    if arguments.model.model.is_some() {
        bail!("{}: the file names its networks; leave --model out", path.display());
    }
    let set = ScheduleSetDocument::from_json(&files::read(path)?).with_context(context)?;
    let board = machine::board(arguments.board.board.as_deref())?;
    let (takes_turns, rounds_per_second) = (set.takes_turns, set.rounds_per_second);
    let load = |own: SharedSchedule| {
        let network = Network::of_schedule(&own.schedule.model)?;
        let schedule =
            own.schedule.resolve(network.model.graph(), network.model.digest(), &board).with_context(context)?;
        let SharedSchedule { weight, deadline_seconds, schedule: document } = own;
        let loaded = Loaded::alone(network, schedule, document);
        // Who takes turns passes frames as often as all rounds allow.
        let expected = if takes_turns { 1.0 / (rounds_per_second * weight) } else { loaded.expected_period_seconds };
        Ok(Loaded { weight, deadline_seconds, takes_turns, expected_period_seconds: expected, ..loaded })
    };
    let loaded = set.networks.into_iter().map(load).collect::<Result<Vec<_>>>()?;
    Ok((board, loaded))
}
