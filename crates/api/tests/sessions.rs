//! A session that callers share: each gets the results of its own frames.

#![cfg(feature = "ort")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use millstream_api::{
    Control, EngineOptions, Error, Machine, Network, Owner, ReadOptions, Session, SessionRequest, Submitted, Tensor,
};
use millstream_onnx::ModelBuilder;

const TICK: Duration = Duration::from_millis(50);

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
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            loop {
                match session.receive_within(owner, TICK) {
                    Err(error) => return error,
                    Ok(_) => std::thread::sleep(Duration::from_millis(1)),
                }
            }
        });
        std::thread::sleep(Duration::from_millis(100));
        assert!(!session.is_closed());
        session.close();
        assert!(matches!(waiting.join().unwrap(), Error::Closed));
    });
    assert!(session.is_closed() && matches!(session.join(), Err(Error::Closed)));
    assert!(matches!(session.report(), Err(Error::Closed)));
}
