//! The suite over a tiny backend: it passes where it computes rightly, and every fault is caught.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod plain;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use millstream_backend_test::{Losable, Point, Subject};
use millstream_board::Processor;

use crate::plain::{Fault, Plain, first_core};

fn subject(fault: Fault) -> Subject {
    let subject =
        Subject::new(first_core(), Processor::accelerator("G"), move |model| Ok(Box::new(Plain::new(model, fault))));
    let losable = move |model: &_| {
        let backend = Box::new(Plain::new(model, fault));
        let is_lost = Arc::clone(&backend.is_lost);
        Ok(Losable { backend, lose: Box::new(move || is_lost.store(true, Ordering::SeqCst)) })
    };
    // It computes a few operators only; the network is the one of the zoo with the least to compute that it can run.
    let subject = subject.losing(losable).refusing(|model, id| !plain::is_known(model, id));
    subject.without_tiles().networks(["mobilenet-v2"]).patience(Duration::from_millis(500))
}

millstream_backend_test::conformance!(subject(Fault::None));

/// Which point catches which fault, and how it says so.
const CAUGHT: &[(Fault, Point, &str)] = &[
    (Fault::SwapsInputs, Point::Values, "difference: result 0: element 0 is -4"),
    (Fault::SwapsOutputs, Point::Values, "several results"),
    (Fault::IgnoresPadding, Point::Values, "convolution with padding and strides"),
    (Fault::WrongShape, Point::Values, "it is f32 [4], not f32 [1, 1, 2, 2]"),
    (Fault::SupportsNothing, Point::Values, "the operator Conv is not supported"),
    (Fault::SpoilsTheEndOfParts, Point::Parts, "in parts"),
    (Fault::IgnoresTheRange, Point::Parts, "in parts"),
    (Fault::IgnoresRows, Point::Tiles, "a tile that is not refused"),
    (Fault::AcceptsAnyRange, Point::Parts, "can't be divided there"),
    (Fault::WritesTooLittle, Point::RunInto, "the result that was written"),
    (Fault::WritesOldResults, Point::RunInto, "the result that was written"),
    (Fault::AcceptsAnyRoom, Point::RunInto, "bytes of room"),
    (Fault::AddsUpFrames, Point::Frames, "a frame after others"),
    (Fault::FirstFrameForever, Point::Frames, "a frame after others"),
    (Fault::ReusesMemory, Point::Frames, "looked at after later frames"),
    (Fault::SharesScratchInOrder, Point::Concurrency, "segments by turns"),
    (Fault::SharesScratchBetweenThreads, Point::Concurrency, "segments side by side"),
    (Fault::AcceptsAnyCount, Point::Misfits, "two inputs: not refused"),
    (Fault::AcceptsAnyShape, Point::Misfits, "an image turned around: not refused"),
    (Fault::BlamesTheOperator, Point::Misfits, "the error is not about the input"),
    (Fault::BreaksAfterMisfit, Point::Misfits, "there was an error before"),
    (Fault::SupportsWhatItCanNot, Point::Refusals, "supported, but not prepared"),
    (Fault::PreparesWhatItDoesNotSupport, Point::Refusals, "prepared, although it is not supported"),
    (Fault::RunsOnForeignProcessors, Point::Refusals, "which is not the backend's"),
    (Fault::OkAfterLoss, Point::LostDevice, "a frame after the device was lost: no error"),
    (Fault::OtherErrorAfterLoss, Point::LostDevice, "another error"),
    (Fault::PreparesAfterLoss, Point::LostDevice, "preparing after the device was lost: no error"),
    (Fault::HangsAfterLoss, Point::LostDevice, "no answer"),
    (Fault::PanicsAfterLoss, Point::LostDevice, "a panic"),
    (Fault::WrongWhereSegmentsMeet, Point::Networks, "in 2 segments"),
    (Fault::TraceLeavesOut, Point::Traces, "the trace has"),
    (Fault::TraceCountsTwice, Point::Traces, "the trace has"),
    (Fault::TraceTakesTooLong, Point::Traces, "s of a frame of"),
    (Fault::TraceIgnoresGoOn, Point::Traces, "one time for each frame"),
    (Fault::NoTimeForTransfers, Point::Transfers, "took no time"),
    (Fault::TransfersElsewhere, Point::Transfers, "which is not the backend's"),
];

#[test]
fn every_fault_is_caught() {
    for &(fault, point, expected) in CAUGHT {
        let caught = point.check(&subject(fault)).err().unwrap_or_else(|| panic!("{fault:?} passes {point:?}"));
        assert!(caught.contains(expected), "{fault:?}: {caught}");
    }
}

#[test]
fn every_point_catches_something() {
    let catching: BTreeSet<String> = CAUGHT.iter().map(|(_, point, _)| format!("{point:?}")).collect();
    assert_eq!(catching, Point::ALL.iter().map(|point| format!("{point:?}")).collect());
}

/// A fault that is the same however a network is divided: only another backend shows it, with whole networks and with
/// single operators.
#[test]
fn the_reference_shows_what_is_wrong_everywhere() {
    let subject = |fault| {
        let subject = subject(fault).slow(["mobilenet-v2"], 1_000_000);
        subject.compared_with(first_core(), |model| Ok(Box::new(Plain::new(model, Fault::None))))
    };
    assert_eq!(Point::Networks.check(&subject(Fault::None)), Ok(()));
    let caught = Point::Networks.check(&subject(Fault::IgnoresPadding)).unwrap_err();
    assert!(caught.contains("beside the reference"), "{caught}");
    // The last of many channels: a part is enough to see it.
    let caught = Point::Networks.check(&subject(Fault::IgnoresTheRange)).unwrap_err();
    assert!(caught.contains("channels"), "{caught}");
}

#[test]
fn a_backend_that_does_not_open_fails_every_point_but_one() {
    let closed = || {
        let unavailable = || millstream_backend::BackendError::failed("there is no such device");
        Subject::new(first_core(), Processor::accelerator("G"), move |_| Err(unavailable())).networks(["tiny-darknet"])
    };
    for point in Point::ALL {
        // What can't lose its device has nothing to show.
        let passes = point.check(&closed()).is_ok();
        assert_eq!(passes, point == Point::LostDevice, "{point:?}");
    }
}
