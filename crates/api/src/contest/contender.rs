//! What takes part in a comparison: our schedules and what one would use otherwise.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, unbounded};
use millstream_backend::{Backend, BackendError, Tensor, WholeNetwork};
use millstream_board::{Board, Cluster, Core, EngineName, Processor};
use millstream_machine::{CpuQuota, usable_cores};
use millstream_pipeline::{Objective, Plan, Problem};
use millstream_predict::Statistics;
use millstream_runtime::{Engine, EngineOptions};
use millstream_schedule::Schedule;

use crate::backends::core_engine::Plain;
use crate::{Error, Network, SetOnDrop, engine, steady};

/// One way to run a network.
pub(crate) struct Contender {
    pub(crate) name: String,
    /// The engine, if it is no schedule of ours.
    pub(crate) rival: Option<EngineName>,
    pub(crate) configuration: String,
    /// Whether results come in the order of the frames.
    pub(crate) in_order: bool,
    /// The plan and what it is on cores, if it is one of our schedules.
    pub(crate) plan: Option<(Plan, Schedule)>,
    runner: Runner,
}

enum Runner {
    Engine(Box<Engine>),
    Sessions(Sessions),
}

/// What a contender did in one turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measurement {
    pub(crate) frames_per_second: f64,
    pub(crate) median_frame_seconds: f64,
    pub(crate) worst_frame_seconds: f64,
    /// Sum over the stages of the slowest replica's mean time; engines only.
    pub(crate) stage_seconds: Option<f64>,
}

impl Contender {
    /// One of our schedules.
    pub(crate) fn schedule(
        network: &Network,
        problem: &Problem,
        plan: &Plan,
        objective: Objective,
        backend: &Arc<dyn Backend>,
    ) -> Result<Self, Error> {
        let schedule = problem.schedule(plan);
        let engine = engine::new(network, &schedule, backend, EngineOptions::default())?;
        Ok(Self {
            name: format!("millstream for {objective}"),
            rival: None,
            configuration: schedule.to_string(),
            in_order: true,
            plan: Some((plan.clone(), schedule)),
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
        (engine, backend): (EngineName, &Arc<dyn Backend>),
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
        (engine, backend): (EngineName, &Arc<dyn Backend>),
    ) -> Result<Self, Error> {
        let with_engine = |cluster: &Cluster, core: &Core| cluster.processor([core.id]).with_engine(engine);
        let clusters = board.clusters().iter();
        let processors: Vec<Processor> =
            clusters.flat_map(|own| own.cores.iter().map(|core| with_engine(own, core))).collect();
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
        Self { name, rival: Some(engine), configuration, in_order, plan: None, runner: Runner::Sessions(sessions) }
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
    measurement(&latencies, frames_per_second, Some(stage_seconds))
}

fn measurement(latencies: &[f64], frames_per_second: f64, stage_seconds: Option<f64>) -> Result<Measurement, Error> {
    let statistics = Statistics::of(latencies).ok_or(Error::NoFrame)?;
    Ok(Measurement {
        frames_per_second,
        median_frame_seconds: statistics.median_seconds,
        worst_frame_seconds: latencies.iter().copied().fold(0.0, f64::max),
        stage_seconds,
    })
}

/// Whole-network sessions, each on a thread of its own that sleeps between turns.
struct Sessions {
    orders: Vec<Sender<Order>>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

/// A turn: work until told to stop, then say how long each frame took.
struct Order {
    frame: Vec<Tensor>,
    /// Where it says that it is ready, and waits until nobody holds the other end any more.
    ready: Sender<()>,
    go: Receiver<()>,
    stop: Arc<AtomicBool>,
    report: Sender<Result<(Vec<f64>, Instant), BackendError>>,
}

impl Sessions {
    fn start(
        network: &Network,
        processors: Vec<Processor>,
        backend: &Arc<dyn Backend>,
        pinned: bool,
    ) -> Result<Self, Error> {
        let graph = Arc::clone(network.graph());
        let mut sessions = Self { orders: Vec::new(), threads: Vec::new() };
        let failure: Arc<Mutex<Option<BackendError>>> = Arc::default();
        let mut ready: Vec<Receiver<()>> = Vec::new();

        for processor in processors {
            let (orders, incoming) = unbounded::<Order>();
            let (ready_sender, is_ready) = unbounded();
            let (graph, backend, failure) = (Arc::clone(&graph), Arc::clone(backend), Arc::clone(&failure));
            let body = move || {
                if pinned && let Some(core) = processor.cores.first() {
                    let _ = millstream_machine::pin_current_thread(*core);
                }
                match WholeNetwork::prepare(&graph, &*backend, &processor) {
                    Ok(mut prepared) => {
                        drop(ready_sender);
                        for Order { frame, ready, go, stop, report } in incoming {
                            let _ = ready.send(());
                            // Whoever waits for all to be ready would wait for ever for one that has ended if others held this.
                            drop(ready);
                            let _ = go.recv();
                            let times = repeated(&mut prepared, &frame, &stop);
                            let _ = report.send(times.map(|times| (times, Instant::now())));
                        }
                    }
                    Err(error) => *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error),
                }
            };
            sessions.threads.push(
                std::thread::Builder::new()
                    .name("instance".to_owned())
                    .spawn(body)
                    .map_err(|source| Error::Thread { what: "cannot start an instance".to_owned(), source })?,
            );
            sessions.orders.push(orders);
            ready.push(is_ready);
        }

        for is_ready in ready {
            // Ends when the thread drops its sender, which it does when it is ready or has failed.
            let _ = is_ready.recv();
        }
        match failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error.into()),
            None => Ok(sessions),
        }
    }

    fn measure(&self, frame: &[Tensor], time: Duration) -> Result<Measurement, Error> {
        let stop = Arc::new(AtomicBool::new(false));
        // However this ends, or instances would work for ever.
        let over = SetOnDrop(&stop);
        let (report, reports) = unbounded();
        let (ready, are_ready) = unbounded();
        let (start, go) = unbounded();

        for orders in &self.orders {
            let order = Order {
                frame: frame.to_vec(),
                ready: ready.clone(),
                go: go.clone(),
                stop: Arc::clone(&stop),
                report: report.clone(),
            };
            orders.send(order).map_err(|_| has_ended())?;
        }

        // Whoever has ended holds none of these.
        drop((ready, report));
        for _ in &self.orders {
            are_ready.recv().map_err(|_| has_ended())?;
        }
        drop::<Sender<()>>(start);
        let begin = Instant::now();
        std::thread::sleep(time);
        drop(over);

        let mut latencies = Vec::new();
        let mut frames_per_second = 0.0;
        for _ in &self.orders {
            let (times, end) = reports.recv().map_err(|_| has_ended())??;
            // Each instance's own time: the slow ones finish their last frame later.
            frames_per_second += times.len() as f64 / end.duration_since(begin).as_secs_f64();
            latencies.extend(times);
        }
        measurement(&latencies, frames_per_second, None)
    }
}

fn has_ended() -> Error {
    Error::Defect("an instance has ended".to_owned())
}

impl Drop for Sessions {
    fn drop(&mut self) {
        self.orders.clear();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Seconds of each run of a frame, again and again until `stop`; once at least, however late this thread has its turn.
fn repeated(prepared: &mut WholeNetwork, frame: &[Tensor], stop: &AtomicBool) -> Result<Vec<f64>, BackendError> {
    let mut times = Vec::new();
    loop {
        let before = Instant::now();
        prepared.run(frame)?;
        times.push(before.elapsed().as_secs_f64());
        if stop.load(Ordering::Relaxed) {
            return Ok(times);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
    use millstream_backend::{PreparedSegment, Segment};
    use millstream_graph::OperatorId;
    use millstream_onnx::{ModelBuilder, ReadOptions};

    use super::*;

    /// Panics on one of its processors, at the first frame.
    struct Panicking;

    struct Copying {
        panics: bool,
    }

    impl Backend for Panicking {
        fn name(&self) -> &str {
            "panicking"
        }

        fn supports(&self, _: OperatorId, _: &Processor) -> bool {
            true
        }

        fn prepare(&self, _: &Segment, processor: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
            Ok(Box::new(Copying { panics: processor.cluster == "bad" }))
        }
    }

    impl PreparedSegment for Copying {
        fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
            assert!(!self.panics, "the operator blew up");
            Ok(inputs.to_vec())
        }
    }

    /// Neither whoever measures nor the other instance waits for it for ever.
    #[test]
    fn an_instance_that_panics_is_an_error() {
        let mut builder = ModelBuilder::new("one");
        let input = builder.input("x", [4]);
        let made = builder.node("Relu", &[&input]);
        builder.output(&made);
        let model = Arc::new(builder.build().unwrap());
        let network = Network::of_model(model, "one", ReadOptions::default());
        let processors = ["bad", "good"].map(Processor::accelerator);
        let backend: Arc<dyn Backend> = Arc::new(Panicking);
        let sessions = Sessions::start(&network, processors.to_vec(), &backend, false).unwrap();
        let frame = [Tensor::from_f32([4], vec![0.0; 4])];
        for _ in 0..2 {
            let measured = sessions.measure(&frame, Duration::from_millis(1));
            assert!(matches!(measured, Err(Error::Defect(_))));
        }
    }
}
