//! The part of a schedule for several boards that each host runs.

use std::collections::{HashMap, HashSet};

use millstream_board::{Host, host_of};
use millstream_graph::{Graph, OperatorId, ValueId};
use millstream_onnx::{ReadOptions, WeightStorage};
use millstream_schedule::{Prediction, Schedule, ScheduleDocument, ScheduleError, Stage, StageId};

use crate::error::Error;
use crate::machine::Machine;
use crate::network::Network;
use crate::schedules::{Scheduled, document};
use crate::systems::Hosts;

/// Stages that follow each other on one host: what happens to a frame from when it comes there until it leaves.
#[derive(Debug, Clone)]
pub struct HostPart {
    host: usize,
    first_stage: StageId,
    stages: Vec<Stage>,
    inputs: Vec<ValueId>,
    needed_after: Vec<ValueId>,
}

/// A [`HostPart`] as a network of its own, on the board of its host.
pub struct LoadedPart {
    /// The board.
    pub machine: Machine,
    /// The network and its stages, with the host's own cores.
    pub scheduled: Scheduled,
    /// What the network takes, in order, as values of the whole network.
    pub inputs: Vec<ValueId>,
    /// What it makes, in order, as values of the whole network.
    pub outputs: Vec<ValueId>,
}

impl HostPart {
    /// The parts of a schedule, in the order in which a frame passes them.
    ///
    /// # Errors
    /// [`Error::Schedule`] if the stages are not each on one host of the system.
    pub fn all(hosts: &Hosts, graph: &Graph, schedule: &Schedule) -> Result<Vec<Self>, Error> {
        let mut parts: Vec<Self> = Vec::new();
        for (id, stage) in schedule.numbered_stages() {
            let host = place_of(hosts, stage, id)?;
            match parts.last_mut().filter(|part| part.host == host) {
                Some(part) => part.stages.push(stage.clone()),
                None => parts.push(Self {
                    host,
                    first_stage: id,
                    stages: vec![stage.clone()],
                    inputs: Vec::new(),
                    needed_after: Vec::new(),
                }),
            }
        }
        let mut is_done: HashSet<OperatorId> = HashSet::new();
        for part in &mut parts {
            part.inputs = graph.boundary(&part.operators()).inputs;
            is_done.extend(part.operators());
            part.needed_after = needed_after(graph, &is_done);
        }
        Ok(parts)
    }

    /// The host's place in the system.
    pub fn host(&self) -> usize {
        self.host
    }

    /// Its first stage among all of the schedule.
    pub fn first_stage(&self) -> StageId {
        self.first_stage
    }

    /// What it reads of a frame.
    pub fn inputs(&self) -> &[ValueId] {
        &self.inputs
    }

    /// What is needed of a frame when it leaves: what later stages read, and results, whichever stage made them.
    pub fn needed_after(&self) -> &[ValueId] {
        &self.needed_after
    }

    fn operators(&self) -> Vec<OperatorId> {
        self.stages.iter().flat_map(Stage::operators).collect()
    }

    /// The part as a network of its own, with the labels and cores that its host has itself.
    ///
    /// # Errors
    /// [`Error::Onnx`] if the part can't be a model of its own, [`Error::Schedule`] if its stages do not fit the board.
    pub fn load(&self, hosts: &Hosts, network: &Network, whole: &ScheduleDocument) -> Result<LoadedPart, Error> {
        let (graph, part) = (network.graph(), self.network(network)?);
        let host = hosts.system().hosts().get(self.host).ok_or(Error::Incomplete { what: "such host" })?;
        let schedule = self.schedule(graph, part.graph(), host)?;

        let machine = Machine::of_board(host.board.clone());
        let predicted = whole.predicted.replica_seconds.iter().skip(self.first_stage.index());
        let replica_seconds = predicted.take(self.stages.len()).cloned().collect();
        let predicted = Prediction { replica_seconds, searched: None, ..whole.predicted.clone() };
        let board = host.board.clone().with_engines_of(&engines_of(host, whole));
        let document = document(&schedule, predicted, &whole.algorithm, whole.objective, &part, &board);
        let scheduled = Scheduled::alone(part, document, &board)?;
        let part_graph = scheduled.network.graph();
        let (inputs, outputs) = border_in(graph, part_graph)?;
        Ok(LoadedPart { machine, scheduled, inputs, outputs })
    }

    /// The part's operators as a network of their own.
    pub(super) fn network(&self, network: &Network) -> Result<Network, Error> {
        let members: HashSet<OperatorId> = self.operators().into_iter().collect();
        let order = network.graph().order().iter().copied();
        let ordered: Vec<OperatorId> = order.filter(|id| members.contains(id)).collect();
        let sub_model = network.model().segment(&ordered, WeightStorage::Inline)?;
        Network::from_bytes(sub_model.bytes, network.source(), ReadOptions::default())
    }

    /// The stages with the operators of the part's network and the processors of the host's board.
    fn schedule(&self, whole: &Graph, part: &Graph, host: &Host) -> Result<Schedule, Error> {
        let ids: HashMap<&str, OperatorId> =
            part.operator_ids().map(|id| (part.operator(id).name.as_str(), id)).collect();
        let mut stages = self.stages.clone();
        let lost = |name: &str| Error::Defect(format!("the operator '{name}' is not in the part of its host"));
        let rename = |id: &mut OperatorId| -> Result<(), Error> {
            let name = whole.operator(*id).name.as_str();
            *id = ids.get(name).copied().ok_or_else(|| lost(name))?;
            Ok(())
        };
        for replica in stages.iter_mut().flat_map(|stage| &mut stage.replicas) {
            for assignment in &mut replica.assignments {
                assignment.operators.iter_mut().try_for_each(rename)?;
                let foreign = || Error::Unfit(format!("host '{}' has no {}", host.id, assignment.processor));
                assignment.processor = host.own(&assignment.processor).ok_or_else(foreign)?;
            }
            replica.splits.iter_mut().flat_map(|split| &mut split.operators).try_for_each(rename)?;
        }
        Ok(Schedule { stages })
    }
}

/// What a part takes and what it makes, in order, as values of the whole network.
pub(super) fn border_in(whole: &Graph, part: &Graph) -> Result<(Vec<ValueId>, Vec<ValueId>), Error> {
    let values: HashMap<&str, ValueId> = whole.value_ids().map(|id| (whole.value(id).name.as_str(), id)).collect();
    let names = |ids: &[ValueId]| -> Result<Vec<ValueId>, Error> {
        let known = |&id: &ValueId| values.get(part.value(id).name.as_str()).copied();
        let unknown = || Error::Defect("a part of a network has values that the network has not".to_owned());
        ids.iter().map(|id| known(id).ok_or_else(unknown)).collect()
    };
    Ok((names(part.inputs())?, names(part.outputs())?))
}

/// The engines that a schedule was planned for on one of its hosts, by the labels of the host's own board.
fn engines_of(host: &Host, whole: &ScheduleDocument) -> millstream_board::Engines {
    let on_host = |(label, engines): (&String, &millstream_board::EngineSet)| {
        let (name, label) = label.split_once('/')?;
        (name == host.id).then(|| (label.to_owned(), engines.clone()))
    };
    whole.board.engines.iter().filter_map(on_host).collect()
}

/// The place of the host that a stage is on.
fn place_of(hosts: &Hosts, stage: &Stage, id: StageId) -> Result<usize, Error> {
    let assignments = stage.replicas.iter().flat_map(|replica| &replica.assignments);
    let mut names = assignments.map(|assignment| host_of(&assignment.processor.cluster));
    let first = names.next().flatten();
    if names.any(|name| name != first) {
        return Err(ScheduleError::SeveralHosts { stage: id }.into());
    }
    let place = hosts.system().hosts().iter().position(|host| Some(host.id.as_str()) == first);
    let unknown = || Error::Unfit(format!("stage {id} is on no host of the system '{}'", hosts.system().name()));
    place.ok_or_else(unknown)
}

/// Values that are still needed once these operators have run, as [`millstream_schedule::crossing_bytes`] counts them.
fn needed_after(graph: &Graph, is_done: &HashSet<OperatorId>) -> Vec<ValueId> {
    let is_needed = |&value: &ValueId| {
        let is_read = graph.readers(value).iter().any(|reader| !is_done.contains(reader));
        match graph.producer(value) {
            Some(producer) => is_done.contains(&producer) && (graph.outputs().contains(&value) || is_read),
            None => graph.inputs().contains(&value) && is_read,
        }
    };
    graph.value_ids().filter(is_needed).collect()
}
