//! What a run does, as a trace for Perfetto.

use std::io;
use std::time::Instant;

use millstream::files::Growing;
use millstream_graph::{Along, Graph, Portion};
use millstream_report::{TraceEvent, TraceWriter};
use millstream_runtime::{FrameResult, StepSpan};
use millstream_schedule::Schedule;

/// A trace that grows with every frame. One track per replica with its frames; where several processors work on one frame, one track for
/// each with its operators.
pub(crate) struct RunTrace<'a> {
    schedule: &'a Schedule,
    graph: &'a Graph,
    /// The first track of each replica, by stage; those of its processors follow.
    first_tracks: Vec<Vec<usize>>,
    /// When the first frame was submitted.
    begin: Instant,
    writer: TraceWriter<Growing>,
}

impl<'a> RunTrace<'a> {
    /// Begins the trace of a run that was begun by a frame.
    pub(crate) fn begin(
        file: Growing,
        schedule: &'a Schedule,
        graph: &'a Graph,
        first: &FrameResult,
    ) -> io::Result<Self> {
        let mut tracks = Vec::new();
        let mut first_tracks: Vec<Vec<usize>> = Vec::new();
        for (index, stage) in schedule.stages.iter().enumerate() {
            let mut own = Vec::new();
            for replica in &stage.replicas {
                own.push(tracks.len());
                tracks.push(format!("stage {} on {replica}", index + 1));
                if replica.assignments.len() > 1 {
                    let processors = replica.assignments.iter().map(|assignment| &assignment.processor);
                    tracks.extend(processors.map(|processor| format!("stage {}: {processor}", index + 1)));
                }
            }
            first_tracks.push(own);
        }
        let writer = TraceWriter::new(file, &tracks)?;
        Ok(Self { schedule, graph, first_tracks, begin: first.submitted, writer })
    }

    /// Adds what was done for a frame. A schedule that took over after a device was lost has other stages: what it did belongs to no
    /// track.
    pub(crate) fn add(&mut self, result: &FrameResult) -> io::Result<()> {
        for span in &result.spans {
            let Some(track) = self.first_track(span.stage, span.replica) else { continue };
            let event = self.event(format!("frame {}", result.sequence), track, span.start, span.end);
            self.writer.add(&event)?;
        }
        for step in &result.steps {
            let Some(track) = self.first_track(step.stage, step.replica).filter(|_| self.is_shared(step)) else {
                continue;
            };
            let event = self.event(self.name(step), track + 1 + step.processor, step.start, step.end);
            self.writer.add(&event)?;
        }
        Ok(())
    }

    /// Ends the trace.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.writer.finish().map(drop)
    }

    fn first_track(&self, stage: usize, replica: usize) -> Option<usize> {
        self.first_tracks.get(stage)?.get(replica).copied()
    }

    /// Whether several processors work on one frame there, this one among them.
    fn is_shared(&self, step: &StepSpan) -> bool {
        let replica = self.schedule.stages.get(step.stage).and_then(|stage| stage.replicas.get(step.replica));
        replica.is_some_and(|replica| replica.assignments.len() > 1.max(step.processor))
    }

    fn name(&self, step: &StepSpan) -> String {
        let first = self.graph.operator(step.first).name.as_str();
        match &step.portion {
            Some(Portion { along: Along::Channels, range }) => {
                format!("{first}, channels {}..{}", range.start, range.end)
            }
            Some(Portion { along: Along::Rows, range }) => format!("{first}, rows {}..{}", range.start, range.end),
            None if step.operators > 1 => format!("{first} and {} more", step.operators - 1),
            None => first.to_owned(),
        }
    }

    fn event(&self, name: String, track: usize, start: Instant, end: Instant) -> TraceEvent {
        TraceEvent {
            name,
            track,
            start_microseconds: start.saturating_duration_since(self.begin).as_secs_f64() * 1e6,
            duration_microseconds: end.saturating_duration_since(start).as_secs_f64() * 1e6,
        }
    }
}
