//! Threads that run segments stay where they are pinned, also if the one that loaded the library was pinned elsewhere.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fetched;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;

use millstream_backend::{Backend, Segment, Tensor};
use millstream_backend_openvino::OpenVinoBackend;
use millstream_board::{CoreId, Processor};
use millstream_machine::{cores_of_current_thread, pin_current_thread};

use fetched::library;

/// The cores of the calling thread, pinned to the first of the processor, after it has run a few frames there.
fn cores_after_frames(backend: &OpenVinoBackend, segment: &Segment, processor: &Processor) -> BTreeSet<CoreId> {
    assert!(pin_current_thread(processor.cores[0]));
    let mut prepared = backend.prepare(segment, processor).unwrap();
    for _ in 0..3 {
        prepared.run(&[Tensor::from_f32([1, 3, 224, 224], vec![0.5; 3 * 224 * 224])]).unwrap();
    }
    cores_of_current_thread().unwrap()
}

#[test]
fn workers_stay_on_their_cores() {
    let Some(library) = library() else { return };
    let cores: Vec<CoreId> = cores_of_current_thread().unwrap().into_iter().collect();
    let model = Arc::new(millstream_zoo::build("squeezenet").unwrap());
    let segment = Segment::whole(model.graph());
    // Whoever uses the library first decides where it computes, were it not for a thread of the backend's own.
    assert!(pin_current_thread(cores[0]));
    let backend = OpenVinoBackend::new(&library, model);
    let last = *cores.last().unwrap();
    let both: BTreeSet<CoreId> = [last, cores[0]].into();
    let processors = [
        Processor::new("B", [cores[0].0]),
        Processor::new("B", [last.0]),
        Processor::on_cores("B".to_owned(), both.iter().rev().copied()),
    ];
    thread::scope(|scope| {
        let run = |processor| {
            let (backend, segment) = (&backend, &segment);
            scope.spawn(move || cores_after_frames(backend, segment, processor))
        };
        let workers: Vec<_> = processors.iter().map(|processor| (processor, run(processor))).collect();
        for (processor, worker) in workers {
            assert_eq!(worker.join().unwrap(), BTreeSet::from([processor.cores[0]]), "{processor}");
        }
    });
    assert_eq!(cores_of_current_thread().unwrap(), BTreeSet::from([cores[0]]), "who loaded it is left alone");
}
