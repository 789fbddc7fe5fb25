//! What a frame's values take from one host to another.

use millstream_board::{TransferPrecision, host_of};
use millstream_cost::{CostTable, HostCrossing, LaneId, Nanoseconds};
use millstream_graph::{DataType, Graph, OperatorId, Value};

use crate::error::ScheduleError;
use crate::schedule::{Schedule, Stage};
use crate::stage_id::StageId;

/// The way between two stages that are on different hosts. It goes on beside computation, but for what its two ends
/// pay; while a frame is on it, the link carries no other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crossing {
    /// The host that sends.
    pub from: String,
    /// The host that receives.
    pub to: String,
    /// The link's name.
    pub link: String,
    /// What of the link is occupied: one direction of it, or all of it, by its number in the cost table
    /// ([`HostCrossing::lane`]).
    pub lane: LaneId,
    /// Bytes of all that is still needed of a frame, as it is sent.
    pub bytes: u64,
    /// What 32-bit floats are sent as.
    pub precision: TransferPrecision,
    /// For how long that occupies the lane.
    pub occupied: Nanoseconds,
    /// From when the last byte is sent until it is there.
    pub latency: Nanoseconds,
    /// What the sending stage pays for it.
    pub sending: Nanoseconds,
    /// What the receiving stage pays for it.
    pub receiving: Nanoseconds,
}

/// The ways of frames from outside a system and of results to there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FrameWays {
    /// To the first stage; `None` if frames take no time on it, as on a single board.
    pub entry: Option<Crossing>,
    /// From the last one; `None` if results take no time on it.
    pub exit: Option<Crossing>,
}

impl Crossing {
    /// What so many bytes take on a way between hosts.
    pub fn of(way: &HostCrossing, bytes: u64) -> Self {
        Self {
            from: way.from.clone(),
            to: way.to.clone(),
            link: way.link.clone(),
            lane: way.lane,
            bytes,
            precision: way.precision,
            occupied: way.occupied(bytes),
            latency: way.latency(),
            sending: way.sending(bytes),
            receiving: way.receiving(bytes),
        }
    }

    /// From when the sending stage is done until the receiving one can begin.
    pub fn time(&self) -> Nanoseconds {
        self.occupied + self.latency
    }
}

/// Bytes of all values that are still needed once these operators have run, with 32-bit floats as they are sent: what
/// they made and others read or the network returns, and what the network is given and others read. Values of unknown
/// size count as nothing.
pub fn crossing_bytes(graph: &Graph, precision: TransferPrecision, is_done: impl Fn(OperatorId) -> bool) -> u64 {
    let is_needed = |value| {
        let is_read = || graph.readers(value).iter().any(|&reader| !is_done(reader));
        match graph.producer(value) {
            Some(producer) => is_done(producer) && (graph.outputs().contains(&value) || is_read()),
            None => graph.inputs().contains(&value) && is_read(),
        }
    };
    graph.value_ids().filter(|&value| is_needed(value)).map(|value| sent_bytes(graph.value(value), precision)).sum()
}

/// Bytes of a frame as it comes from outside.
pub fn input_bytes(graph: &Graph) -> u64 {
    graph.inputs().iter().map(|&value| graph.value(value).bytes().unwrap_or(0)).sum()
}

/// Bytes of a frame's results as they leave.
pub fn output_bytes(graph: &Graph) -> u64 {
    graph.outputs().iter().map(|&value| graph.value(value).bytes().unwrap_or(0)).sum()
}

/// Bytes of a value as it is sent.
fn sent_bytes(value: &Value, precision: TransferPrecision) -> u64 {
    match (&value.shape, value.data_type) {
        (Some(shape), Some(DataType::F32)) => shape.elements().saturating_mul(precision.bytes_per_float()),
        _ => value.bytes().unwrap_or(0),
    }
}

impl Stage {
    /// The host that it lives on; `None` on a board that is in no system.
    ///
    /// # Errors
    /// [`ScheduleError::SeveralHosts`], which names the stage by its id, if its processors are not all on the same.
    pub(crate) fn host(&self, id: StageId) -> Result<Option<&str>, ScheduleError> {
        let assignments = self.replicas.iter().flat_map(|replica| &replica.assignments);
        let mut hosts = assignments.map(|assignment| host_of(&assignment.processor.cluster));
        let first = hosts.next().flatten();
        match hosts.find(|host| *host != first) {
            None => Ok(first),
            Some(_) => Err(ScheduleError::SeveralHosts { stage: id }),
        }
    }
}

impl Schedule {
    /// For every stage the way that frames come to it from another host; `None` where they come from its own, or from
    /// outside.
    ///
    /// # Errors
    /// [`ScheduleError::SeveralHosts`] if a stage is on several hosts, [`ScheduleError::NoLink`] if the table knows no
    /// way between two hosts.
    pub fn crossings(&self, graph: &Graph, table: &CostTable) -> Result<Vec<Option<Crossing>>, ScheduleError> {
        let mut crossings = Vec::with_capacity(self.stages.len());
        let mut is_done = vec![false; graph.operators().len()];
        let mut before: Option<&str> = None;
        for (id, stage) in self.numbered_stages() {
            let host = stage.host(id)?;
            crossings.push(match (before, host) {
                (Some(from), Some(to)) if from != to => {
                    let Some(way) = table.crossing(from, to) else {
                        let [from, to] = [from, to].map(str::to_owned);
                        return Err(ScheduleError::NoLink { stage: id, from, to });
                    };
                    Some(Crossing::of(way, crossing_bytes(graph, way.precision, |id| is_done[id.index()])))
                }
                _ => None,
            });
            before = host;
            stage.operators().for_each(|id| is_done[id.index()] = true);
        }
        Ok(crossings)
    }

    /// The ways of frames from outside to the first stage and of results from the last one to there; `None` where they
    /// take no time on them.
    ///
    /// # Errors
    /// [`ScheduleError::SeveralHosts`] if the first or the last stage is on several hosts.
    pub fn frame_ways(&self, graph: &Graph, table: &CostTable) -> Result<FrameWays, ScheduleError> {
        let mut stages = self.numbered_stages();
        let first = stages.next();
        let last = stages.last().or(first);
        let host = |stage: Option<(StageId, &'_ Stage)>| -> Result<Option<String>, ScheduleError> {
            let Some((id, stage)) = stage else { return Ok(None) };
            Ok(stage.host(id)?.map(str::to_owned))
        };
        let outside = HostCrossing::OUTSIDE;
        let entry = host(first)?.and_then(|to| table.crossing(outside, &to));
        let exit = host(last)?.and_then(|from| table.crossing(&from, outside));
        Ok(FrameWays {
            entry: entry.map(|way| Crossing::of(way, input_bytes(graph))),
            exit: exit.map(|way| Crossing::of(way, output_bytes(graph))),
        })
    }

    /// The time that each stage pays for frames from other hosts and to them, and the first and the last one for those
    /// from outside and for results.
    ///
    /// # Errors
    /// [`ScheduleError::SeveralHosts`] if the first or the last stage is on several hosts.
    pub fn host_costs(
        &self,
        graph: &Graph,
        table: &CostTable,
        crossings: &[Option<Crossing>],
    ) -> Result<Vec<Nanoseconds>, ScheduleError> {
        let mut costs = crossing_costs(crossings);
        for (place, bytes) in [(0, input_bytes(graph)), (costs.len().saturating_sub(1), output_bytes(graph))] {
            if let (Some(cost), Some((id, stage))) = (costs.get_mut(place), self.numbered_stages().nth(place)) {
                *cost += stage.host(id)?.map_or(Nanoseconds::ZERO, |host| table.frame_cost(host, bytes));
            }
        }
        Ok(costs)
    }
}

/// The time that each stage pays for taking frames over from other hosts and for sending them there.
fn crossing_costs(crossings: &[Option<Crossing>]) -> Vec<Nanoseconds> {
    let receiving = crossings.iter().map(|into| into.as_ref().map_or(Nanoseconds::ZERO, |into| into.receiving));
    let from = crossings.iter().skip(1).chain(std::iter::once(&None));
    let sending = from.map(|from| from.as_ref().map_or(Nanoseconds::ZERO, |from| from.sending));
    receiving.zip(sending).map(|(receiving, sending)| receiving + sending).collect()
}
