//! Evaluation of a schedule: period and latency of the pipeline, and times of its stages, replicas and links.

use millstream_cost::{CostTable, LaneId, Nanoseconds};
use millstream_graph::Graph;

use crate::crossing::{Crossing, FrameWays};
use crate::error::ScheduleError;
use crate::execution::Execution;
use crate::hand_over::Entry;
use crate::replica_tasks::ReplicaTasks;
use crate::schedule::{Replica, Schedule};
use crate::service_rates::{
    LinkUse, OccupiedLink, SharedLink, occupied_links, replica_rates, replicated_period, shared_period,
};

/// Period and latency of a schedule by a cost table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluation {
    /// What each stage achieves, in the order of the stages.
    pub stages: Vec<StageEvaluation>,
    /// What is occupied of links between hosts, and between them and outside; empty on a single board.
    pub host_links: Vec<LinkEvaluation>,
    /// What is occupied of links within boards, between the clusters and accelerators of stages.
    pub board_links: Vec<SharedLink>,
    /// Time between two frames: the longest period of a stage or of a link.
    pub period: Nanoseconds,
    /// Time of one frame through the pipeline: the sum of the stages' slowest replicas and of the ways between hosts,
    /// and from and to outside.
    pub latency: Nanoseconds,
}

/// The use that frames make of a link between two hosts, or between one and outside: of one direction, or of all of it
/// if it is half duplex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkEvaluation {
    /// The link's name.
    pub link: String,
    /// What of it is occupied: a direction, or all of it.
    pub lane: LaneId,
    /// Bytes that a frame sends over it.
    pub bytes: u64,
    /// For how long that occupies it: no more than one frame passes in this time.
    pub period: Nanoseconds,
}

/// Period and times of one stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageEvaluation {
    /// Time that each replica needs for a frame, hand-over included.
    pub replica_times: Vec<Nanoseconds>,
    /// What each replica occupies of links within the board for a frame.
    pub link_uses: Vec<Vec<LinkUse>>,
    /// Time between two frames with all replicas at work.
    pub period: Nanoseconds,
}

impl Evaluation {
    /// Frames per second.
    pub fn throughput_hertz(&self) -> f64 {
        1.0 / self.period.seconds()
    }

    /// The link between hosts that lets frames pass least often, if it and no stage is what holds them up.
    pub fn link_bottleneck(&self) -> Option<&LinkEvaluation> {
        let longest = self.host_links.iter().max_by_key(|link| link.period)?;
        let stages = self.stages.iter().map(|stage| stage.period).max().unwrap_or_default();
        (longest.period > stages).then_some(longest)
    }

    /// The link within a board that lets frames pass least often, if it and nothing else is what holds them up.
    pub fn board_link_bottleneck(&self) -> Option<&SharedLink> {
        let longest = self.board_links.iter().max_by_key(|link| link.period)?;
        let others = self.stages.iter().map(|stage| stage.period).chain(self.host_links.iter().map(|link| link.period));
        (others.max() < Some(longest.period)).then_some(longest)
    }

    /// The longest that a frame occupies a link within a board; nothing where none is occupied.
    pub fn board_link_period(&self) -> Nanoseconds {
        self.board_links.iter().map(|link| link.period).max().unwrap_or_default()
    }

    /// Whether several stages take frames over the same link within a board, or replicas of one stage wait for each
    /// other there. How long they wait depends on when they come.
    pub fn shares_board_links(&self) -> bool {
        self.board_links.iter().any(|link| link.stages > 1) || self.stages.iter().any(StageEvaluation::waits_for_links)
    }

    /// The stage with the longest period, counted from 0; the first of several.
    pub fn bottleneck(&self) -> Option<usize> {
        (0..self.stages.len()).rev().max_by_key(|&index| self.stages[index].period)
    }
}

impl StageEvaluation {
    /// The slowest replica's time.
    pub fn latency(&self) -> Nanoseconds {
        self.replica_times.iter().copied().max().unwrap_or_default()
    }

    /// Whether its replicas wait for each other before links that they share: because these carry no more frames, or
    /// because replicas that take unlike times come there at the same moment again and again.
    fn waits_for_links(&self) -> bool {
        self.period > replicated_period(&self.replica_times) || self.meet_at_links()
    }

    /// Whether replicas that take unlike times share a link. Of those that take the same, each comes when the others
    /// have gone.
    fn meet_at_links(&self) -> bool {
        let shares = |links: &[LinkUse], link: &LinkUse| links.iter().any(|other| other.is_of_same_link(link));
        let replicas = || self.replica_times.iter().zip(&self.link_uses);
        replicas().any(|(time, links)| {
            let mut unlike = replicas().filter(|(other, _)| *other != time);
            unlike.any(|(_, links_of_other)| links.iter().any(|link| shares(links_of_other, link)))
        })
    }

    /// Which part of the frames each replica takes; all parts add up to 1.
    pub fn shares(&self) -> Vec<f64> {
        let rates = self.rates();
        let all: f64 = rates.iter().sum();
        rates.into_iter().map(|rate| rate / all).collect()
    }

    /// Frames per nanosecond that each replica takes.
    fn rates(&self) -> Vec<f64> {
        replica_rates(&self.replica_times, &self.link_uses)
    }
}

impl Schedule {
    /// Period and latency under the [rules of execution](crate::execution).
    ///
    /// - Processors are self-timed, and transfers go on beside computation, except where they occupy one of the two
    ///   processors.
    /// - A stage takes its inputs over from the processors of the stage before it, and starts then.
    /// - Replicas that take frames over the same link take no more than it carries, and links that several stages use
    ///   carry the frames of all of them. What processors of one replica send each other is not counted there.
    /// - Between hosts, both ends pay for what they send and receive. The way itself goes on beside computation: it
    ///   adds to the latency, and a link passes one frame at a time. So does the way of frames from outside, and that
    ///   of results.
    ///
    /// # Errors
    /// [`ScheduleError::Unsupported`] if the table lacks a needed time, [`ScheduleError::Order`] if an operator waits
    /// for one that runs after it, and as [`Schedule::crossings`].
    pub fn evaluate(&self, graph: &Graph, table: &CostTable) -> Result<Evaluation, ScheduleError> {
        let mut stages = Vec::with_capacity(self.stages.len());
        let crossings = self.crossings(graph, table)?;
        let costs = self.host_costs(graph, table, &crossings)?;

        for (id, stage) in self.numbered_stages() {
            let entry = self.entry(id);
            let times =
                stage.replicas.iter().map(|replica| Ok(replica.time(&entry, graph, table)? + costs[id.index()]));
            let replica_times =
                times.collect::<Result<Vec<_>, _>>().map_err(|error: ScheduleError| error.in_stage(id))?;
            let link_uses: Vec<_> =
                stage.replicas.iter().map(|replica| replica.link_uses(&entry, graph, table)).collect();
            let period = shared_period(&replica_times, &link_uses);
            stages.push(StageEvaluation { replica_times, link_uses, period });
        }

        let FrameWays { entry, exit } = self.frame_ways(graph, table)?;
        let ways: Vec<Crossing> = entry.into_iter().chain(crossings.into_iter().flatten()).chain(exit).collect();
        let host_links = occupied_crossings(&ways);
        let board_links = occupied_links(stages.iter().map(|stage| (stage.link_uses.as_slice(), stage.rates())));
        let of_links = host_links.iter().map(|link| link.period).chain(board_links.iter().map(|link| link.period));
        let period = stages.iter().map(|stage| stage.period).chain(of_links).max().unwrap_or_default();

        let in_stages: Nanoseconds = stages.iter().map(StageEvaluation::latency).sum();
        let on_the_way: Nanoseconds = ways.iter().map(Crossing::time).sum();
        Ok(Evaluation { stages, host_links, board_links, period, latency: in_stages + on_the_way })
    }
}

/// What frames occupy of each lane that they use, in the order in which they meet them.
fn occupied_crossings(crossings: &[Crossing]) -> Vec<LinkEvaluation> {
    let mut links: Vec<LinkEvaluation> = Vec::new();
    for Crossing { link, lane, bytes, occupied, .. } in crossings {
        match links.iter_mut().find(|met| met.lane == *lane) {
            Some(met) => (met.bytes, met.period) = (met.bytes + bytes, met.period + *occupied),
            None => {
                let (link, lane, bytes) = (link.clone(), *lane, *bytes);
                links.push(LinkEvaluation { link, lane, bytes, period: *occupied });
            }
        }
    }
    links
}

impl Replica {
    /// Time for a frame: hand-over into the stage, and the makespan of its operators.
    ///
    /// # Errors
    /// As [`Schedule::evaluate`].
    pub fn time(&self, entry: &Entry, graph: &Graph, table: &CostTable) -> Result<Nanoseconds, ScheduleError> {
        Ok(self.hand_over(entry, graph, table) + self.execute(graph, table)?.makespan())
    }

    /// Runs the replica's tasks, from when its inputs are there, by the rules of [`execution`](crate::execution). The
    /// tasks are those of [`Replica::tasks`].
    ///
    /// # Errors
    /// As [`Schedule::evaluate`].
    pub fn execute(&self, graph: &Graph, table: &CostTable) -> Result<Execution, ScheduleError> {
        ReplicaTasks::new(self, graph, table)?.execute(graph)
    }

    /// How long each processor works for a frame that the replica takes: taking it over, its operators, and transfers
    /// that occupy it.
    ///
    /// # Errors
    /// As [`Schedule::evaluate`].
    pub fn busy(&self, entry: &Entry, graph: &Graph, table: &CostTable) -> Result<Vec<Nanoseconds>, ScheduleError> {
        let hand_over = self.hand_over(entry, graph, table);
        let execution = self.execute(graph, table)?;
        Ok(execution.busy().iter().map(|&busy| busy + hand_over).collect())
    }
}
