//! Networks with schedules that fit them: made, read from files, and set to work.

pub(crate) mod document;
pub(crate) mod engine;
pub(crate) mod sizes;

use std::path::Path;

use millstream_board::{Board, Processor};
use millstream_graph::Graph;
use millstream_onnx::ReadOptions;
use millstream_schedule::{
    Constrained, MissedConstraint, Schedule, ScheduleDocument, ScheduleSetDocument, SharedSchedule,
    check_memory_together,
};

use crate::error::{Error, InFile};
use crate::files;
use crate::machine::Machine;
use crate::network::Network;

pub use document::document;

/// A network with a schedule that fits it and the board; one of a set whose networks share a board, often the only one.
pub struct Scheduled {
    /// The network.
    pub network: Network,
    /// How it runs.
    pub schedule: Schedule,
    /// The schedule's file, with what is predicted.
    pub document: ScheduleDocument,
    /// Frames for each frame of a network with weight 1.
    pub weight: f64,
    /// The longest that a frame may take, if there is such a limit.
    pub deadline_seconds: Option<f64>,
    /// Whether others use the same processors.
    pub takes_turns: bool,
    /// Time between two frames that is expected beside all others.
    pub expected_period_seconds: f64,
}

impl Scheduled {
    /// A network that has the board for itself.
    ///
    /// # Errors
    /// [`Error::Schedule`] if the schedule does not fit the network or the board.
    pub fn alone(network: Network, document: ScheduleDocument, board: &Board) -> Result<Self, Error> {
        let board = board.clone().with_engines_of(&document.board.engines);
        let schedule = document.resolve(network.graph(), network.digest(), &board)?;
        Ok(Self {
            network,
            schedule,
            weight: 1.0,
            deadline_seconds: None,
            takes_turns: false,
            expected_period_seconds: document.predicted.period_seconds,
            document,
        })
    }

    /// The same on a machine that somebody asked other engines of: processors whose engine their cluster has not get
    /// its first.
    #[must_use]
    pub fn with_engines_of(self, machine: &Machine) -> Self {
        let board = machine.as_planned(&self.document);
        let own_engine = |processor: &Processor| match board.board().cluster(&processor.cluster) {
            Ok(cluster) if !cluster.engines.contains(processor.engine) => {
                processor.clone().with_engine(cluster.engines.first())
            }
            _ => processor.clone(),
        };
        Self { schedule: self.schedule.with_processors(own_engine), ..self }
    }

    /// A limit that was planned for frames without their waiting in queues and that the longest of a frame, from when
    /// it came, is beyond. That is no miss; those who mean the whole time should know.
    pub fn beyond_with_queues(&self, longest_seconds: f64) -> Option<MissedConstraint> {
        self.document.constraints.latency_beyond_with_queues(longest_seconds).or_else(|| {
            let deadline = self.deadline_seconds.filter(|_| !self.takes_turns)?;
            MissedConstraint::over(Constrained::DeadlineWithQueues, deadline, longest_seconds)
        })
    }
}

/// Reads a file with one schedule, or with those of several networks, and opens the networks that they were made for. A
/// single one may be somewhere else by now: then `model` says where, and `options` how it is read.
///
/// # Errors
/// [`Error::Io`], or [`Error::File`] with what does not fit.
pub fn read_schedules(
    path: &Path,
    board: &Board,
    model: Option<&str>,
    options: &ReadOptions,
) -> Result<Vec<Scheduled>, Error> {
    let text = files::read(path)?;
    if ScheduleSetDocument::is_one(&text) && model.is_some() {
        return Err(names_its_networks()).in_file(path);
    }
    schedules_of(&text, path, board, &mut |document| open(document, model, options))
}

/// The network that a schedule was made for, which may be somewhere else by now.
pub(crate) fn open(document: &ScheduleDocument, model: Option<&str>, options: &ReadOptions) -> Result<Network, Error> {
    match model {
        Some(model) => Network::open(model, options.clone()),
        None => Network::of_schedule(&document.model),
    }
}

/// Why there is nothing to choose in a file of several networks.
pub(crate) fn names_its_networks() -> Error {
    Error::Unfit("the file names its networks; leave the model out".to_owned())
}

/// The schedules of a file's text, with the networks that `network` opens.
pub(crate) fn schedules_of(
    text: &str,
    path: &Path,
    board: &Board,
    network: &mut dyn FnMut(&ScheduleDocument) -> Result<Network, Error>,
) -> Result<Vec<Scheduled>, Error> {
    if !ScheduleSetDocument::is_one(text) {
        let document = ScheduleDocument::from_json(text).in_file(path)?;
        let network = network(&document)?;
        return Ok(vec![Scheduled::alone(network, document, board).in_file(path)?]);
    }
    let set = ScheduleSetDocument::from_json(text).in_file(path)?;
    let (takes_turns, rounds_per_second) = (set.takes_turns, set.rounds_per_second);
    let mut load = |shared: SharedSchedule| {
        let SharedSchedule { weight, deadline_seconds, schedule: document, .. } = shared;
        let alone = Scheduled::alone(network(&document)?, document, board).in_file(path)?;
        // Who takes turns passes frames as often as all rounds allow.
        let expected = if takes_turns { 1.0 / (rounds_per_second * weight) } else { alone.expected_period_seconds };
        Ok(Scheduled { weight, deadline_seconds, takes_turns, expected_period_seconds: expected, ..alone })
    };
    let all: Vec<Scheduled> = set.networks.into_iter().map(&mut load).collect::<Result<_, Error>>()?;
    let schedules: Vec<(&Schedule, &Graph)> =
        all.iter().map(|loaded| (&loaded.schedule, &**loaded.network.graph())).collect();
    check_memory_together(&schedules, board).in_file(path)?;
    Ok(all)
}
