//! What a run did, as a trace for Perfetto.

use std::time::Instant;

use millstream_graph::Graph;
use millstream_report::{TraceEvent, chrome_trace};
use millstream_runtime::FrameResult;
use millstream_schedule::Schedule;

/// One track per replica with its frames; where several processors work on one frame, one track for each with its operators.
pub(crate) fn trace(schedule: &Schedule, graph: &Graph, results: &[&FrameResult]) -> String {
    let mut tracks = Vec::new();
    // The first track of each replica, by stage; those of its processors follow.
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
    let begin = results.iter().flat_map(|result| &result.spans).map(|span| span.start).min();
    let event = |name: String, track: usize, start: Instant, end: Instant| TraceEvent {
        name,
        track,
        start_microseconds: begin.map_or(0.0, |begin| start.saturating_duration_since(begin).as_secs_f64() * 1e6),
        duration_microseconds: end.duration_since(start).as_secs_f64() * 1e6,
    };
    let mut events = Vec::new();
    for result in results {
        for span in &result.spans {
            let name = format!("frame {}", result.sequence);
            events.push(event(name, first_tracks[span.stage][span.replica], span.start, span.end));
        }
        for step in &result.steps {
            if schedule.stages[step.stage].replicas[step.replica].assignments.len() < 2 {
                continue;
            }
            let first = graph.operator(step.first).name.as_str();
            let name = match &step.channels {
                Some(channels) => format!("{first}, channels {}..{}", channels.start, channels.end),
                None if step.operators > 1 => format!("{first} and {} more", step.operators - 1),
                None => first.to_owned(),
            };
            let track = first_tracks[step.stage][step.replica] + 1 + step.processor;
            events.push(event(name, track, step.start, step.end));
        }
    }
    chrome_trace(&tracks, &events)
}
