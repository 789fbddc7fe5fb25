use millstream_graph::Graph;
use millstream_schedule::Schedule;
use millstream_sim::{Simulation, Span};

use crate::{TraceEvent, chrome_trace};

/// What was simulated of each network on a board, as a trace for Perfetto: the networks' processors one after the other. The simulations
/// must have kept their spans.
pub fn simulation_trace(networks: &[(&Schedule, &Graph, &Simulation)]) -> String {
    let mut tracks = Vec::new();
    let mut events = Vec::new();
    for &(schedule, graph, simulation) in networks {
        let prefix = if networks.len() > 1 { format!("{} ", graph.name()) } else { String::new() };
        let mut first_track = Vec::new();
        for (index, stage) in schedule.stages.iter().enumerate() {
            let mut of_stage = Vec::new();
            for replica in &stage.replicas {
                of_stage.push(tracks.len());
                let names = replica.assignments.iter();
                tracks.extend(names.map(|assignment| format!("{prefix}stage {} {}", index + 1, assignment.processor)));
            }
            first_track.push(of_stage);
        }
        let event = |span: &Span| {
            Some(TraceEvent {
                name: format!("frame {} {}", span.frame, graph.operator(span.operator).name),
                track: first_track.get(span.stage)?.get(span.replica)? + span.processor,
                start_microseconds: span.start.seconds() * 1e6,
                duration_microseconds: (span.end - span.start).seconds() * 1e6,
            })
        };
        // A fallback has other stages: its spans belong to no track.
        let is_of_schedule = |span: &&Span| simulation.fell_back.is_none_or(|at| span.start < at);
        events.extend(simulation.spans.iter().filter(is_of_schedule).filter_map(event));
    }
    chrome_trace(&tracks, &events)
}
