//! The loop of a simulation: events in the order of time, each handled by the process that it belongs to.

use millstream_schedule::ScheduleError;

use crate::error::SimulationError;
use crate::input::conditions::{Conditions, DisturbanceKind};
use crate::input::simulated_network::SimulatedNetwork;
use crate::input::wanted_memory::may_compete_for_memory;
use crate::outcome::Simulation;
use crate::processes::dispatcher::Dispatcher;
use crate::processes::fault_injector::FaultInjector;
use crate::processes::installation::install;
use crate::processes::operator_speeds::update_speeds;
use crate::processes::throttling::{initial_temperatures, update_temperatures};
use crate::run::report::outcomes;
use crate::state::board::BoardState;
use crate::state::events::{Event, EventQueue, ReplicaStep};
use crate::state::ids::{DisturbanceId, ReplicaIndex};
use crate::state::link_occupancy::LinkOccupancy;
use crate::state::noise::Noise;
use crate::state::numbered::Number;
use crate::state::streams::Streams;
use crate::state::temperature::ClusterTemperature;

/// Events between two questions whether the simulation is cancelled.
const EVENTS_UNTIL_ASKED: u64 = 4096;

/// The parts of a simulation's state.
pub(crate) struct EventLoop<'a> {
    conditions: &'a Conditions,
    queue: EventQueue,
    noise: Noise,
    board: BoardState,
    links: LinkOccupancy,
    streams: Streams<'a>,
    /// Temperatures of clusters, where they are simulated.
    temperatures: Vec<ClusterTemperature>,
    /// Whether processors can compete for memory.
    may_compete_for_memory: bool,
}

impl<'a> EventLoop<'a> {
    pub(crate) fn new(networks: &'a [SimulatedNetwork<'a>], conditions: &'a Conditions) -> Result<Self, ScheduleError> {
        let changes_speed = |kind: &DisturbanceKind| matches!(kind, DisturbanceKind::Speed { .. });
        let has_changing_speeds = conditions.memory_bytes_per_second.is_some()
            || !conditions.thermals.is_empty()
            || conditions.disturbances.iter().any(|disturbance| changes_speed(&disturbance.kind));
        let mut board = BoardState::new(has_changing_speeds);
        let mut streams = Streams::new(networks);
        for stream in streams.flows.numbers().iter() {
            let network = streams.flows[stream].network;
            if let Some(fallback) = network.fallback {
                fallback.evaluate(network.graph, network.table)?;
            }
            install(stream, network.schedule, &mut board, &mut streams)?;
        }

        Ok(Self {
            conditions,
            queue: EventQueue::default(),
            noise: Noise::new(conditions.noise, conditions.seed),
            board,
            links: LinkOccupancy::default(),
            streams,
            temperatures: Vec::new(),
            may_compete_for_memory: may_compete_for_memory(networks, conditions),
        })
    }

    /// Lets clusters heat up as the conditions say.
    pub(crate) fn with_temperatures(self) -> Result<Self, SimulationError> {
        Ok(Self { temperatures: initial_temperatures(&self.conditions.thermals, &self.board)?, ..self })
    }

    /// Handles events until none is left. False if it was cancelled before.
    pub(crate) fn run(&mut self, is_cancelled: &dyn Fn() -> bool) -> bool {
        self.start();
        self.update_speeds();
        while let Some(event) = self.queue.next(|event| self.board.is_void(event)) {
            if self.queue.handled().is_multiple_of(EVENTS_UNTIL_ASKED) && is_cancelled() {
                return false;
            }
            self.handle(event);
            self.update_speeds();
        }
        true
    }

    /// What every stream showed.
    pub(crate) fn outcomes(self) -> Vec<Simulation> {
        outcomes(self.streams, &self.board, self.queue.handled())
    }

    /// Schedules what the conditions say, and gives stages their first frames.
    fn start(&mut self) {
        for (index, disturbance) in self.conditions.disturbances.iter().enumerate() {
            self.queue.at(disturbance.at, Event::Disturbance(DisturbanceId::new(index)));
        }
        // Whoever takes turns with others may begin with the first of them.
        self.streams.flows.numbers().iter().for_each(|stream| self.dispatcher().stagger(stream));
        for stream in self.streams.flows.numbers().iter() {
            if let Some(interval) = self.streams.flows[stream].network.interval {
                self.queue.at(interval, Event::FrameArrived { stream });
            }
            self.dispatcher().dispatch(stream);
        }
        if !self.temperatures.is_empty() {
            self.queue.at(ClusterTemperature::TICK, Event::TemperatureTick);
        }
    }

    /// Lets the process that an event belongs to handle it.
    fn handle(&mut self, event: Event) {
        match event {
            Event::Replica { replica_index, step, .. } => self.advance(replica_index, step),
            Event::MayBegin { stream } => self.dispatcher().dispatch(stream),
            Event::LinkFree => self.dispatcher().dispatch_all(),
            Event::Crossed(crossed) => self.dispatcher().frame_crossed(crossed),
            Event::FrameArrived { stream } => self.dispatcher().frame_arrived(stream),
            Event::Disturbance(id) => {
                let conditions = self.conditions;
                if let Some(disturbance) = conditions.disturbances.get(id.index()) {
                    FaultInjector { dispatcher: self.dispatcher() }.disturb(&disturbance.kind);
                }
            }
            Event::TemperatureTick => self.tick(),
        }
    }

    /// Updates temperatures, and schedules the next update.
    fn tick(&mut self) {
        let now = self.queue.now();
        update_temperatures(&mut self.temperatures, &mut self.board, now);
        // Without other events all frames are done, or none will ever be.
        if !self.queue.is_empty() && self.streams.has_frames_left() {
            self.queue.at(now + ClusterTemperature::TICK, Event::TemperatureTick);
        }
    }

    /// A replica is through with a step.
    fn advance(&mut self, replica_index: ReplicaIndex, step: ReplicaStep) {
        let keeps_spans = self.conditions.keeps_spans;
        let mut dispatcher = self.dispatcher();
        let mut operators = dispatcher.operators();
        match step {
            ReplicaStep::TakenOver => {
                operators.frame_taken_over(replica_index);
                dispatcher.finish_if_done(replica_index);
            }
            ReplicaStep::InputsArrived(processor) => operators.start_next(replica_index, processor),
            ReplicaStep::TaskEnded { processor, version } => {
                let Some(ended) = operators.end(replica_index, processor, version) else { return };
                let replica = &dispatcher.board.replicas[replica_index];
                if let Some(frame) = replica.frame.filter(|_| keeps_spans) {
                    let spans = &mut dispatcher.streams.flows[replica.stream].spans;
                    spans.push(replica.span(processor, frame, ended));
                }
                dispatcher.finish_if_done(replica_index);
            }
            ReplicaStep::Sent(processor) => operators.release(replica_index, processor),
            ReplicaStep::Fetched(processor) => operators.fetched(replica_index, processor),
        }
    }

    /// Gives operators the speeds that they have after an event.
    fn update_speeds(&mut self) {
        update_speeds(&mut self.queue, &mut self.board, self.conditions.memory_bytes_per_second);
    }

    /// The process that moves frames.
    fn dispatcher(&mut self) -> Dispatcher<'_, 'a> {
        Dispatcher {
            queue: &mut self.queue,
            board: &mut self.board,
            links: &mut self.links,
            streams: &mut self.streams,
            noise: &mut self.noise,
            keeps_all_busy: self.conditions.keeps_all_busy,
            staggers_replicas: self.may_compete_for_memory,
        }
    }
}
