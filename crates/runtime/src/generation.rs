//! The workers of one schedule.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use crossbeam_channel::{Sender, bounded};
use millstream_backend::{Backend, Tensor};
use millstream_graph::Graph;
use millstream_schedule::{Assignment, Schedule};

use crate::metrics::Recorder;
use crate::packet::Packet;
use crate::route::Route;
use crate::team::{Ready, Team};
use crate::worker::Worker;
use crate::{EngineOptions, RuntimeError, StageMetrics};

/// A schedule at work. When the entrance is dropped, the frames in flight finish and the workers end.
pub(crate) struct Generation {
    pub(crate) schedule: Schedule,
    pub(crate) route: Arc<Route>,
    pub(crate) entrance: Sender<Packet>,
    pub(crate) warnings: Vec<String>,
    replicas: Vec<Vec<(Arc<Recorder>, Arc<Team>)>>,
}

/// Where frames go when a device is lost.
#[derive(Clone)]
pub(crate) struct Fallback {
    route: Arc<Route>,
    entrance: Sender<Packet>,
    is_called: Arc<AtomicBool>,
}

impl Fallback {
    /// Notes that new frames had better go to the fallback.
    pub(crate) fn call(&self) {
        self.is_called.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_called(&self) -> bool {
        self.is_called.load(Ordering::SeqCst)
    }

    /// Starts a frame again.
    pub(crate) fn take_over(&self, mut packet: Packet) {
        let frame = std::mem::take(&mut packet.frame);
        packet.enter(&self.route, frame);
        packet.spans.clear();
        packet.steps.clear();
        packet.queued = Instant::now();
        // The entrance is open as long as this exists.
        let _ = self.entrance.send(packet);
    }
}

impl Generation {
    /// Starts the workers of a schedule, whose results go to `exit`, and waits until all of them are ready. Their threads are
    /// added to `threads`, also on an error.
    pub(crate) fn start(
        graph: &Arc<Graph>,
        schedule: &Schedule,
        backends: &[Arc<dyn Backend>],
        options: &EngineOptions,
        exit: &Sender<Packet>,
        fallback: Option<&Fallback>,
        threads: &mut Vec<JoinHandle<()>>,
    ) -> Result<Self, RuntimeError> {
        if schedule.stages.is_empty() {
            return Err(RuntimeError::Empty);
        }
        let route = Arc::new(Route::new(graph, schedule)?);
        let in_flight = options.in_flight(schedule);
        // As many frames wait at the door as may be inside, so that the first stage need not wait for a caller who submits
        // whenever a result comes out.
        let (entrance, mut incoming) = bounded(in_flight);
        // Holds one token per frame in flight.
        let tokens = bounded(in_flight);
        let workers: usize =
            schedule.stages.iter().flat_map(|stage| &stage.replicas).map(|replica| replica.assignments.len()).sum();
        let (ready_sender, ready) = bounded::<Ready>(workers);
        let mut started = Self {
            schedule: schedule.clone(),
            route: Arc::clone(&route),
            entrance,
            warnings: Vec::new(),
            replicas: Vec::with_capacity(schedule.stages.len()),
        };
        for (index, stage) in schedule.stages.iter().enumerate() {
            let is_last = index + 1 == schedule.stages.len();
            let (outgoing, next_incoming) =
                if is_last { (exit.clone(), crossbeam_channel::never()) } else { bounded(in_flight) };
            let mut own = Vec::with_capacity(stage.replicas.len());
            for (replica_index, replica) in stage.replicas.iter().enumerate() {
                let chosen = replica.assignments.iter().map(|assignment| select(backends, graph, assignment, index));
                let team = Arc::new(Team::new(
                    (index, replica_index),
                    replica,
                    chosen.collect::<Result<_, _>>()?,
                    graph,
                    options,
                ));
                if !team.is_complete() {
                    return Err(RuntimeError::UnknownSize { stage: index + 1 });
                }
                let recorder = Arc::new(Recorder::new());
                own.push((Arc::clone(&recorder), Arc::clone(&team)));
                let worker = Worker {
                    stage: index,
                    replica: replica_index,
                    team: Arc::clone(&team),
                    route: route.stages[index].clone(),
                    incoming: incoming.clone(),
                    outgoing: outgoing.clone(),
                    tokens: tokens.clone(),
                    is_first: index == 0,
                    is_last,
                    fallback: fallback.cloned(),
                    recorder,
                };
                let ready = ready_sender.clone();
                let name = format!("stage {}.{}", index + 1, replica_index + 1);
                // The leader first: when it ends, it ends the others.
                threads.push(std::thread::Builder::new().name(name.clone()).spawn(move || worker.run(&ready))?);
                for position in 1..team.size() {
                    let (team, ready) = (Arc::clone(&team), ready_sender.clone());
                    let follow = move || {
                        if let Some(segments) = team.prepare(position, &ready) {
                            drop(ready);
                            team.follow(position, segments);
                        }
                    };
                    let name = format!("{name}.{}", position + 1);
                    threads.push(std::thread::Builder::new().name(name).spawn(follow)?);
                }
            }
            started.replicas.push(own);
            incoming = next_incoming;
        }
        drop(ready_sender);
        for _ in 0..workers {
            // On an error the entrance is dropped, which ends the workers.
            started.warnings.extend(ready.recv().map_err(|_| RuntimeError::Stopped)??);
        }
        Ok(started)
    }

    /// This generation as a place for frames to go when a device is lost.
    pub(crate) fn as_fallback(&self) -> Fallback {
        Fallback { route: Arc::clone(&self.route), entrance: self.entrance.clone(), is_called: Arc::default() }
    }

    pub(crate) fn metrics(&self) -> Vec<StageMetrics> {
        let stage = |replicas: &Vec<(Arc<Recorder>, Arc<Team>)>| StageMetrics {
            replicas: replicas.iter().map(|(recorder, team)| recorder.metrics(team.busy())).collect(),
        };
        self.replicas.iter().map(stage).collect()
    }

    pub(crate) fn reset_metrics(&self) {
        for (recorder, team) in self.replicas.iter().flatten() {
            recorder.reset();
            team.reset_busy();
        }
    }

    /// A frame that is to enter.
    pub(crate) fn packet(&self, frame: Vec<Tensor>, keeps_frame: bool) -> Packet {
        Packet::new(&self.route, frame, self.replicas.len(), keeps_frame)
    }
}

fn select(
    backends: &[Arc<dyn Backend>],
    graph: &Graph,
    assignment: &Assignment,
    stage: usize,
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
            stage: stage + 1,
            processor: processor.clone(),
        }
    })
}
