//! A session that callers share: each gets the results of its own frames.

#![cfg(feature = "ort")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use millstream_api::bindings::{Owner, SessionRequest, Submissions, Submitted, wait_for};
use millstream_api::{
    Control, EngineOptions, Error, Event, Machine, Network, PROFILE_BUDGET, ReadOptions, Session, Tensor,
};
use millstream_onnx::ModelBuilder;

const TICK: Duration = Duration::from_millis(50);
/// Longer than a frame takes, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

/// Each element twice.
fn doubling() -> Session {
    static FOLDER: std::sync::LazyLock<tempfile::TempDir> = std::sync::LazyLock::new(|| tempfile::tempdir().unwrap());
    let mut builder = ModelBuilder::new(&format!("doubling-{}", std::process::id()));
    let frame = builder.input("x", [1, 4]);
    let doubled = builder.node("Add", &[&frame, &frame]);
    builder.output(&doubled);
    let network = Network::of_model(Arc::new(builder.build().unwrap()), "doubling", ReadOptions::default());
    let machine = Machine::detect().unwrap().with_cache_folder(FOLDER.path());
    let request = SessionRequest { budget: Some(Duration::from_millis(100)), ..SessionRequest::default() };
    let (machine, scheduled) = request.scheduled(&machine, Some(network), None, &Control::new()).unwrap();
    let options = EngineOptions::default().with_frames_outstanding(3);
    Session::start(&machine, scheduled, &options).unwrap()
}

fn frame(value: f32) -> Vec<Tensor> {
    vec![Tensor::from_f32([1, 4], vec![value; 4])]
}

fn submit(session: &Session, owner: Owner, value: f32) -> u64 {
    let mut held = Some(frame(value));
    loop {
        if let Some(sequence) = session.submit_within(owner, &mut held, TICK).unwrap() {
            return sequence;
        }
    }
}

/// The first element of the next result, if there is one to come.
fn receive(session: &Session, owner: Owner) -> Option<f32> {
    loop {
        if let Some(result) = session.receive_within(owner, TICK).unwrap() {
            return result.map(|result| result.outcome.unwrap()[0].as_f32().unwrap()[0]);
        }
    }
}

#[test]
fn each_owner_gets_its_own_results_in_order() {
    let session = doubling();
    let (one, other) = (session.join().unwrap(), session.join().unwrap());
    let numbers: Vec<u64> = [(one, 1.0), (other, 10.0), (one, 2.0)]
        .into_iter()
        .map(|(owner, value)| submit(&session, owner, value))
        .collect();
    assert_eq!(numbers, [0, 1, 2]);
    assert_eq!((receive(&session, other), receive(&session, other)), (Some(20.0), None));
    assert_eq!((receive(&session, one), receive(&session, one), receive(&session, one)), (Some(2.0), Some(4.0), None));
    let report = session.report().unwrap();
    assert_eq!((report.frames, report.failed_frames), (3, 0));
}

#[test]
fn who_takes_no_results_has_no_room_and_leaves_without_a_trace() {
    let session = doubling();
    let (lazy, other) = (session.join().unwrap(), session.join().unwrap());
    for value in [1.0, 2.0, 3.0] {
        submit(&session, lazy, value);
    }
    assert!(matches!(session.try_submit(lazy, frame(4.0)).unwrap(), Submitted::TooMany(_)));
    submit(&session, other, 5.0);
    assert_eq!(receive(&session, other), Some(10.0), "others are not concerned");
    session.leave(lazy);
    assert!(matches!(session.try_submit(lazy, frame(4.0)).unwrap(), Submitted::TooMany(_)), "it is gone");
    assert_eq!(receive(&session, lazy), None);
}

#[test]
fn who_waits_is_told_that_a_session_was_closed() {
    let session = doubling();
    let owner = session.join().unwrap();
    submit(&session, owner, 1.0);
    let (is_waiting, waits) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let session = &session;
        let waiting = scope.spawn(move || {
            loop {
                match session.receive_within(owner, TICK) {
                    Err(error) => return error,
                    // Its frame has come, and there is nothing more to come.
                    Ok(Some(None)) => is_waiting.send(()).unwrap(),
                    Ok(_) => {}
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let waited = waits.recv_timeout(PATIENCE);
        assert!(waited.is_ok(), "nobody waits after {PATIENCE:?}");
        assert!(!session.is_closed());
        session.close();
        assert!(matches!(waiting.join().unwrap(), Error::Closed));
    });
    assert!(session.is_closed() && matches!(session.join(), Err(Error::Closed)));
    assert!(matches!(session.report(), Err(Error::Closed)));
}

#[test]
fn whoever_comes_for_one_frame_leaves_even_if_it_fails() {
    let session = doubling();
    let mut gone = Vec::new();
    let done: Result<u64, Error> = session.as_owner(|owner| {
        gone.push(owner);
        submit(&session, owner, 1.0);
        Ok(7)
    });
    let failed: Result<(), Error> = session.as_owner(|owner| {
        gone.push(owner);
        Err(Error::NoFrame)
    });
    assert!(done.is_ok_and(|done| done == 7) && matches!(failed, Err(Error::NoFrame)));
    for owner in gone {
        assert!(matches!(session.try_submit(owner, frame(2.0)).unwrap(), Submitted::TooMany(_)), "{owner:?} is there");
    }
}

#[test]
fn frames_of_another_thread_are_waited_for_until_their_end() {
    let session = doubling();
    let submissions = Submissions::new(&session).unwrap();
    let receive = |awaits_more: bool| {
        let received = wait_for(None, TICK, |time| submissions.receive_within(&session, awaits_more, time));
        received.unwrap().unwrap().map(|result| result.outcome.unwrap()[0].as_f32().unwrap()[0])
    };
    assert_eq!(receive(false), None, "without waiting for more, nothing is on its way");
    assert!(submissions.receive_within(&session, true, Duration::ZERO).unwrap().is_none(), "a frame may come");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for value in [1.0, 2.0] {
                std::thread::sleep(Duration::from_millis(50));
                let mut held = Some(frame(value));
                while submissions.submit_within(&session, &mut held, TICK).unwrap().is_none() {}
            }
            std::thread::sleep(Duration::from_millis(50));
            submissions.end();
        });
        assert_eq!((receive(true), receive(true), receive(true)), (Some(2.0), Some(4.0), None));
    });
    assert!(matches!(submissions.submit_within(&session, &mut Some(frame(3.0)), TICK), Err(Error::Ended)));
}

/// A chain that is long enough to be measured for as long as one likes.
fn chain() -> Network {
    let mut builder = ModelBuilder::new(&format!("chain-{}", std::process::id()));
    let mut value = builder.input("x", [1, 64, 64]);
    for _ in 0..12 {
        let squared = builder.node("MatMul", &[&value, &value]);
        value = builder.node("Tanh", &[&squared]);
    }
    builder.output(&value);
    Network::of_model(Arc::new(builder.build().unwrap()), "chain", ReadOptions::default())
}

/// What a control heard of measuring.
#[derive(Default)]
struct Heard {
    is_cached: bool,
    begun: Option<Instant>,
    /// How long each measurement took.
    measured: Vec<Duration>,
}

impl Heard {
    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::CachedProfile { .. } => self.is_cached = true,
            Event::Progress(progress) if progress.activity.starts_with("measuring ") => {
                let begun = *self.begun.get_or_insert_with(Instant::now);
                if progress.is_over {
                    self.measured.push(begun.elapsed());
                    self.begun = None;
                }
            }
            _ => {}
        }
    }
}

#[test]
fn a_network_is_measured_anew_for_as_long_as_was_said() {
    let folder = tempfile::tempdir().unwrap();
    let machine = Machine::detect().unwrap().with_cache_folder(folder.path());
    let plan = |is_fresh| {
        let heard: Arc<Mutex<Heard>> = Arc::default();
        let listener = Arc::clone(&heard);
        let control = Control::new().observed_by(move |event| listener.lock().unwrap().take(event));
        let request =
            SessionRequest { is_fresh, budget: Some(Duration::from_millis(500)), ..SessionRequest::default() };
        request.scheduled(&machine, Some(chain()), None, &control).unwrap();
        std::mem::take(&mut *heard.lock().unwrap())
    };
    assert!(!plan(false).measured.is_empty(), "nothing was measured before");
    assert!(plan(false).is_cached, "it is measured again without being asked to");

    let anew = plan(true);
    assert!(!anew.is_cached, "an old profile is used");
    // Of the usual budget, more than half would go to the segments, whose progress is told.
    let longest = anew.measured.iter().max().unwrap();
    assert!(*longest < PROFILE_BUDGET / 2, "the usual budget was spent: {:?}", anew.measured);
}
