//! What a simulation's processors did, as bars of a chart.

use millstream_schedule::{Schedule, StageId};
use millstream_sim::Simulation;

use crate::drawing::GanttBar;

/// Operators of a frame that follow each other closer than this are one bar.
const TOGETHER_SECONDS: f64 = 1e-7;

/// Lanes of a schedule: one for each processor, with its stage.
pub fn processor_lanes(schedule: &Schedule) -> Vec<String> {
    let mut lanes = Vec::new();
    for (stage, replica) in schedule.numbered_replicas() {
        let names = replica.assignments.iter().map(|assignment| with_cores(&assignment.processor));
        lanes.extend(names.map(|name| format!("stage {stage}: {name}")));
    }
    lanes
}

/// Which of these lanes a processor is in: by its stage, its replica and its position there.
pub fn processor_lane(schedule: &Schedule, (stage, replica, processor): (StageId, usize, usize)) -> Option<usize> {
    let planned = schedule.replica(stage, replica)?;
    let before = schedule.stages.iter().take(stage.index()).flat_map(|stage| &stage.replicas);
    let beside = schedule.stages.get(stage.index())?.replicas.iter().take(replica);
    let first: usize = before.chain(beside).map(|replica| replica.assignments.len()).sum();
    (processor < planned.assignments.len()).then_some(first + processor)
}

/// The bars of a simulation that kept its spans. What a fallback did is left out.
pub fn simulated_bars(schedule: &Schedule, simulation: &Simulation) -> Vec<GanttBar> {
    let mut spans: Vec<_> = simulation.spans.iter().collect();
    spans.sort_by_key(|span| (span.stage, span.replica, span.processor, span.start));
    let mut bars: Vec<GanttBar> = Vec::new();
    for span in spans.into_iter().filter(|span| simulation.fell_back.is_none_or(|at| span.start < at)) {
        let Some(lane) = processor_lane(schedule, (span.stage, span.replica, span.processor)) else { continue };
        let (frame, start_seconds, end_seconds) = (span.frame as u64, span.start.seconds(), span.end.seconds());
        let is_next = |bar: &&mut GanttBar| {
            bar.lane == lane && bar.frame == frame && start_seconds - bar.end_seconds < TOGETHER_SECONDS
        };
        match bars.last_mut().filter(is_next) {
            Some(bar) => bar.end_seconds = end_seconds,
            None => bars.push(GanttBar { lane, frame, start_seconds, end_seconds }),
        }
    }
    bars
}

fn with_cores(processor: &millstream_board::Processor) -> String {
    millstream_schedule::Replica::single(processor.clone(), Vec::new()).with_cores()
}
