//! What every operator takes in its stage.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use millstream_backend::{Observed, OperatorTimes, Segment, Tensor};
use millstream_graph::{Graph, OperatorId, ValueId};
use millstream_predict::Statistics;
use millstream_schedule::{Schedule, StageId};

use crate::error::Error;
use crate::run::report::OperatorReport;

/// Time for one processor of a stage.
const TRACE: Duration = Duration::from_millis(500);
/// And at least so many frames.
const FEWEST_FRAMES: usize = 3;

/// Lets every stage work on the frame by itself, on each of its processors, and reads what its operators took. A
/// processor of a stage with several shows the operators that it runs, whole.
pub(crate) fn measure(
    graph: &Graph,
    schedule: &Schedule,
    backend: &dyn Observed,
    frame: &[Tensor],
) -> Result<Vec<OperatorReport>, Error> {
    let mut values: HashMap<ValueId, Tensor> = graph.inputs().iter().copied().zip(frame.iter().cloned()).collect();
    let mut reports = Vec::new();
    for (id, stage) in schedule.numbered_stages() {
        let operators = in_order(graph, &stage.operators().collect::<Vec<_>>());
        let segment = Segment::new(graph, operators);
        let inputs = segment.inputs_from(&values);

        let mut classes = Vec::new();
        for assignment in stage.replicas.iter().flat_map(|replica| &replica.assignments) {
            let processor = &assignment.processor;
            let supports = |&id: &OperatorId| backend.supports(id, processor);
            if classes.contains(&processor.class()) && stage.replicas.len() > 1
                || !segment.operators.iter().all(supports)
            {
                continue;
            }
            classes.push(processor.class());
            if let Some(core) = processor.cores.first() {
                let _ = millstream_machine::pin_current_thread(*core);
            }

            let begin = Instant::now();
            let mut frames = 0;
            let times = backend.trace(&segment, processor, &inputs, &mut |_| {
                frames += 1;
                frames < FEWEST_FRAMES || begin.elapsed() < TRACE
            })?;
            let groups =
                times.iter().filter(|group| group.operators.iter().any(|id| assignment.operators.contains(id)));
            reports.extend(rows(graph, id, &processor.to_string(), &groups.collect::<Vec<_>>()));
        }

        if let Some(processor) = stage.replicas.first().and_then(|replica| replica.assignments.first()) {
            let outputs = backend.prepare(&segment, &processor.processor)?.run(&inputs)?;
            values.extend(segment.boundary.outputs.iter().copied().zip(outputs));
        }
    }
    Ok(reports)
}

fn in_order(graph: &Graph, operators: &[OperatorId]) -> Vec<OperatorId> {
    graph.order().iter().copied().filter(|id| operators.contains(id)).collect()
}

fn rows(graph: &Graph, stage: StageId, processor: &str, times: &[&OperatorTimes]) -> Vec<OperatorReport> {
    let median = |times: &OperatorTimes| Statistics::of(&times.seconds).map_or(0.0, |time| time.median_seconds);
    let total: f64 = times.iter().map(|times| median(times)).sum();
    times
        .iter()
        .map(|times| OperatorReport {
            stage,
            processor: processor.to_owned(),
            operators: times.operators.iter().map(|&id| graph.operator(id).name.clone()).collect(),
            op_type: times.operators.first().map_or_else(String::new, |&id| graph.operator(id).op_type.clone()),
            seconds: median(times),
            share: if total > 0.0 { median(times) / total } else { 0.0 },
        })
        .collect()
}
