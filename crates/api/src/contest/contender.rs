//! What takes part in a comparison: our schedules and plain ONNX Runtime and OpenVINO.

use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream_backend::{Backend, Tensor};
use millstream_board::{Board, Cluster, Core, EngineName, Processor};
use millstream_machine::{CpuQuota, usable_cores};
use millstream_pipeline::{Objective, Plan};
use millstream_runtime::{Engine, EngineOptions};
use millstream_schedule::Schedule;

use super::measurement::Measurement;
use super::sessions::Sessions;
use crate::backends::core_engine::Plain;
use crate::error::Error;
use crate::measuring::steady;
use crate::network::Network;
use crate::plans::Plans;
use crate::schedules::engine;

/// One way to run a network.
pub(crate) struct Contender {
    pub(crate) name: String,
    /// The engine, if it is no schedule of ours.
    pub(crate) rival: Option<EngineName>,
    pub(crate) configuration: String,
    /// Whether results come in the order of the frames.
    pub(crate) in_order: bool,
    /// The schedule, if it is one of ours.
    pub(crate) own: Option<OwnSchedule>,
    runner: Runner,
}

/// A schedule of ours.
pub(crate) struct OwnSchedule {
    pub(crate) plan: Plan,
    /// The plan on cores.
    pub(crate) schedule: Schedule,
}

/// An engine that sessions are pinned with.
#[derive(Clone, Copy)]
pub(crate) struct PinnedEngine<'a> {
    pub(crate) name: EngineName,
    pub(crate) backend: &'a Arc<dyn Backend>,
}

enum Runner {
    Engine(Box<Engine>),
    Sessions(Sessions),
}

impl Contender {
    /// One of our schedules.
    pub(crate) fn schedule(
        network: &Network,
        plans: &Plans,
        plan: &Plan,
        objective: Objective,
        backend: &Arc<dyn Backend>,
    ) -> Result<Self, Error> {
        let schedule = plans.schedule(plan);
        let engine = engine::new(network, &schedule, backend, EngineOptions::default())?;
        Ok(Self {
            name: format!("millstream for {objective}"),
            rival: None,
            configuration: schedule.to_string(),
            in_order: true,
            own: Some(OwnSchedule { plan: plan.clone(), schedule }),
            runner: Runner::Engine(Box::new(engine)),
        })
    }

    /// An engine as it comes, on all cores.
    pub(crate) fn plain(network: &Network, board: &Board, engine: EngineName, plain: &Plain) -> Result<Self, Error> {
        let of_board = || board.cores().map(|core| core.id).collect();
        // The board of a container with a quota has fewer cores than an engine sees.
        let cores: Vec<_> = CpuQuota::detect().and_then(|_| usable_cores()).unwrap_or_else(of_board);
        let configuration = match plain.requests {
            1 => format!("{} cores", cores.len()),
            requests => format!("{} cores, {requests} at once", cores.len()),
        };
        let processors = vec![Processor::on_cores("all", cores); plain.requests];
        let sessions = Sessions::start(network, processors, &plain.backend, false)?;
        Ok(Self::sessions(engine, plain.name.clone(), configuration, plain.requests == 1, sessions))
    }

    /// One session of ONNX Runtime that is set up in some way.
    pub(crate) fn session(
        network: &Network,
        processor: Processor,
        backend: &Arc<dyn Backend>,
        is_pinned: bool,
    ) -> Result<Self, Error> {
        let configuration = processor.to_string();
        let sessions = Sessions::start(network, vec![processor], backend, is_pinned)?;
        Ok(Self::sessions(EngineName::OnnxRuntime, "ONNX Runtime".to_owned(), configuration, true, sessions))
    }

    /// One session pinned to the fastest cluster.
    pub(crate) fn session_on_fastest_cluster(
        network: &Network,
        board: &Board,
        PinnedEngine { name: engine, backend }: PinnedEngine<'_>,
    ) -> Result<Self, Error> {
        let cluster = board.clusters().first().ok_or(Error::Incomplete { what: "cluster" })?;
        let processor = cluster.processor(cluster.cores.iter().map(|core| core.id)).with_engine(engine);
        let configuration = processor.to_string();
        let sessions = Sessions::start(network, vec![processor], backend, true)?;
        Ok(Self::sessions(engine, format!("{}, fastest cluster", engine.title()), configuration, true, sessions))
    }

    /// A single-threaded session pinned to each core; a frame goes to whichever is free.
    pub(crate) fn instance_per_core(
        network: &Network,
        board: &Board,
        PinnedEngine { name: engine, backend }: PinnedEngine<'_>,
    ) -> Result<Self, Error> {
        let with_engine = |cluster: &Cluster, core: &Core| cluster.processor([core.id]).with_engine(engine);
        let clusters = board.clusters().iter();
        let processors: Vec<Processor> =
            clusters.flat_map(|cluster| cluster.cores.iter().map(|core| with_engine(cluster, core))).collect();
        let configuration = processors.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let in_order = processors.len() == 1;
        let sessions = Sessions::start(network, processors, backend, true)?;
        Ok(Self::sessions(
            engine,
            format!("{}, an instance per core", engine.title()),
            configuration,
            in_order,
            sessions,
        ))
    }

    fn sessions(engine: EngineName, name: String, configuration: String, in_order: bool, sessions: Sessions) -> Self {
        Self { name, rival: Some(engine), configuration, in_order, own: None, runner: Runner::Sessions(sessions) }
    }

    /// Works on copies of the frame for about the given time.
    pub(crate) fn measure(&self, frame: &[Tensor], time: Duration) -> Result<Measurement, Error> {
        match &self.runner {
            Runner::Engine(engine) => measure_engine(engine, frame, time),
            Runner::Sessions(sessions) => sessions.measure(frame, time),
        }
    }
}

fn measure_engine(engine: &Engine, frame: &[Tensor], time: Duration) -> Result<Measurement, Error> {
    engine.reset_metrics();
    let begin = Instant::now();
    let frames = std::iter::from_fn(|| (begin.elapsed() < time).then(|| frame.to_vec()));
    let mut latencies = Vec::new();
    let mut ends = Vec::new();
    for result in engine.run(frames) {
        latencies.push(result.latency().as_secs_f64());
        ends.extend(result.spans.last().map(|span| span.end));
        result.outcome.map_err(|source| Error::Frame { label: result.sequence.to_string(), source })?;
    }

    let metrics = engine.metrics();
    let depth: usize = metrics.iter().map(|stage| stage.replicas.len()).sum();
    let stage_seconds = metrics.iter().map(|stage| stage.slowest_mean().as_secs_f64()).sum();
    let interval = steady::interval(ends, depth, begin + time);
    let frames_per_second = interval.map_or(0.0, |interval| 1.0 / interval.as_secs_f64());
    Measurement::of(&latencies, frames_per_second, Some(stage_seconds))
}
