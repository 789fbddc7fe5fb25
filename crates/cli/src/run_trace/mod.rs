//! What a run does, as a trace for Perfetto.

mod sampler;

use std::io;
use std::time::Instant;

use millstream::Taken;
use millstream::files::Growing;
use millstream_graph::Graph;
use millstream_report::{CoreTracks, FlowStep, QueueCounts, TraceEvent, TraceWriter};
use millstream_runtime::{StageSpan, StepSpan};
use millstream_schedule::{Replica, Schedule};
use sampler::Sampler;
use serde_json::Value;

/// A trace that grows with every frame. A track for each core and accelerator has the frames that it works on; where
/// several processors work on one frame, also what each of them runs. Arrows lead from stage to stage with each frame.
/// Counters show how many frames wait, how fast cores are, CPU use by other processes, and power, where the system
/// reports them.
pub(crate) struct RunTrace<'a> {
    schedule: &'a Schedule,
    graph: &'a Graph,
    tracks: CoreTracks,
    /// When the first frame arrived, and its number: those before it, that warmed up, are not in the trace.
    begin: Instant,
    first: u64,
    queues: QueueCounts,
    sampler: Sampler,
    writer: TraceWriter<Growing>,
}

impl<'a> RunTrace<'a> {
    /// Begins the trace of a run that was begun by a frame.
    pub(crate) fn begin(file: Growing, schedule: &'a Schedule, graph: &'a Graph, first: &Taken) -> io::Result<Self> {
        let tracks = CoreTracks::of([schedule]);
        let writer = TraceWriter::new(file, &tracks.tracks())?;
        let (queues, sampler) = (QueueCounts::default(), Sampler::start());
        let (begin, first) = (first.arrived, first.result.sequence);
        Ok(Self { schedule, graph, tracks, begin, first, queues, sampler, writer })
    }

    /// Adds what was done for a frame. A schedule that took over after a device was lost has other stages: what it did
    /// belongs to no track.
    pub(crate) fn add(&mut self, frame: &Taken) -> io::Result<()> {
        let mut events = Vec::new();
        let spans = &frame.result.spans;
        let mut free = frame.arrived;
        for (place, span) in spans.iter().enumerate() {
            let Some(replica) = self.schedule.replica(span.stage, span.replica) else { continue };
            self.queues.waited(span.stage, self.microseconds(free), self.microseconds(span.start));
            self.add_visit((frame, span, free), replica, &mut events);
            free = span.end;
            let step = match place {
                _ if spans.len() < 2 => continue,
                0 => FlowStep::Start,
                last if last + 1 == spans.len() => FlowStep::End,
                _ => FlowStep::Through,
            };
            let track = replica
                .assignments
                .first()
                .and_then(|assignment| self.tracks.of_processor(&assignment.processor).first().copied());
            let at = self.microseconds(span.start);
            events.extend(track.map(|track| TraceEvent::Flow { id: self.number(frame), track, at, step }));
        }

        for step in &frame.result.steps {
            self.add_step(self.number(frame), step, &mut events);
        }
        // Frames come in their order: what the next ones waited for began no sooner than this one arrived.
        let arrived = self.microseconds(frame.arrived);
        events.extend(self.queues.until(arrived, ""));
        events.iter().try_for_each(|event| self.writer.add(event))?;
        self.add_samples()
    }

    /// A frame's number, counted from the first that was measured.
    fn number(&self, frame: &Taken) -> u64 {
        frame.result.sequence.saturating_sub(self.first)
    }

    /// Ends the trace.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.add_samples()?;
        let counts = self.queues.until(f64::INFINITY, "");
        counts.iter().try_for_each(|event| self.writer.add(event))?;
        self.writer.finish().map(drop)
    }

    fn add_samples(&mut self) -> io::Result<()> {
        for sample in self.sampler.take() {
            let at = self.microseconds(sample.at);
            self.writer.add(&TraceEvent::Counter { name: sample.name, at, value: sample.value })?;
        }
        Ok(())
    }

    /// A frame on every core that works on it, after it was free to be worked on.
    fn add_visit(
        &self,
        (frame, span, free): (&Taken, &StageSpan, Instant),
        replica: &Replica,
        events: &mut Vec<TraceEvent>,
    ) {
        let waited = span.start.saturating_duration_since(free).as_secs_f64() * 1e3;
        for assignment in &replica.assignments {
            for track in self.tracks.of_processor(&assignment.processor) {
                let arguments = vec![
                    ("frame", Value::from(self.number(frame))),
                    ("label", Value::from(frame.label.clone())),
                    ("stage", Value::from(span.stage.number())),
                    ("replica", Value::from(span.replica + 1)),
                    ("processor", Value::from(assignment.processor.to_string())),
                    ("operators", Value::from(assignment.operators.len())),
                    ("waited_ms", Value::from(waited)),
                ];
                let name = format!("frame {}", self.number(frame));
                events.push(self.slice(name, track, (span.start, span.end), arguments));
            }
        }
    }

    /// What one processor of a team ran.
    fn add_step(&self, frame: u64, step: &StepSpan, events: &mut Vec<TraceEvent>) {
        let Some(replica) =
            self.schedule.replica(step.stage, step.replica).filter(|replica| replica.assignments.len() > 1)
        else {
            return;
        };
        let Some(assignment) = replica.assignments.get(step.processor) else { return };
        for track in self.tracks.of_processor(&assignment.processor) {
            let mut arguments = vec![
                ("frame", Value::from(frame)),
                ("type", Value::from(self.graph.operator(step.first).op_type.clone())),
                ("operators", Value::from(step.operators)),
            ];
            let portion = step
                .portion
                .as_ref()
                .map(|portion| (portion.along.name(), format!("{}..{}", portion.range.start, portion.range.end)));
            arguments.extend(portion.map(|(along, range)| (along, Value::from(range))));
            events.push(self.slice(self.name(step), track, (step.start, step.end), arguments));
        }
    }

    fn name(&self, step: &StepSpan) -> String {
        let first = self.graph.operator(step.first).name.as_str();
        match &step.portion {
            Some(portion) => {
                format!("{first}, {} {}..{}", portion.along.name(), portion.range.start, portion.range.end)
            }
            None if step.operators > 1 => format!("{first} and {} more", step.operators - 1),
            None => first.to_owned(),
        }
    }

    fn slice(
        &self,
        name: String,
        track: usize,
        (start, end): (Instant, Instant),
        arguments: Vec<(&'static str, Value)>,
    ) -> TraceEvent {
        let duration = end.saturating_duration_since(start).as_secs_f64() * 1e6;
        TraceEvent::Slice { name, track, start: self.microseconds(start), duration, arguments }
    }

    fn microseconds(&self, moment: Instant) -> f64 {
        moment.saturating_duration_since(self.begin).as_secs_f64() * 1e6
    }
}
