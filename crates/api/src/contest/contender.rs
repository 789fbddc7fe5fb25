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
    /// What the plan says of the time between two frames. `None` where one at a time goes through unlike replicas: which
    /// of them it meets is not planned.
    pub(crate) fn expected_period(&self) -> Option<Nanoseconds> {
        if !self.is_one_at_a_time {
            return Some(self.plan.period);
        }
        let is_single = self.plan.stages.iter().all(|stage| stage.replicas.len() == 1);
        is_single.then_some(self.plan.latency)
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
        let engine = engine::new(network, &schedule, backend, options(is_one_at_a_time))?;
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
        let cores = cores_seen(board, plain.sees_all, has_quota(), usable_cores());
        let used = cores_used(board, plain.sees_all, &cores, &left_out_by(board));
        let configuration = match plain.requests {
            1 => format!("{used} cores"),
            requests => format!("{used} cores, {requests} at once"),
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
            Runner::Engine(engine) => {
                let is_one_at_a_time = self.own.as_ref().is_some_and(|own| own.is_one_at_a_time);
                measure_engine(engine, frame, time, is_one_at_a_time)
            }
            Runner::Sessions(sessions) => sessions.measure(frame, time),
        }
    }
}

/// The cores that an engine as it comes computes on: those of the board, or all that there are if it sees these, their
/// hardware threads included. The board of a container with a quota has fewer cores than any engine sees.
fn cores_seen(board: &Board, sees_all: bool, has_quota: bool, usable: Option<Vec<CoreId>>) -> Vec<CoreId> {
    usable.filter(|_| sees_all || has_quota).unwrap_or_else(|| cores_of(board))
}

/// Of how many cores that is the computing: hardware threads of one core count once, but under a quota, where nothing is
/// known of the cores that the board lacks.
fn cores_used(board: &Board, sees_all: bool, seen: &[CoreId], left_out: &[CoreId]) -> usize {
    let of_board = cores_of(board).len();
    if sees_all && !left_out.is_empty() { of_board + left_out.len() } else { seen.len() }
}

/// How a schedule of ours runs.
fn options(is_one_at_a_time: bool) -> EngineOptions {
    EngineOptions::default().with_frames_in_flight(is_one_at_a_time.then_some(1))
}

/// Cores that this process may use and a board leaves out, one thread of each: what OpenVINO computes on beyond the
/// board with its hints, and ONNX Runtime by default. None where the board is that of a container's quota, which leaves them out for
/// everybody.
pub(crate) fn left_out_by(board: &Board) -> Vec<CoreId> {
    let usable = usable_cores().filter(|_| !has_quota()).unwrap_or_default();
    left_out(board, usable)
}

fn left_out(board: &Board, usable: Vec<CoreId>) -> Vec<CoreId> {
    let has = |core: &CoreId| board.cores().any(|own| own.id == *core || own.siblings.contains(core));
    usable.into_iter().filter(|core| !has(core)).collect()
}

/// Whether a container's quota holds here.
fn has_quota() -> bool {
    CpuQuota::detect().is_ok_and(|quota| quota.is_some())
}

pub(super) fn cores_of(board: &Board) -> Vec<CoreId> {
    board.cores().map(|core| core.id).collect()
}

/// Whether a schedule for an objective takes one frame at a time: frames in other stages make those that follow wait, and
/// results of quick replicas wait for slow ones. That is no matter where many frames are to pass.
pub(crate) fn is_one_at_a_time(schedule: &Schedule, objective: Objective) -> bool {
    objective == Objective::Latency && schedule.frames_in_flight() > 1
}

fn measure_engine(
    engine: &Engine,
    frame: &[Tensor],
    time: Duration,
    is_one_at_a_time: bool,
) -> Result<Measurement, Error> {
    engine.reset_metrics();
    let begin = Instant::now();
    let frames = std::iter::from_fn(|| (begin.elapsed() < time).then(|| frame.to_vec()));
    let mut latencies = Vec::new();
    let mut ends = steady::ReplicaEnds::default();
    for result in engine.run(frames) {
        latencies.push(result.latency().as_secs_f64());
        ends.add(&result.spans);
        result.outcome.map_err(|source| Error::Frame { label: result.sequence.to_string(), source })?;
    }

    let metrics = engine.metrics();
    let depth: usize = metrics.iter().map(|stage| stage.replicas.len()).sum();
    let stage_seconds = metrics.iter().map(|stage| stage.slowest_mean().as_secs_f64()).sum();
    let interval = ends.interval(depth, begin + time, !is_one_at_a_time);
    let frames_per_second = interval.map_or(0.0, |interval| 1.0 / interval.as_secs_f64());
    Measurement::of(&latencies, frames_per_second, Some(stage_seconds))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_board::ProcessorClass;
    use millstream_partition::BlockRange;
    use millstream_pipeline::{PlannedReplica, PlannedStage};
    use millstream_schedule::{Replica, Stage};

    use super::*;

    #[test]
    fn cores_that_only_rivals_use_are_known() {
        let mut document = millstream_test_support::board("B2#0").to_document();
        document.clusters[0].cores[0].siblings = vec![CoreId(4)];
        let board = Board::try_from(document).unwrap();
        let cores = |ids: &[u32]| ids.iter().copied().map(CoreId).collect::<Vec<_>>();
        assert!(left_out(&board, cores(&[0, 1])).is_empty() && left_out(&board, cores(&[1, 4])).is_empty());
        let others = left_out(&board, cores(&[0, 1, 2, 3, 4]));
        assert_eq!(others, cores(&[2, 3]));
    }

    #[test]
    fn an_engine_as_it_comes_may_use_all_that_it_sees() {
        let board = millstream_test_support::board("B2#0");
        let cores = |ids: &[u32]| ids.iter().copied().map(CoreId).collect::<Vec<_>>();
        let all = Some(cores(&[0, 1, 2, 5]));
        assert_eq!(cores_seen(&board, true, false, all.clone()), cores(&[0, 1, 2, 5]));
        assert_eq!(cores_seen(&board, false, true, all.clone()), cores(&[0, 1, 2, 5]), "a quota leaves out none");
        assert_eq!(cores_seen(&board, false, false, all), cores(&[0, 1]));
        assert_eq!(cores_seen(&board, true, false, None), cores(&[0, 1]));
        let used = |sees_all, left_out: &[u32]| cores_used(&board, sees_all, &cores(&[0, 1, 2, 5]), &cores(left_out));
        assert_eq!([used(true, &[2]), used(true, &[]), used(false, &[2])], [3, 4, 4]);
    }

    /// Stages of 3 and 4 ns, the second with a replica if it `is_doubled`.
    fn own(is_one_at_a_time: bool, is_doubled: bool) -> OwnSchedule {
        let replica = |core: &str, time| PlannedReplica {
            processors: vec![ProcessorClass::new(core, 1)],
            work: None,
            time: Nanoseconds(time),
        };
        let mut second = vec![replica("B", 4)];
        second.extend(is_doubled.then(|| replica("s", 9)));
        let stage =
            |blocks: std::ops::Range<usize>, replicas| PlannedStage { blocks: BlockRange::from(blocks), replicas };
        let stages = vec![stage(0..1, vec![replica("B", 3)]), stage(1..2, second)];
        let plan = Plan { stages, period: Nanoseconds(4), latency: Nanoseconds(7), energy: None };
        OwnSchedule { plan, schedule: Schedule { stages: Vec::new() }, is_one_at_a_time }
    }

    #[test]
    fn one_frame_at_a_time_comes_once_in_a_latency() {
        assert_eq!(own(false, false).expected_period(), Some(Nanoseconds(4)));
        assert_eq!(own(true, false).expected_period(), Some(Nanoseconds(7)));
        assert_eq!(own(false, true).expected_period(), Some(Nanoseconds(4)));
        assert_eq!(own(true, true).expected_period(), None, "which replica a frame meets is not planned");
        assert_eq!((options(true).frames_in_flight, options(false).frames_in_flight), (Some(1), None));
    }

    #[test]
    fn only_what_has_several_frames_in_flight_takes_one_at_a_time_for_latency() {
        let replica = |core| Replica::single(Processor::new("B", [core]), Vec::new());
        let schedule = |stages: &[&[u32]]| {
            let stage = |cores: &&[u32]| Stage { replicas: cores.iter().map(|&core| replica(core)).collect() };
            Schedule { stages: stages.iter().map(stage).collect() }
        };
        let objectives = [Objective::Throughput, Objective::Balanced, Objective::Latency];
        for (stages, is_alone) in [(&[&[0][..]][..], false), (&[&[0], &[1]], true), (&[&[0, 1]], true)] {
            let shown = objectives.map(|objective| is_one_at_a_time(&schedule(stages), objective));
            assert_eq!(shown, [false, false, is_alone], "{stages:?}");
        }
    }
}
