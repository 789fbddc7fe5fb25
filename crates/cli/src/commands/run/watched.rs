//! What a page shows of single frames: when the first ones were where, and how long each took.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use millstream::{Scheduled, Taken};
use millstream_report::{Course, Drawing, GanttBar, course_drawing, gantt_drawing, processor_lane, processor_lanes};
use millstream_schedule::{Schedule, StageId};

use crate::html::drawn_frames;

/// The frames of a network while they come.
#[derive(Default)]
pub(super) struct Watched {
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    begin: Option<Instant>,
    frames: usize,
    bars: Vec<GanttBar>,
    course: Course,
}

impl Watched {
    /// Takes in a frame. Memory does not grow with their number.
    pub(super) fn take(&self, scheduled: &Scheduled, frame: &Taken) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if frame.failure.is_none() {
            seen.course.push(frame.latency_seconds());
        }
        if seen.frames < drawn_frames(&scheduled.schedule) {
            let begin = *seen.begin.get_or_insert(frame.result.submitted);
            let number = seen.frames as u64;
            seen.bars.extend(bars(&scheduled.schedule, (frame, number), begin));
            seen.frames += 1;
        }
    }

    /// The first frames on their processors.
    pub(super) fn gantt(&self, schedule: &Schedule) -> Option<Drawing> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let caption = format!(
            "The first {} frames that were measured, as they were worked on, each in a colour of its scheduled with its number. Where several processors work on one \
             frame, gaps are where they waited for each other.",
            seen.frames
        );
        gantt_drawing(&processor_lanes(schedule), &seen.bars, &caption)
    }

    /// How long frames took, one after the other.
    pub(super) fn course(&self, levels: &[(&str, f64)]) -> Option<Drawing> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let caption = "Time from each frame's arrival to its result, queues and order included. The band has all frames, the line is their mean.";
        course_drawing(&seen.course, levels, caption)
    }
}

/// What worked on a frame: single processors for the whole of it, those of teams step by step.
fn bars(schedule: &Schedule, (frame, number): (&Taken, u64), begin: Instant) -> Vec<GanttBar> {
    let since = |moment: Instant| moment.saturating_duration_since(begin).as_secs_f64();
    let bar = |place: (StageId, usize, usize), start: Instant, end: Instant| {
        let lane = processor_lane(schedule, place)?;
        Some(GanttBar { lane, frame: number, start_seconds: since(start), end_seconds: since(end) })
    };
    let is_team = |stage: StageId, replica: usize| {
        schedule.replica(stage, replica).is_some_and(|replica| replica.assignments.len() > 1)
    };
    let spans = frame.result.spans.iter().filter(|span| !is_team(span.stage, span.replica));
    let spans = spans.filter_map(|span| bar((span.stage, span.replica, 0), span.start, span.end));
    let steps = frame.result.steps.iter().filter(|step| is_team(step.stage, step.replica));
    let steps = steps.filter_map(|step| bar((step.stage, step.replica, step.processor), step.start, step.end));
    spans.chain(steps).collect()
}
