//! The process that disturbs the board: speeds that change, units that are lost and come back.

use crate::input::conditions::{DisturbanceKind, Unit};
use crate::outcome::SpeedChange;
use crate::processes::dispatcher::Dispatcher;
use crate::processes::installation::install;
use crate::state::cluster::Speed;
use crate::state::crossing::CrossingState;
use crate::state::ids::{FrameId, ReplicaIndex, StreamId};
use crate::state::numbered::Consecutive;

/// What the process changes: all that frames depend on.
pub(crate) struct FaultInjector<'s, 'a> {
    pub(crate) dispatcher: Dispatcher<'s, 'a>,
}

impl FaultInjector<'_, '_> {
    /// Lets something happen to the board.
    pub(crate) fn disturb(&mut self, kind: &DisturbanceKind) {
        match kind {
            DisturbanceKind::Speed { label, factor } => self.set_speed(label, *factor),
            DisturbanceKind::Link { link, factor } => {
                let (label, at) = (link.clone(), self.dispatcher.queue.now());
                self.dispatcher.links.set_speed(link, *factor);
                self.dispatcher.board.speed_changes.push(SpeedChange { at, label, factor: *factor });
            }
            DisturbanceKind::Lost(unit) => self.lose(unit),
            DisturbanceKind::Restored(unit) => self.restore(unit),
        }
    }

    /// Sets the part of its speed that disturbances leave a cluster.
    fn set_speed(&mut self, label: &str, factor: f64) {
        let (board, now) = (&mut *self.dispatcher.board, self.dispatcher.queue.now());
        let Some(cluster) = board.cluster(label) else { return };
        board.settle_all(now);
        let speed = Speed { disturbed: factor, ..board.clusters[cluster].speed };
        board.set_speed(cluster, speed, now);
    }

    /// Stops what needs a unit, and lets streams fall back that have lost all replicas of a stage.
    fn lose(&mut self, unit: &Unit) {
        self.dispatcher.board.lost.push(unit.clone());
        for replica_index in self.dispatcher.board.replicas_with(unit) {
            self.stop(replica_index);
        }
        for stream in self.dispatcher.streams.flows.numbers().iter() {
            let stages = &self.dispatcher.streams.flows[stream].stages;
            if stages.iter().any(|&stage| !self.dispatcher.board.has_replica(stage)) {
                self.fall_back(stream);
            }
            self.dispatcher.dispatch(stream);
        }
    }

    /// Stops a replica for good, and gives its frame to the others.
    fn stop(&mut self, replica_index: ReplicaIndex) {
        let (board, now) = (&mut *self.dispatcher.board, self.dispatcher.queue.now());
        let processor_indices = board.replicas[replica_index].processor_indices;
        for processor_index in processor_indices.iter() {
            board.remove_running(processor_index, now);
            board.processors[processor_index].stop();
        }

        let replica = &mut board.replicas[replica_index];
        replica.epoch += 1;
        replica.is_lost = true;
        if let Some(frame) = replica.frame.take() {
            self.dispatcher.streams.flows[replica.stream].give_back(replica.stage, frame);
        }
        processor_indices.iter().for_each(|processor_index| self.dispatcher.operators().wake_rivals(processor_index));
    }

    /// Lets the frames that are in the pipeline start again with the fallback, if there is one that has not taken over
    /// before.
    fn fall_back(&mut self, stream: StreamId) {
        let flow = &self.dispatcher.streams.flows[stream];
        let Some(fallback) = flow.network.fallback.filter(|_| flow.fell_back.is_none()) else { return };
        let mut frames: Vec<FrameId> = flow.queues.iter().flatten().chain(&flow.returned).copied().collect();
        for replica_index in flow.stages.clone().into_iter().flat_map(Consecutive::iter) {
            if !self.dispatcher.board.replicas[replica_index].is_lost {
                frames.extend(self.dispatcher.board.replicas[replica_index].frame.take());
                self.stop(replica_index);
            }
        }

        let now = self.dispatcher.queue.now();
        let flow = &mut self.dispatcher.streams.flows[stream];
        frames.extend(flow.crossings.iter().flatten().flat_map(CrossingState::frames));
        frames.sort_unstable();
        flow.generation += 1;
        flow.returned = frames.into();
        flow.in_flight = 0;
        flow.fell_back = Some(now);
        // It can't fail: the fallback was evaluated at the start.
        let _ = install(stream, fallback, self.dispatcher.board, self.dispatcher.streams);
        self.dispatcher.stagger(stream);
    }

    /// Gives a unit back to the replicas that need it and no other lost one.
    fn restore(&mut self, unit: &Unit) {
        let board = &mut *self.dispatcher.board;
        board.lost.retain(|lost| lost != unit);
        for replica_index in board.replicas_with(unit) {
            board.replicas[replica_index].is_lost = board.needs_lost_unit(replica_index);
        }
        self.dispatcher.dispatch_all();
    }
}
