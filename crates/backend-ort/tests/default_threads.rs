//! How many threads a session starts: this process runs one test, so that nobody else starts any.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use millstream_backend::{Backend, Segment};
use millstream_backend_ort::{Environment, OrtBackend, SessionSettings, ThreadUse};
use millstream_board::Processor;

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// On one core, a session needs no other thread than its caller; left to itself, it starts one for each further core
/// of the computer.
#[test]
fn a_session_by_default_starts_threads_for_all_cores_that_it_sees() {
    let model = Arc::new(millstream_zoo::build("squeezenet").unwrap());
    let segment = Segment::whole(model.graph());
    let environment = Environment::load().unwrap();
    let started = |threads_of| {
        let settings = SessionSettings { threads: threads_of, ..SessionSettings::default() };
        let backend = OrtBackend::with_settings(&environment, Arc::clone(&model), settings);
        let before = threads();
        let prepared = backend.prepare(&segment, &Processor::new("B", [0])).unwrap();
        let started = threads() - before;
        drop(prepared);
        started
    };
    assert_eq!((started(ThreadUse::Pinned), started(ThreadUse::Free)), (0, 0));
    let cores: usize = millstream_machine::detect().unwrap().clusters().iter().map(|own| own.cores.len()).sum();
    assert!(started(ThreadUse::Default) + 1 >= cores, "one for each further core, of {cores}");
}
