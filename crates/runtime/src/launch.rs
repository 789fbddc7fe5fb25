//! Starting a schedule's threads.

use std::sync::Arc;

use millstream_backend::Backend;
use millstream_graph::Graph;
use millstream_schedule::{Assignment, Replica, Schedule, StageId};

use crate::dispatch::Dispatch;
use crate::error::RuntimeError;
use crate::generation::Generation;
use crate::generation_id::GenerationId;
use crate::led_team::{follow, lead};
use crate::memory_release::MemoryRelease;
use crate::options::EngineOptions;
use crate::packet::Packet;
use crate::permits::Permits;
use crate::replica_id::ReplicaId;
use crate::replica_state::ReplicaState;
use crate::route::Route;
use crate::sync::channel::{Receiver, Sender, bounded};
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex};
use crate::team::Ready;
use crate::team_factory::TeamFactory;
use crate::worker::{Replicas, Worker};

/// What it takes to start a schedule.
#[derive(Clone, Copy)]
pub(crate) struct Start<'a> {
    pub(crate) graph: &'a Arc<Graph>,
    pub(crate) backends: &'a [Arc<dyn Backend>],
    pub(crate) options: &'a EngineOptions,
    pub(crate) dispatch: &'a Arc<Dispatch>,
}

/// What the replicas of a stage have in common.
pub(crate) struct StageLaunch<'a> {
    generation: GenerationId,
    stage: StageId,
    route: &'a Route,
    incoming: Receiver<Packet>,
    outgoing: Sender<Packet>,
    in_flight: Permits,
    keeps_frames: &'a Arc<AtomicBool>,
    ready: &'a Sender<Ready>,
    memory_release: &'a Arc<MemoryRelease>,
}

impl Generation {
    /// Starts the workers of a schedule, and waits until all of them are ready. On an error those that started end by
    /// themselves.
    pub(crate) fn start(start: Start<'_>, schedule: &Schedule) -> Result<Self, RuntimeError> {
        if schedule.stages.is_empty() {
            return Err(RuntimeError::Empty);
        }
        let route = Arc::new(Route::new(start.graph, schedule)?);
        start.backends.iter().for_each(|backend| backend.begin_schedule());

        let in_flight = start.options.in_flight(schedule);
        // As many frames wait at the entrance as may be in flight, so that the first stage need not wait for a caller
        // who submits whenever a result comes out.
        let (entrance, mut incoming) = bounded(in_flight);
        // One for each frame in flight.
        let permits = Permits::new(in_flight);

        let workers: usize = schedule.stages.iter().flat_map(|stage| &stage.replicas).map(size).sum();
        let (ready, are_ready) = bounded::<Ready>(workers);
        let id = start.dispatch.next_id();
        let keeps_frames = Arc::new(AtomicBool::new(false));
        let memory_release = Arc::new(MemoryRelease);
        let mut started = Self {
            id,
            schedule: schedule.clone(),
            route: Arc::clone(&route),
            entrance,
            keeps_frames: Arc::clone(&keeps_frames),
            replicas: Vec::new(),
        };

        for (stage_id, stage) in schedule.numbered_stages() {
            let is_last = stage_id.number() == schedule.stages.len();
            let next = (!is_last).then(|| bounded(in_flight));
            let outgoing = next.as_ref().map_or_else(|| start.dispatch.exit.clone(), |(outgoing, _)| outgoing.clone());
            let launch = StageLaunch {
                generation: id,
                stage: stage_id,
                route: &route,
                incoming,
                outgoing,
                in_flight: permits.clone(),
                keeps_frames: &keeps_frames,
                ready: &ready,
                memory_release: &memory_release,
            };
            started.replicas.push(launch.start(start, &stage.replicas)?);
            let Some((_, next)) = next else { break };
            incoming = next;
        }

        drop(ready);
        for _ in 0..workers {
            // On an error the entrance is dropped, which ends the workers.
            let warning = are_ready.recv().map_err(|_| RuntimeError::Stopped)??;
            warning.into_iter().for_each(|warning| start.dispatch.warn(warning));
        }
        Ok(started)
    }
}

impl StageLaunch<'_> {
    /// Starts the threads of a stage.
    fn start(&self, start: Start<'_>, replicas: &[Replica]) -> Result<Vec<Arc<ReplicaState>>, RuntimeError> {
        let count = replicas.len();
        let shared = Arc::new(Replicas { working: AtomicUsize::new(count), awaited: Mutex::new(count) });
        let start_one = |(index, replica)| {
            self.start_replica(start, ReplicaId { stage: self.stage, replica: index }, replica, &shared)
        };
        replicas.iter().enumerate().map(start_one).collect()
    }

    fn start_replica(
        &self,
        start: Start<'_>,
        id: ReplicaId,
        replica: &Replica,
        replicas: &Arc<Replicas>,
    ) -> Result<Arc<ReplicaState>, RuntimeError> {
        let Start { graph, backends, options, dispatch } = start;
        let chosen = replica.assignments.iter().map(|assignment| select(backends, graph, assignment, id));
        let busy: Arc<[AtomicU64]> = replica.assignments.iter().map(|_| AtomicU64::new(0)).collect();

        let factory = TeamFactory {
            id,
            replica: replica.clone(),
            backends: chosen.collect::<Result<_, _>>()?,
            graph: Arc::clone(graph),
            options: *options,
            busy: Arc::clone(&busy),
            memory_release: Arc::clone(self.memory_release),
        };
        let team = factory.team()?;
        let state = Arc::new(ReplicaState::new(Arc::clone(&team), busy, options, self.in_flight.clone()));
        dispatch.register(&state);

        let worker = Worker {
            id,
            generation: self.generation,
            route: self.route.stages[self.stage.index()].clone(),
            incoming: self.incoming.clone(),
            outgoing: self.outgoing.clone(),
            in_flight: self.in_flight.clone(),
            keeps_frames: Arc::clone(self.keeps_frames),
            is_first: self.stage == StageId::FIRST,
            is_last: self.stage.number() == self.route.stages.len(),
            dispatch: Arc::clone(dispatch),
            state: Arc::clone(&state),
            factory: Arc::new(factory),
            replicas: Arc::clone(replicas),
        };

        let name = worker.name();
        let (led, ready) = (Arc::clone(&team), self.ready.clone());
        let work = move || {
            if let Some(led) = lead(&led, &ready) {
                drop(ready);
                Arc::new(worker).serve(led);
            }
        };
        // The leader first: when it ends, it ends the others.
        dispatch.threads.spawn(&name, work)?;
        follow(&team, &dispatch.threads, &name, self.ready)?;
        Ok(state)
    }
}

/// How many processors, and so threads, a replica has.
fn size(replica: &Replica) -> usize {
    replica.assignments.len()
}

/// The first backend that runs all operators of a processor.
fn select(
    backends: &[Arc<dyn Backend>],
    graph: &Graph,
    assignment: &Assignment,
    replica: ReplicaId,
) -> Result<Arc<dyn Backend>, RuntimeError> {
    let processor = &assignment.processor;
    let runs_all = |backend: &&Arc<dyn Backend>| {
        assignment.operators.iter().all(|&operator| backend.supports(operator, processor))
    };
    backends.iter().find(runs_all).cloned().ok_or_else(|| {
        let runs = |&&operator: &&_| backends.iter().any(|backend| backend.supports(operator, processor));
        let operator = assignment.operators.iter().find(|operator| !runs(operator)).or(assignment.operators.first());
        RuntimeError::NoBackend {
            operator: operator.map_or(String::new(), |&operator| graph.operator(operator).name.clone()),
            stage: replica.stage,
            processor: processor.clone(),
        }
    })
}
