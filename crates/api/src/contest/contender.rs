//! What takes part in a comparison: our schedules and plain ONNX Runtime and OpenVINO.

use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream_backend::{Backend, Tensor};
use millstream_board::{Board, Cluster, Core, CoreId, EngineName, Processor};
use millstream_cost::Nanoseconds;
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
    /// Whether a frame is started only when the last one is done: where latency alone counts, so that no frame waits
    /// for another between two stages.
    pub(crate) is_one_at_a_time: bool,
}

impl OwnSchedule {
    /// What the plan says of the time between two frames.
    pub(crate) fn expected_period(&self) -> Nanoseconds {
        if self.is_one_at_a_time { self.plan.latency } else { self.plan.period }
    }
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
        let is_one_at_a_time = is_one_at_a_time(&schedule, objective);
        let options = EngineOptions::default().with_frames_in_flight(is_one_at_a_time.then_some(1));
        let engine = engine::new(network, &schedule, backend, options)?;
        Ok(Self {
            name: format!("millstream for {objective}"),
            rival: None,
            configuration: schedule.to_string(),
            in_order: true,
            own: Some(OwnSchedule { plan: plan.clone(), schedule, is_one_at_a_time }),
            runner: Runner::Engine(Box::new(engine)),
        })
    }

    /// An engine as it comes, on all cores.
    pub(crate) fn plain(network: &Network, board: &Board, engine: EngineName, plain: &Plain) -> Result<Self, Error> {
        // Boards of a part of a computer, or of a container with a quota, have fewer cores than an engine sees.
        let cores = usable_cores().unwrap_or_else(|| cores_of(board));
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

/// What rivals as they come have and our schedules do not: cores that the board leaves out. A container's quota leaves
/// some out for all of them.
pub(crate) fn advantage_of_plain(board: &Board) -> Option<String> {
    let usable = usable_cores().filter(|_| CpuQuota::detect().is_none())?;
    advantage(&cores_of(board), &usable)
}

fn cores_of(board: &Board) -> Vec<CoreId> {
    board.cores().map(|core| core.id).collect()
}

fn advantage(of_board: &[CoreId], usable: &[CoreId]) -> Option<String> {
    if usable.iter().all(|core| of_board.contains(core)) {
        return None;
    }
    let (ours, all) = (of_board.len(), usable.len());
    let list = of_board.iter().map(|core| core.0.to_string()).collect::<Vec<_>>().join(",");
    Some(format!(
        "engines as they come use all {all} cores of this computer, our schedules the {ours} of the board; to hold both \
         to these, start this with: taskset -c {list}"
    ))
}

/// Frames in the other stages of a pipeline make those that follow wait, which is no matter where many are to pass.
fn is_one_at_a_time(schedule: &Schedule, objective: Objective) -> bool {
    objective == Objective::Latency && schedule.stages.len() > 1
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

#[cfg(test)]
mod tests {
    use millstream_schedule::{Replica, Stage};

    use super::*;

    #[test]
    fn cores_that_only_rivals_use_are_named() {
        let cores = [0, 1, 2, 3].map(CoreId);
        assert_eq!(advantage(&cores, &cores), None);
        assert_eq!(advantage(&cores, &cores[..2]), None);
        let text = advantage(&cores[1..3], &cores).unwrap_or_default();
        assert!(text.contains("all 4 cores") && text.ends_with("taskset -c 1,2"), "{text}");
    }

    #[test]
    fn only_pipelines_for_latency_take_one_frame_at_a_time() {
        let stage = |core| Stage { replicas: vec![Replica::single(Processor::new("B", [core]), Vec::new())] };
        let (one, two) = (Schedule { stages: vec![stage(0)] }, Schedule { stages: vec![stage(0), stage(1)] });
        let objectives = [Objective::Throughput, Objective::Balanced, Objective::Latency];
        assert_eq!(objectives.map(|objective| is_one_at_a_time(&one, objective)), [false; 3]);
        assert_eq!(objectives.map(|objective| is_one_at_a_time(&two, objective)), [false, false, true]);
    }
}
