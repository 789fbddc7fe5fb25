//! Prepared segments do not disturb each other, in one thread and in several.

use std::thread;

use millstream_backend::{PreparedSegment, Segment, Tensor};

use crate::models;
use crate::rig::{Rig, failed};
use crate::subject::Subject;
use crate::tensors::{agree, inputs_of};

/// Frames of each thread.
const FRAMES: usize = 20;

/// A segment with a frame of its own and what becomes of it.
struct Job {
    segment: Segment,
    inputs: Vec<Tensor>,
    expected: Vec<Tensor>,
}

pub(crate) fn check(subject: &Subject) -> Result<(), String> {
    let rig = Rig::of(subject, &models::small()?)?;
    let graph = rig.graph();
    let order = graph.order();
    let segments = [
        Segment::whole(graph),
        Segment::whole(graph),
        Segment::new(graph, order[..2].to_vec()),
        Segment::part(graph, order[..2].to_vec(), 0..3),
        Segment::part(graph, order[..2].to_vec(), 3..8),
    ];
    let mut jobs = Vec::new();
    for (segment, seed) in segments.into_iter().zip(1..) {
        let inputs = inputs_of(graph, &segment, seed)?;
        let expected = rig.run(&segment, &inputs)?;
        jobs.push(Job { segment, inputs, expected });
    }
    by_turns(&rig, &jobs).map_err(failed("segments by turns"))?;
    side_by_side(&rig, &jobs).map_err(failed("segments side by side"))
}

fn by_turns(rig: &Rig, jobs: &[Job]) -> Result<(), String> {
    let all: Result<Vec<Box<dyn PreparedSegment>>, String> = jobs.iter().map(|job| rig.prepare(&job.segment)).collect();
    let mut all = all?;
    for _ in 0..3 {
        for (prepared, job) in all.iter_mut().zip(jobs) {
            frame(&mut **prepared, job)?;
        }
    }
    Ok(())
}

/// Each thread prepares its segment and runs it, all at once.
fn side_by_side(rig: &Rig, jobs: &[Job]) -> Result<(), String> {
    let run = |job: &Job| -> Result<(), String> {
        let mut prepared = rig.prepare(&job.segment)?;
        (0..FRAMES).try_for_each(|_| frame(&mut *prepared, job))
    };
    thread::scope(|scope| {
        let threads: Vec<_> = jobs.iter().map(|job| scope.spawn(move || run(job))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?)
    })
}

fn frame(prepared: &mut dyn PreparedSegment, job: &Job) -> Result<(), String> {
    let made = prepared.run(&job.inputs).map_err(failed("a frame"))?;
    agree(&made, &job.expected, 1e-6)
}
