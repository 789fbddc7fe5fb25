//! The library's way from a network to results, on this machine.

#![cfg(feature = "ort")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use millstream_api::{
    Aim, Camera, Control, EngineOptions, Error, Event, Machine, Network, Objective, ReadOptions, RunLength, RunOptions,
    Scheduled, Stream, Tensor, TuneAlgorithm, TuneOn, TuneOptions, WhenLate, files, run, tune,
};
use millstream_board::Processor;
use millstream_graph::OperatorId;
use millstream_onnx::{Attributes, ModelBuilder, Weight};
use millstream_runtime::Received;
use millstream_schedule::{Replica, Schedule, Stage, StageId};
use millstream_test_support::not_tested;

/// A chain of convolutions that takes well under a millisecond. The number makes it a model that no cache knows.
fn small(number: usize) -> Network {
    let mut builder = ModelBuilder::new(&format!("small-{number}-{}", std::process::id()));
    let mut map = builder.input("image", [1, 8, 16, 16]);
    for layer in 0..4 {
        let value = |index: usize| ((index * 7 + layer) % 13) as f32 / 40.0 - 0.1 + number as f32 * 1e-3;
        let values = (0..8 * 8 * 9).map(value).collect();
        let filter = builder.weight("filter", &Weight::from_f32([8, 8, 3, 3], values));
        map = builder.node_with("Conv", &[&map, &filter], Attributes::new().ints("pads", &[1, 1, 1, 1]));
        map = builder.node("Relu", &[&map]);
    }
    builder.output(&map);
    Network::of_model(Arc::new(builder.build().unwrap()), "small", ReadOptions::default())
}

fn frame(number: usize) -> Vec<Tensor> {
    let values = (0..8 * 16 * 16).map(|index| ((index * 31 + number) % 17) as f32 / 17.0).collect();
    vec![Tensor::from_f32([1, 8, 16, 16], values)]
}

/// This machine, with a cache folder for the tests of this process.
fn machine() -> Machine {
    static FOLDER: std::sync::LazyLock<tempfile::TempDir> = std::sync::LazyLock::new(|| tempfile::tempdir().unwrap());
    Machine::detect().unwrap().with_cache_folder(FOLDER.path())
}

/// Planned with a short profile.
fn scheduled(number: usize, control: &Control) -> (Machine, Scheduled) {
    let machine = machine();
    let network = small(number);
    machine.profile(&network, Duration::from_millis(200), control).unwrap();
    let scheduled = machine.plan(network, &Aim::default(), control).unwrap();
    (machine, scheduled)
}

/// As objects of other languages hold them: nothing here outlives anything by a lifetime.
#[test]
fn a_stream_may_hold_its_schedule_and_be_waited_for_a_while() {
    let (machine, scheduled) = scheduled(70, &Control::new());
    let shared = Arc::new(scheduled);
    let stream = Stream::start_shared(&machine, Arc::clone(&shared), &EngineOptions::default()).unwrap();
    let weak = Arc::downgrade(&shared);
    drop(shared);
    assert!(matches!(stream.recv_timeout(Duration::from_secs(60)), Received::Nothing));
    let expected: Vec<u64> = (0..5).map(|number| stream.submit(frame(number)).unwrap()).collect();
    let mut sequence = Vec::new();
    loop {
        match stream.recv_timeout(Duration::from_millis(10)) {
            Received::Result(result) => sequence.push(result.outcome.map(|_| result.sequence).unwrap()),
            Received::NotYet => {}
            Received::Nothing => break,
        }
    }
    assert_eq!(sequence, expected);
    let stages = stream.stages().unwrap();
    assert_eq!(stages.iter().filter(|stage| stage.stage == StageId::FIRST).map(|stage| stage.frames).sum::<u64>(), 5);
    assert!(stages.iter().all(|stage| stage.predicted_seconds > 0.0) && stream.latency().max_seconds > 0.0);
    drop(stream);
    assert!(weak.upgrade().is_none());
}

/// The network's first operator on one core and the rest on another: segments that a plan has only if it cuts there.
fn cut_behind_the_first(machine: &Machine, scheduled: &Scheduled) -> Option<Schedule> {
    let cluster = machine.board().clusters().iter().find(|cluster| cluster.cores.len() > 1)?;
    let (head, tail) = scheduled.network.graph().order().split_at(1);
    let stage = |core: usize, operators: &[OperatorId]| {
        let processor = Processor::on_cores(cluster.label.clone(), vec![cluster.cores[core].id]);
        Stage { replicas: vec![Replica::single(processor, operators.to_vec())] }
    };
    Some(Schedule { stages: vec![stage(0, head), stage(1, tail)] })
}

/// Writing sessions while frames flow would take cores and memory from them.
#[test]
fn what_is_prepared_while_frames_flow_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let control = Control::new();
    let machine = Machine::detect().unwrap().with_cache_folder(folder.path());
    let network = small(77);
    machine.profile(&network, Duration::from_millis(200), &control).unwrap();
    let scheduled = machine.plan(network, &Aim::default(), &control).unwrap();
    let Some(other) = cut_behind_the_first(&machine, &scheduled) else {
        return not_tested("CORES", "no cluster has several cores");
    };
    let kept = || std::fs::read_dir(folder.path().join("sessions")).unwrap().count();

    let stream = Stream::start(&machine, &scheduled, &EngineOptions::default()).unwrap();
    let before = kept();
    assert!(before > 0);
    assert_ne!(other, scheduled.schedule);
    stream.engine().reschedule(&other).unwrap();
    assert_eq!(stream.run((0..3).map(frame)).filter(|result| result.outcome.is_ok()).count(), 3);
    assert_eq!(kept(), before);
}

#[test]
fn frames_come_back_in_order_with_their_results() {
    let activities: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&activities);
    let control = Control::new().observed_by(move |event| {
        if let Event::Progress(progress) = event {
            let mut seen = seen.lock().unwrap();
            let word = progress.activity.split(' ').next().unwrap_or_default().to_owned();
            if !seen.contains(&word) {
                seen.push(word);
            }
        }
    });
    let (machine, scheduled) = scheduled(1, &control);
    assert_eq!(*activities.lock().unwrap(), ["measuring", "searching", "trying"]);

    let stream = Stream::start(&machine, &scheduled, &EngineOptions::default()).unwrap();
    assert_eq!(stream.first_frame(), None);
    let alone: Vec<Vec<f32>> = (0..3)
        .map(|number| {
            stream.submit(frame(number)).unwrap();
            stream.recv().unwrap().outcome.unwrap()[0].as_f32().unwrap().to_vec()
        })
        .collect();
    assert!(alone[0] != alone[1] && alone[1] != alone[2], "the frames differ, and so do their results");
    let results: Vec<_> = stream.run((0..30).map(|number| frame(number % 3))).collect();
    let longest = results.iter().map(|result| result.latency().as_secs_f64()).fold(0.0, f64::max);
    assert!(stream.latency().max_seconds >= 0.99 * longest, "{} of {longest}", stream.latency());
    assert_eq!(results.len(), 30);
    for (number, result) in results.into_iter().enumerate() {
        assert_eq!(result.sequence, number as u64 + 3);
        assert_eq!(result.outcome.unwrap()[0].as_f32().unwrap(), alone[number % 3], "frame {number}");
    }
    let latency = stream.latency();
    assert!(0.0 < latency.p50_seconds && latency.p50_seconds <= latency.p99_seconds);
    assert!(latency.p99_seconds <= latency.max_seconds);
    assert!(stream.first_frame().is_some_and(|time| time >= stream.started_in()));

    // A frame that does not fit is an error of its own; the next ones get through.
    stream.submit(vec![Tensor::from_f32([1], vec![0.0])]).unwrap();
    stream.submit(frame(2)).unwrap();
    assert!(stream.recv().unwrap().outcome.is_err());
    assert_eq!(stream.recv().unwrap().outcome.unwrap()[0].as_f32().unwrap(), alone[2]);
    assert!(stream.recv().is_none());
}

#[test]
fn a_stream_adapts_until_it_is_over() {
    let control = Control::new();
    let (machine, scheduled) = scheduled(2, &control);
    let stream = Stream::start(&machine, &scheduled, &EngineOptions::default()).unwrap();
    // Frames flow until the first look at the pipeline is over, which takes a second or so.
    let is_told = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&is_told);
    let control = Control::new().observed_by(move |event| {
        told.fetch_or(matches!(event, Event::Tuning(_)), Ordering::Relaxed);
    });
    let frames = (0..).map(frame).take_while(|_| !is_told.load(Ordering::Relaxed));
    let mut count = 0;
    let events = stream
        .run_adapting(frames, &control, |result| {
            result.outcome.unwrap();
            count += 1;
        })
        .unwrap();
    assert!(count > 0 && !events.is_empty());

    // Without a profile there is nothing to plan with; all frames get through all the same.
    let elsewhere = tempfile::tempdir().unwrap();
    let sessions = || std::fs::read_dir(elsewhere.path().join("sessions")).map_or(0, Iterator::count);
    let stranger = Machine::detect().unwrap().with_cache_folder(elsewhere.path());
    let stream = Stream::start(&stranger, &scheduled, &EngineOptions::default()).unwrap();
    let kept = sessions();
    assert!(kept > 0, "the next start finds the sessions of this one");
    Stream::start(&stranger, &scheduled, &EngineOptions::default()).unwrap();
    assert_eq!(sessions(), kept);
    let mut count = 0;
    let refused = stream.run_adapting((0..20).map(frame), &Control::new(), |_| count += 1);
    assert!(matches!(refused, Err(Error::NoProfile { .. })) && count == 20);
}

#[test]
fn a_cache_that_can_not_be_written_costs_nothing_but_the_next_start() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let machine = Machine::detect().unwrap().with_cache_folder(file.path());
    let network = small(7);
    let profile = machine.profile(&network, Duration::from_millis(200), &Control::new()).unwrap();
    let again = machine.profile(&network, Duration::from_secs(600), &Control::new()).unwrap();
    assert_eq!(again.provenance, profile.provenance, "it is known for as long as the process runs");
    let scheduled = machine.plan(network, &Aim::default(), &Control::new()).unwrap();
    let stream = Stream::start(&machine, &scheduled, &EngineOptions::default()).unwrap();
    assert_eq!(stream.run((0..5).map(frame)).filter(|result| result.outcome.is_ok()).count(), 5);
}

#[test]
fn networks_run_at_once_and_are_checked() {
    let control = Control::new();
    let (machine, first) = scheduled(3, &control);
    let (_, second) = scheduled(4, &control);
    // Three frames of the first for one of the second.
    let set: Vec<Scheduled> = [(first, 3.0), (second, 1.0)]
        .into_iter()
        .map(|(own, weight)| Scheduled { takes_turns: true, weight, ..own })
        .collect();

    let mut options = RunOptions::default();
    options.length = RunLength::Frames(20);
    options.deadline = Some(Duration::from_secs(60));
    options.measures_operators = true;
    let outcomes = run(&machine, &set, &options, &control).unwrap();
    assert_eq!(outcomes.len(), 2);
    for outcome in &outcomes {
        let report = &outcome.report;
        assert!(report.frames >= 20 && report.checked_frames == report.frames && outcome.verdict.is_ok());
        assert_eq!((report.missed_deadlines, report.dropped_frames), (Some(0), 0));
        assert!(report.largest_difference < 1e-4 && !report.operators.is_empty());
    }
    let frames: Vec<usize> = outcomes.iter().map(|outcome| outcome.report.frames).collect();
    assert!(frames[0] >= 2 * frames[1], "who is ahead waits: {frames:?}");

    let mut adaptive = RunOptions::default();
    adaptive.is_adaptive = true;
    let refused = run(&machine, &set, &adaptive, &control).map(|outcomes| outcomes.len());
    assert!(matches!(refused, Err(Error::Unfit(_))), "{refused:?}");
    let mut frozen = RunOptions::default();
    frozen.camera = Some(Camera { hertz: 0.0, when_late: WhenLate::Wait });
    let refused = run(&machine, &set, &frozen, &control).map(|outcomes| outcomes.len());
    assert!(matches!(refused, Err(Error::Unfit(_))), "{refused:?}");
}

#[test]
fn whoever_asks_to_stop_is_heard() {
    let calls = Arc::new(AtomicUsize::new(0));
    let asked = Arc::clone(&calls);
    let control = Control::new().cancelled_by(move || asked.fetch_add(1, Ordering::Relaxed) > 3);
    let machine = machine();
    let stopped = machine.profile(&small(5), Duration::from_secs(600), &control);
    assert!(matches!(stopped, Err(Error::Interrupted)));
    assert!(calls.load(Ordering::Relaxed) > 3);
}

/// A profile that says thirty times what everything takes, as if another machine had made it.
#[test]
fn a_profile_that_a_trial_contradicts_is_measured_anew() {
    let folder = tempfile::tempdir().unwrap();
    let machine = || Machine::detect().unwrap().with_cache_folder(folder.path());
    let network = small(8);
    machine().profile(&network, Duration::from_millis(200), &Control::new()).unwrap();
    let file = std::fs::read_dir(folder.path().join("profiles")).unwrap().next().unwrap().unwrap().path();
    let mut profile: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    for kind in ["samples", "operator_samples", "part_samples"] {
        let samples = profile["networks"][0][kind].as_array_mut().into_iter().flatten();
        for time in samples.map(|sample| &mut sample["time"]["median_seconds"]) {
            *time = (30.0 * time.as_f64().unwrap()).into();
        }
    }
    // Long ago: the new one may be made within the same second.
    profile["provenance"]["created"] = "2020-01-01T00:00:00Z".into();
    std::fs::write(&file, profile.to_string()).unwrap();

    let told = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&told);
    let control = Control::new().observed_by(move |event| match event {
        Event::MeasuredAnew { reason, .. } => noted.lock().unwrap().push((*reason).to_owned()),
        // Trials that others disturb contradict nothing.
        Event::Disturbed { activity, .. } => noted.lock().unwrap().push((*activity).to_owned()),
        _ => {}
    });
    let planned = machine().plan(network, &Aim::default(), &control).unwrap();
    let told = told.lock().unwrap();
    assert!(!told.is_empty(), "{:?}", planned.document.predicted);
    if told[0].contains(" now") || told[0].contains("is measured") {
        let kept: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert_ne!(kept["provenance"], profile["provenance"], "{told:?}");
    }
}

#[test]
fn trials_end_with_the_fastest_schedule() {
    let machine = machine();
    let options = TuneOptions::new(TuneAlgorithm::ModelGuided, 3).with_seed(1);
    let tuned = tune(&machine, &small(6), None, TuneOn::ThisMachine, &options, &Control::new()).unwrap();
    assert!((1..=3).contains(&tuned.trials.len()));
    assert!(tuned.trials.iter().all(|(_, trial)| trial.period >= tuned.best.1.period));
    assert_eq!(tuned.document.objective, Objective::Throughput);
    let options = TuneOptions::new(TuneAlgorithm::PipeSearch, 3).with_places("Z9".to_owned());
    let refused = tune(&machine, &small(6), None, TuneOn::ThisMachine, &options, &Control::new());
    assert!(matches!(refused, Err(Error::Unfit(detail)) if detail.contains("'Z'")));
}

#[test]
fn files_are_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("document.json");
    files::write(&path, "first").unwrap();
    assert!(matches!(files::write(folder.path(), "text"), Err(Error::Io { action: "write", .. })));
    let nowhere = Path::new("/does/not/exist/document.json");
    assert!(files::write(nowhere, "text").is_err() && files::check_writable(nowhere).is_err());
    assert_eq!(files::read(&path).unwrap(), "first");
}
