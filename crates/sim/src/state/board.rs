//! The board while frames flow: its replicas, processors and clusters, how fast they are, and what has been taken away.

use millstream_board::host_of;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_schedule::StageId;
use millstream_schedule::execution::ProcessorId;

use crate::input::conditions::Unit;
use crate::outcome::{PerProcessor, SpeedChange};
use crate::replica_plan::ReplicaPlan;
use crate::state::cluster::{ClusterState, Speed};
use crate::state::events::{Event, ReplicaStep};
use crate::state::ids::{BoardProcessorIndex, ClusterIndex, ReplicaIndex, StreamId};
use crate::state::numbered::{Consecutive, Numbered};
use crate::state::processor::{ProcessorState, Progress};
use crate::state::replica::ReplicaState;

/// The replicas of each stage of a schedule.
pub(crate) type StageReplicas = Numbered<StageId, Consecutive<ReplicaIndex>>;

/// Replicas, processors and clusters, of all schedules of all streams.
///
/// Their places never change: replicas and processors of a schedule that was replaced stay, and are idle.
pub(crate) struct BoardState {
    pub(crate) replicas: Numbered<ReplicaIndex, ReplicaState>,
    pub(crate) processors: Numbered<BoardProcessorIndex, ProcessorState>,
    /// Clusters and accelerators.
    pub(crate) clusters: Numbered<ClusterIndex, ClusterState>,
    /// What has been taken away.
    pub(crate) lost: Vec<Unit>,
    /// Whether speeds of operators can change while they run.
    has_changing_speeds: bool,
    /// The processors that run an operator, in the order of their starts, if speeds can change.
    running: Vec<BoardProcessorIndex>,
    /// Whether something has changed that speeds of running operators depend on.
    are_speeds_due: bool,
    /// Changes of the speed of clusters, in the order of time.
    pub(crate) speed_changes: Vec<SpeedChange>,
}

impl BoardState {
    pub(crate) fn new(has_changing_speeds: bool) -> Self {
        Self {
            replicas: Numbered::default(),
            processors: Numbered::default(),
            clusters: Numbered::default(),
            lost: Vec::new(),
            has_changing_speeds,
            running: Vec::new(),
            are_speeds_due: false,
            speed_changes: Vec::new(),
        }
    }

    /// Adds the replicas of a stream's schedule.
    pub(crate) fn add(&mut self, stream: StreamId, stages: Vec<Vec<ReplicaPlan>>, table: &CostTable) -> StageReplicas {
        let mut added = StageReplicas::with_capacity(stages.len());
        for replicas in stages {
            let (stage, first) = (added.next_number(), self.replicas.next_number());
            for (number, plan) in replicas.into_iter().enumerate() {
                let processor_indices = self.add_processors(&plan, table);
                self.replicas.push(ReplicaState::new(stream, stage, number, plan, processor_indices));
            }
            added.push(self.replicas.numbers_from(first));
        }

        // What was lost before is not there for another schedule either.
        for unit in self.lost.clone() {
            self.replicas_with(&unit).into_iter().for_each(|index| self.replicas[index].is_lost = true);
        }
        added
    }

    /// Adds the processors of the next replica.
    fn add_processors(&mut self, plan: &ReplicaPlan, table: &CostTable) -> Consecutive<BoardProcessorIndex> {
        let (replica_index, first) = (self.replicas.next_number(), self.processors.next_number());
        for (number, processor) in ProcessorId::all(plan.processors.len()).zip(&plan.processors) {
            let cluster = self.cluster_or_new(&processor.cluster);
            self.processors.push(ProcessorState::new(replica_index, number, processor, cluster, table));
        }
        self.processors.numbers_from(first)
    }

    /// A cluster or an accelerator, which is added if it is new.
    fn cluster_or_new(&mut self, label: &str) -> ClusterIndex {
        let new = || ClusterState { label: label.to_owned(), speed: Speed::FULL };
        self.cluster(label).unwrap_or_else(|| self.clusters.push(new()))
    }

    /// The cluster or the accelerator of a label.
    pub(crate) fn cluster(&self, label: &str) -> Option<ClusterIndex> {
        self.clusters.enumerate().find(|(_, cluster)| cluster.label == label).map(|(index, _)| index)
    }

    /// Tells every processor which others need the same cores, among those whose replicas are in use.
    pub(crate) fn find_rivals(&mut self, is_in_use: impl Fn(ReplicaIndex) -> bool) {
        let rivals = |processor: &ProcessorState| -> Vec<BoardProcessorIndex> {
            let is_rival = |rival: &ProcessorState| {
                rival.replica_index != processor.replica_index
                    && is_in_use(rival.replica_index)
                    && processor.shares_units_with(rival)
            };
            let rivals = self.processors.enumerate().filter(|(_, rival)| is_rival(rival));
            rivals.map(|(index, _)| index).collect()
        };
        let all: Vec<Vec<BoardProcessorIndex>> = self.processors.iter().map(rivals).collect();
        self.processors.iter_mut().zip(all).for_each(|(processor, rivals)| processor.rivals = rivals);
    }

    /// The replicas that need a unit.
    pub(crate) fn replicas_with(&self, unit: &Unit) -> Vec<ReplicaIndex> {
        let processors = self.processors.iter().filter(|processor| self.needs(processor, unit));
        let mut replicas: Vec<ReplicaIndex> = processors.map(|processor| processor.replica_index).collect();
        replicas.dedup();
        replicas
    }

    /// Whether a replica needs a unit that is lost.
    pub(crate) fn needs_lost_unit(&self, replica_index: ReplicaIndex) -> bool {
        let processors = &self.processors[self.replicas[replica_index].processor_indices];
        processors.iter().any(|processor| self.lost.iter().any(|unit| self.needs(processor, unit)))
    }

    /// Whether a processor can't work without a unit.
    fn needs(&self, processor: &ProcessorState, unit: &Unit) -> bool {
        match unit {
            Unit::Host(host) => host_of(&self.clusters[processor.cluster].label) == Some(host.as_str()),
            Unit::Core(_) | Unit::Accelerator(_) => processor.units.contains(unit),
        }
    }

    /// Whether a stage, given as its replicas, has one that is not lost.
    pub(crate) fn has_replica(&self, stage: Consecutive<ReplicaIndex>) -> bool {
        self.replicas[stage].iter().any(|replica| !replica.is_lost)
    }

    /// A step of a replica as it is now.
    pub(crate) fn event(&self, replica_index: ReplicaIndex, step: ReplicaStep) -> Event {
        Event::Replica { replica_index, epoch: self.replicas[replica_index].epoch, step }
    }

    /// Whether an event belongs to a replica that was stopped after it was scheduled.
    pub(crate) fn is_void(&self, event: &Event) -> bool {
        matches!(*event, Event::Replica { replica_index, epoch, .. } if self.replicas[replica_index].epoch != epoch)
    }

    /// Counts a time in which a processor worked.
    pub(crate) fn record_work(&mut self, processor_index: BoardProcessorIndex, time: Nanoseconds) {
        let processor = &mut self.processors[processor_index];
        let power = self.clusters[processor.cluster].speed.power_factor();
        processor.busy += time;
        processor.joules += time.0 as f64 * 1e-9 * processor.dynamic_watts * power;
    }

    /// Something of every processor of some stages.
    pub(crate) fn of_processors<T>(
        &self,
        stages: &StageReplicas,
        of: impl Fn(&ProcessorState) -> T,
    ) -> PerProcessor<T> {
        let of_replica =
            |replica: &ReplicaState| -> Vec<T> { self.processors[replica.processor_indices].iter().map(&of).collect() };
        stages.iter().map(|&replicas| self.replicas[replicas].iter().map(of_replica).collect()).collect()
    }
}

/// Operators whose speed can change while they run.
impl BoardState {
    /// Whether speeds of operators can change while they run.
    pub(crate) fn has_changing_speeds(&self) -> bool {
        self.has_changing_speeds
    }

    /// The processors that run an operator, in the order of their starts.
    pub(crate) fn running(&self) -> &[BoardProcessorIndex] {
        &self.running
    }

    /// A processor has started a task, at a speed that is still to be set.
    pub(crate) fn add_running(&mut self, processor_index: BoardProcessorIndex, progress: Progress) {
        self.processors[processor_index].progress = Some(progress);
        self.running.push(processor_index);
        self.are_speeds_due = true;
    }

    /// A processor has ended its task, or is to stop it.
    pub(crate) fn remove_running(&mut self, processor_index: BoardProcessorIndex, now: Nanoseconds) {
        self.settle(processor_index, now);
        self.running.retain(|&running| running != processor_index);
        self.processors[processor_index].progress = None;
        self.are_speeds_due = true;
    }

    /// Counts what a processor's task has done since it last was counted, before its speed changes.
    pub(crate) fn settle(&mut self, processor_index: BoardProcessorIndex, now: Nanoseconds) {
        let Some(progress) = &mut self.processors[processor_index].progress else { return };
        let passed = now - progress.since;
        progress.since = now;
        progress.left = (progress.left - passed.0 as f64 * progress.rate).max(0.0);
        self.record_work(processor_index, passed);
    }

    /// Counts what all running tasks have done, before speeds of clusters change.
    pub(crate) fn settle_all(&mut self, now: Nanoseconds) {
        (0..self.running.len()).for_each(|index| self.settle(self.running[index], now));
    }

    /// Changes the speed of a cluster, whose tasks have been settled.
    pub(crate) fn set_speed(&mut self, cluster: ClusterIndex, speed: Speed, now: Nanoseconds) {
        let ClusterState { label, speed: of_cluster } = &mut self.clusters[cluster];
        *of_cluster = speed;
        self.are_speeds_due = true;
        let change = SpeedChange { at: now, label: label.clone(), factor: speed.factor() };
        self.speed_changes.push(change);
    }

    /// Whether speeds of running operators have to be set anew; they count as set from then on.
    pub(crate) fn take_speeds_due(&mut self) -> bool {
        std::mem::take(&mut self.are_speeds_due)
    }
}
