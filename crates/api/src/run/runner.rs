//! One network of a run, from its start to its report.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use millstream_backend::{Backend, Observed};
use millstream_board::Board;
use millstream_cost::CostTable;
use millstream_frames::Golden;
use millstream_machine::PowerSensors;
use millstream_pipeline::ThroughputBound;
use millstream_runtime::{Engine, EngineOptions, TuningEvent};
use millstream_schedule::{Prediction, Schedule, ScheduleDocument};

use crate::backends::needed::Needed;
use crate::control::Control;
use crate::error::Error;
use crate::machine::Machine;
use crate::measuring::opening::open_to_run;
use crate::network::Network;
use crate::plans::clocks;
use crate::run::adaptation::adapt;
use crate::run::frame_deadline::FrameDeadline;
use crate::run::outcome::{NetworkOutcome, USUAL_FRAMES};
use crate::run::precisions::ResultMakers;
use crate::run::reference::Reference;
use crate::run::sink::{ObservedSink, Sink};
use crate::run::statistics::FrameStatistics;
use crate::run::surroundings::{HeldUp, Surroundings};
use crate::run::taken::Taken;
use crate::run::{RunLength, RunOptions, WarmUp, camera, operators, summary};
use crate::schedules::{Scheduled, document, engine};
use crate::threads::{SetOnDrop, thread};

/// How much slower than a stage's processors the first core may be, for the time limit of frames.
const CORE_SLOWER: u32 = 10;
/// Between two looks at the power sensors.
const POWER_WINDOW: Duration = Duration::from_millis(200);

/// One network of a run, with everything that it needs.
pub(super) struct Runner<'a> {
    board: &'a Board,
    scheduled: &'a Scheduled,
    options: &'a RunOptions,
    control: &'a Control,
    backend: Arc<dyn Observed>,
    /// To plan with while frames flow.
    costs: Option<CostTable>,
    reference: Arc<Reference>,
    engine: Engine,
    /// Frames of the warm-up.
    first: u64,
    /// From the beginning to the first result; `None` without a warm-up.
    start_up: Option<Duration>,
    sink: Sink,
    pub(super) events: Vec<TuningEvent>,
    /// Mean power of the machine's processors, where it has sensors.
    watts: Option<f64>,
    /// What else happened while frames flowed.
    held_up: HeldUp,
}

impl<'a> Runner<'a> {
    /// Prepares the network, and warms its stages up.
    pub(super) fn start(
        machine: &'a Machine,
        scheduled: &'a Scheduled,
        options: &'a RunOptions,
        control: &'a Control,
    ) -> Result<Self, Error> {
        let begin = Instant::now();
        let board = machine.board();
        let Scheduled { network, schedule, document, .. } = scheduled;
        let (backends, costs) = open_to_run(machine, network, &Needed::By(schedule), &schedule.accelerators())?;
        if options.is_adaptive && costs.is_none() {
            return Err(Error::no_profile(network, board));
        }

        let engine_options = EngineOptions::default()
            .with_frames_in_flight(options.frames_in_flight)
            .with_steps_kept(options.keeps_steps)
            .with_frame_timeout(options.frame_timeout);
        let engine = engine::with_fallback(network, board, schedule, &backends.backend(), engine_options)?;
        let started_in = begin.elapsed();
        for advice in clocks::unset_clocks(&document.clocks, board) {
            control.warn(&advice);
        }

        let backend = Arc::clone(&backends.all);
        // What is only there to check results does not count, and comes later: its sessions may be the engine's.
        // The first core may be much slower than the stages' processors.
        let stages = u32::try_from(schedule.stages.len()).unwrap_or(u32::MAX);
        let limit = options.frame_timeout.map(|limit| limit.saturating_mul(stages).saturating_mul(CORE_SLOWER));
        let makers = ResultMakers::of_run(options.is_adaptive, board, schedule);
        let reference = Arc::new(Reference::new(network, backends.backend(), board, &makers, limit)?);
        let golden = golden(options, network, &*backend, board)?;

        let begin = Instant::now();
        let (first, first_result) = warm_up(&engine, &reference, options.warm_up, control)?;
        let start_up = first_result.map(|moment| started_in + moment.saturating_duration_since(begin));
        backends.stop_keeping();

        let statistics = FrameStatistics::new(deadline(scheduled, options), most_in_engine(options, board))?;
        let sink =
            Sink::new(&reference, statistics).writing_to(options.output.clone()).expecting(golden, options.tolerance);
        let costs = costs.filter(|_| options.is_adaptive);
        let (events, watts, held_up) = (Vec::new(), None, HeldUp::default());
        Ok(Self {
            board,
            scheduled,
            options,
            control,
            backend,
            costs,
            reference,
            engine,
            first,
            start_up,
            sink,
            events,
            watts,
            held_up,
        })
    }

    /// How many frames are streamed if no time is given: each of the user's once if that is what the results are for.
    pub(super) fn frames_wanted(&self) -> u64 {
        let different = self.reference.different_frames() as u64;
        let has_own_frames = self.scheduled.network.has_own_frames();
        let is_for_results = has_own_frames && (self.options.output.is_some() || self.options.expected.is_some());
        match self.options.length {
            RunLength::Frames(frames) => frames,
            _ if is_for_results => different,
            _ => USUAL_FRAMES.max(if has_own_frames { different } else { 0 }),
        }
    }

    /// Streams frames, checks each result, and adapts the schedule meanwhile if there are costs to plan with.
    pub(super) fn stream(
        &mut self,
        is_enough: &(dyn Fn(u64) -> bool + Sync),
        observe: &dyn Fn(&Taken) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let is_over = AtomicBool::new(false);
        let (engine, control) = (&self.engine, self.control);
        let sink = &mut ObservedSink { sink: &mut self.sink, observe };
        let (scheduled, board) = (self.scheduled, self.board);

        std::thread::scope(|scope| {
            let is_over = &is_over;
            // However this ends, or the threads would be waited for in vain.
            let over = SetOnDrop(is_over);
            let adapting = self.costs.as_ref().map(|costs| {
                let work = move || adapt(engine, scheduled, board, costs, &|| is_over.load(Ordering::Relaxed), control);
                thread("tuner").spawn_scoped(scope, work).map_err(Error::no_thread("the tuner"))
            });
            let adapting = adapting.transpose()?;
            let power = thread("sensors").spawn_scoped(scope, || mean_power(is_over));
            let power = power.map_err(Error::no_thread("the power sensors"))?;

            let surroundings = Surroundings::watch(board);
            let streamed = match self.options.camera {
                None => camera::stream(engine, &self.reference, is_enough, self.first, sink, control),
                Some(camera) => camera.stream(engine, &self.reference, is_enough, sink, control),
            };
            self.held_up = surroundings.seen();

            drop(over);
            if let Some(thread) = adapting {
                let tuned = thread.join().map_err(|_| Error::Defect("the tuner panicked".to_owned()))?;
                self.events = tuned?;
            }
            self.watts = power.join().ok().flatten();
            streamed
        })
    }

    /// Puts together what was seen.
    pub(super) fn finish(self) -> Result<NetworkOutcome, Error> {
        let Scheduled { network, schedule, document, .. } = self.scheduled;
        let at_work = self.engine.schedule()?;
        let (metrics, warnings) = (self.engine.metrics(), self.engine.warnings());
        let document = match &self.costs {
            Some(costs) if at_work != *schedule => adapted(document, &at_work, network, self.board, costs)?,
            // What is predicted is of the schedule that was lost; the engine warns of that.
            _ => ScheduleDocument { configuration: at_work.to_string(), ..document.clone() },
        };
        drop(self.engine);

        let seen = summary::Seen {
            scheduled: self.scheduled,
            options: self.options,
            document: &document,
            at_work: &at_work,
            sink: &self.sink,
            metrics: &metrics,
            events: &self.events,
            warnings,
            watts: self.watts,
            held_up: self.held_up,
            start_up: self.start_up,
        };
        let mut report = seen.report();

        if self.options.measures_operators {
            let frame = network.first_frame(&*self.backend, self.board)?;
            let backend = &*self.backend;
            // On a thread of its own: it is pinned to one core after the other, which the caller's should not be.
            let measured = std::thread::scope(|scope| {
                let measure = || operators::measure(network.graph(), &at_work, backend, frame);
                let measuring = thread("operators").spawn_scoped(scope, measure);
                let measuring = measuring.map_err(Error::no_thread("measuring operators"))?;
                measuring.join().map_err(|_| Error::Defect("measuring operators panicked".to_owned()))?
            });
            report.operators = measured?;
        }
        let verdict = self.sink.verdict();
        Ok(NetworkOutcome { report, schedule: at_work, document, verdict })
    }
}

/// At least as many frames as the engine takes, whatever schedule is at work.
fn most_in_engine(options: &RunOptions, board: &Board) -> usize {
    let in_flight = options.frames_in_flight.unwrap_or_default().min(EngineOptions::MOST_IN_FLIGHT);
    let processors: usize = board.clusters().iter().map(|cluster| cluster.cores.len().max(1)).sum();
    2 * in_flight + EngineOptions::OUTSTANDING_PER_WORKER * processors
}

/// The results that the user expects.
fn golden(
    options: &RunOptions,
    network: &Network,
    backend: &dyn Backend,
    board: &Board,
) -> Result<Option<Golden>, Error> {
    let Some(path) = &options.expected else { return Ok(None) };
    Ok(Some(Golden::read(path, network.graph(), network.frames(backend, board)?)?))
}

/// Fills every worker's caches and memory pools. Returns how many frames that took, and when the first result was
/// there.
pub(crate) fn warm_up(
    engine: &Engine,
    reference: &Reference,
    wanted: Option<WarmUp>,
    control: &Control,
) -> Result<(u64, Option<Instant>), Error> {
    let begin = Instant::now();
    let usual = WarmUp::Frames(2 * engine.schedule()?.processors().count() as u64 + 2);
    let is_enough = |count: u64| match wanted.unwrap_or(usual) {
        WarmUp::Frames(frames) => count >= frames,
        WarmUp::Time(time) => begin.elapsed() >= time,
    };

    let mut count = 0;
    let supply = std::iter::from_fn(|| {
        let is_over = is_enough(count) || control.is_cancelled();
        count += u64::from(!is_over);
        (!is_over).then(|| reference.frame(count - 1))
    });

    let mut first_result = None;
    let mut failures = 0_u64;
    for (number, result) in (0..).zip(engine.run(supply)) {
        match result.outcome {
            Ok(outputs) => {
                first_result.get_or_insert(result.received);
                reference.check(number, &outputs)?;
            }
            // It is none of the run's frames.
            Err(error) if failures == 0 => {
                control.warn(&format!("the warm-up's frame '{}' failed: {error}", reference.label(number)));
                failures += 1;
            }
            Err(_) => failures += 1,
        }
    }

    engine.reset_metrics();
    Ok((count, first_result))
}

/// A network's own deadline goes before the one that holds for all.
fn deadline(scheduled: &Scheduled, options: &RunOptions) -> Option<FrameDeadline> {
    let deadline = scheduled.deadline_seconds;
    let deadline = deadline.map(|seconds| FrameDeadline { seconds, counts_queues: scheduled.takes_turns });
    let of_all = options.deadline.map(|time| FrameDeadline { seconds: time.as_secs_f64(), counts_queues: true });
    deadline.or(of_all)
}

/// What the machine's sensors show until somebody says that it is over; `None` without sensors.
fn mean_power(is_over: &AtomicBool) -> Option<f64> {
    let sensors = PowerSensors::detect()?;
    let (mut sum, mut readings) = (0.0, 0_u32);
    while !is_over.load(Ordering::Relaxed) {
        sum += sensors.watts(POWER_WINDOW)?;
        readings = readings.saturating_add(1);
    }
    Some(sum / f64::from(readings.max(1))).filter(|watts| *watts > 0.0)
}

/// The document of the schedule that is at work at the end, with what the profile predicts of it.
fn adapted(
    before: &ScheduleDocument,
    schedule: &Schedule,
    network: &Network,
    board: &Board,
    costs: &CostTable,
) -> Result<ScheduleDocument, Error> {
    let evaluation = schedule.evaluate(network.graph(), costs)?;
    let lower_bound = ThroughputBound::of(network.graph(), board, costs).period.seconds();
    let energy = schedule.energy(network.graph(), costs)?;
    let predicted = Prediction::new(&evaluation, lower_bound).with_energy(energy);
    let adapted = document(schedule, predicted, "adaptive", before.objective, network, board);
    Ok(ScheduleDocument { constraints: before.constraints, ..adapted })
}

#[cfg(all(test, feature = "ort"))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use millstream_onnx::ReadOptions;
    use millstream_runtime::FrameError;
    use millstream_schedule::{Replica, Stage, StageId};

    use super::*;
    use crate::plans::Aim;

    /// What a run shows where some frames fail, as after the loss of a device.
    #[test]
    fn frames_that_fail_are_counted_and_others_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let control = Control::new();
        let machine = Machine::detect().unwrap().with_cache_folder(folder.path());
        let network = Network::open("zoo:squeezenet", ReadOptions::default()).unwrap();
        machine.profile(&network, Duration::from_millis(300), &control).unwrap();
        let scheduled = machine.plan(network, &Aim::default(), &control).unwrap();
        let options = RunOptions { deadline: Some(Duration::from_secs(3600)), ..RunOptions::default() };
        let mut runner = Runner::start(&machine, &scheduled, &options, &control).unwrap();

        let mut log = crate::FrameLog::new(Vec::new(), Some(3600.0)).unwrap();
        for number in 0..6 {
            runner.engine.submit(runner.reference.frame(number)).unwrap();
            let mut result = runner.engine.recv().unwrap();
            if number % 2 == 1 {
                result.outcome = Err(FrameError::Lost { stage: StageId::new(1) });
            }
            log.add(None, &runner.sink.take(number, result, None).unwrap()).unwrap();
        }
        let lines = String::from_utf8(log.finish().unwrap()).unwrap();
        let is_late: Vec<&str> = lines.lines().skip(1).filter_map(|line| line.split(',').nth(7)).collect();
        assert_eq!(is_late, ["0", "1", "0", "1", "0", "1"], "{lines}");
        assert_eq!(lines.matches("stage 2 has no replica that works").count(), 3, "{lines}");

        let outcome = runner.finish().unwrap();
        let report = outcome.report;
        assert_eq!((report.frames, report.failed_frames, report.missed_deadlines), (3, 3, Some(3)));
        let text = outcome.verdict.unwrap_err().to_string();
        assert!(text.starts_with("3 of 6 frames failed:") && text.lines().count() == 4, "{text}");
    }

    /// As a [`Stream`](crate::Stream), a run writes no sessions while frames flow.
    #[test]
    fn what_is_prepared_while_frames_flow_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let control = Control::new();
        let machine = Machine::detect().unwrap().with_cache_folder(folder.path());
        let network = Network::open("zoo:squeezenet", ReadOptions::default()).unwrap();
        machine.profile(&network, Duration::from_millis(300), &control).unwrap();
        let scheduled = machine.plan(network, &Aim::default(), &control).unwrap();
        let kept = || std::fs::read_dir(folder.path().join("sessions")).unwrap().count();

        let Some(cluster) = machine.board().clusters().iter().find(|cluster| cluster.cores.len() > 1) else { return };
        let options = RunOptions::default();
        let runner = Runner::start(&machine, &scheduled, &options, &control).unwrap();
        let before = kept();
        assert!(before > 0);
        // Segments that a plan has only if it cuts behind the first operator.
        let (head, tail) = scheduled.network.graph().order().split_at(1);
        let stages = [head, tail].into_iter().zip(&cluster.cores).map(|(operators, core)| {
            let processor = cluster.processor([core.id]);
            Stage { replicas: vec![Replica::single(processor, operators.to_vec())] }
        });
        runner.engine.reschedule(&Schedule { stages: stages.collect() }).unwrap();
        assert_eq!(kept(), before);
    }
}
