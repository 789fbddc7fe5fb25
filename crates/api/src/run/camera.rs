//! Where frames come from: always another one, or as a camera gives them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use millstream_runtime::{Engine, RuntimeError};

use crate::control::Control;
use crate::error::Error;
use crate::run::reference::Reference;
use crate::run::sink::ObservedSink;
use crate::threads::{SetOnDrop, thread};

/// How often somebody who waits for room, or for a result that is not there yet, looks again.
const LOOK: Duration = Duration::from_micros(200);

/// The longest that the camera sleeps before it looks whether it is over.
const NAP: Duration = Duration::from_millis(20);

/// Submits frames as fast as there is room until there are enough, and hands the results to the sink. `first` is the
/// engine's number of the first frame.
pub(crate) fn stream(
    engine: &Engine,
    reference: &Reference,
    is_enough: &(dyn Fn(u64) -> bool + Sync),
    first: u64,
    sink: &mut ObservedSink<'_>,
    control: &Control,
) -> Result<(), Error> {
    let mut count = 0;
    let supply = std::iter::from_fn(|| {
        let is_over = is_enough(count) || control.is_cancelled();
        count += 1;
        (!is_over).then(|| reference.frame(count - 1))
    });
    for (number, result) in (0..).zip(engine.run(supply)) {
        if result.sequence != first + number {
            return Err(Error::Defect(format!("the result of frame {} came out of turn", result.sequence)));
        }
        sink.take(number, result, None)?;
    }
    if sink.sink.statistics.is_empty() {
        return Err(Error::NoFrame);
    }
    Ok(())
}

/// Frames that arrive at their times, whether there is room or not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    /// Frames per second.
    pub hertz: f64,
    /// What becomes of a frame that finds no room.
    pub when_late: WhenLate,
}

/// The rule for a camera's frame that finds no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenLate {
    /// It waits, and so do those behind it.
    Wait,
    /// It takes the place of one that waits already.
    DropOldest,
    /// It is dropped.
    DropNewest,
}

impl Camera {
    /// Lets frames arrive at their times and hands the results to the sink, with the number of frames that found no
    /// room.
    pub(crate) fn stream(
        self,
        engine: &Engine,
        reference: &Reference,
        is_enough: &(dyn Fn(u64) -> bool + Sync),
        sink: &mut ObservedSink<'_>,
        control: &Control,
    ) -> Result<(), Error> {
        let shutter = Shutter {
            camera: self,
            engine,
            reference,
            submitted: Mutex::default(),
            dropped: AtomicU64::new(0),
            control,
        };
        let is_done = AtomicBool::new(false);
        let is_stopped = AtomicBool::new(false);

        let outcome = std::thread::scope(|scope| {
            let spawned = thread("camera").spawn_scoped(scope, || {
                let _done = SetOnDrop(&is_done);
                shutter.run(is_enough, &is_stopped)
            });
            let no_thread = |source| Error::Thread { what: "cannot start the camera".to_owned(), source };
            let producer = spawned.map_err(no_thread)?;
            let received = shutter.receive(&is_done, sink);
            is_stopped.store(true, Ordering::SeqCst);
            // Whoever waits for room gets it when results are taken.
            while !is_done.load(Ordering::SeqCst) {
                if engine.recv().is_none() {
                    std::thread::sleep(LOOK);
                }
            }
            let produced = producer.join().map_err(|_| Error::Defect("the camera's thread panicked".to_owned()))?;
            received.and(produced.map_err(Into::into))
        });

        sink.sink.dropped = shutter.dropped.load(Ordering::SeqCst);
        outcome?;
        if sink.sink.statistics.is_empty() {
            return Err(Error::NoFrame);
        }
        Ok(())
    }
}

/// A frame that came and was not submitted yet.
#[derive(Clone, Copy)]
struct Waiting {
    /// Its number among all frames of the camera.
    number: u64,
    arrived: Instant,
}

/// A frame that the engine has.
struct Submitted {
    /// The engine's number.
    sequence: u64,
    /// Its number among all frames of the camera.
    number: u64,
    arrived: Instant,
}

struct Shutter<'a> {
    camera: Camera,
    engine: &'a Engine,
    reference: &'a Reference,
    submitted: Mutex<Vec<Submitted>>,
    dropped: AtomicU64,
    control: &'a Control,
}

impl Shutter<'_> {
    /// Lets frames arrive until there are enough.
    fn run(&self, is_enough: &(dyn Fn(u64) -> bool + Sync), is_stopped: &AtomicBool) -> Result<(), RuntimeError> {
        let begin = Instant::now();
        let is_over = |number| is_enough(number) || self.control.is_cancelled() || is_stopped.load(Ordering::SeqCst);
        // The frame that waits for room, where the newest one takes its place.
        let mut waiting: Option<Waiting> = None;
        let mut number = 0;

        while !is_over(number) {
            let due = begin + Duration::from_secs_f64(number as f64 / self.camera.hertz);
            while let Some(left) = due.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
                if is_over(number) {
                    break;
                }
                waiting = self.try_submit(waiting)?;
                std::thread::sleep(left.min(if waiting.is_some() { LOOK } else { NAP }));
            }
            if is_over(number) {
                break;
            }

            let frame = Waiting { number, arrived: due };
            match self.camera.when_late {
                WhenLate::Wait => self.submit(frame)?,
                WhenLate::DropNewest => {
                    if self.try_submit(Some(frame))?.is_some() {
                        self.dropped.fetch_add(1, Ordering::SeqCst);
                    }
                }
                WhenLate::DropOldest => {
                    if waiting.replace(frame).is_some() {
                        self.dropped.fetch_add(1, Ordering::SeqCst);
                    }
                    waiting = self.try_submit(waiting)?;
                }
            }
            number += 1;
        }

        while let Some(frame) = waiting.filter(|_| !is_stopped.load(Ordering::SeqCst)) {
            waiting = self.try_submit(Some(frame))?;
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Waits for room.
    fn submit(&self, Waiting { number, arrived }: Waiting) -> Result<(), RuntimeError> {
        let sequence = self.engine.submit(self.reference.frame(number))?;
        self.note(Submitted { sequence, number, arrived });
        Ok(())
    }

    /// Submits a frame if there is room; gives it back if not.
    fn try_submit(&self, frame: Option<Waiting>) -> Result<Option<Waiting>, RuntimeError> {
        let Some(Waiting { number, arrived }) = frame else { return Ok(None) };
        match self.engine.try_submit(self.reference.frame(number))? {
            Ok(sequence) => {
                self.note(Submitted { sequence, number, arrived });
                Ok(None)
            }
            Err(_) => Ok(frame),
        }
    }

    fn note(&self, submitted: Submitted) {
        self.submitted.lock().unwrap_or_else(PoisonError::into_inner).push(submitted);
    }

    /// Takes results until the camera is done and nothing is left in the engine.
    fn receive(&self, is_done: &AtomicBool, sink: &mut ObservedSink<'_>) -> Result<(), Error> {
        loop {
            // In this order: what was submitted before it was done is there.
            let was_done = is_done.load(Ordering::SeqCst);
            match self.engine.recv() {
                Some(result) => {
                    let submission = self.submitted_as(result.sequence);
                    sink.take(submission.number, result, Some(submission.arrived))?;
                }
                None if was_done => return Ok(()),
                None => std::thread::sleep(LOOK),
            }
        }
    }

    /// Which frame has this number in the engine. A result may come before its frame is noted.
    fn submitted_as(&self, sequence: u64) -> Submitted {
        loop {
            let mut submitted = self.submitted.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(place) = submitted.iter().position(|submission| submission.sequence == sequence) {
                return submitted.swap_remove(place);
            }
            drop(submitted);
            std::thread::yield_now();
        }
    }
}
