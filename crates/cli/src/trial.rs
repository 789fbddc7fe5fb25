//! Running a plan for a short while and taking the times of its stages as samples.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use millstream_backend::{Backend, Tensor};
use millstream_board::Board;
use millstream_cost::Nanoseconds;
use millstream_graph::Graph;
use millstream_pipeline::{Plan, Problem};
use millstream_predict::{Conditions, SegmentSample};
use millstream_profile::BatchedTimes;
use millstream_runtime::{Engine, EngineOptions, StepSpan};

use crate::model::Network;
use crate::{interrupt, steady};

/// A trial streams frames for this long, not counting the time to fill the pipeline.
const TRIAL: Duration = Duration::from_millis(2000);
/// And at least this many frames per worker, so that the slowest replica works on several.
const FEWEST_FRAMES: usize = 12;

/// A stage that works for less than this fraction of the period is idle at times.
const BUSY: f64 = 0.9;

/// What a trial found.
pub(crate) struct Trial {
    /// One sample per stage and processor class, measured while all stages work.
    pub(crate) samples: Vec<SegmentSample>,
    /// The plan with the times and the period that it really has.
    pub(crate) measured: Plan,
}

/// Runs the plan.
pub(crate) fn run(
    network: &Network,
    board: &Board,
    backend: &Arc<dyn Backend>,
    problem: &Problem,
    plan: &Plan,
) -> Result<Trial> {
    let graph = network.model.graph();
    let schedule = problem.schedule(plan);
    let engine = Engine::new(
        graph,
        &schedule,
        std::slice::from_ref(backend),
        &EngineOptions {
            keeps_steps: tracing::enabled!(tracing::Level::DEBUG),
            takes_over: true,
            ..EngineOptions::default()
        },
    )?;
    let warnings = engine.warnings();
    if !warnings.is_empty() {
        tracing::warn!(?warnings, "the trial may be disturbed");
    }
    let frame = network.first_frame(&**backend, board)?.to_vec();
    let mut times = BTreeMap::new();
    let warm_up = 2 * engine_depth(plan);
    let workers = plan.stages.iter().map(|stage| stage.replicas.len()).sum();
    let fewest = FEWEST_FRAMES * workers;
    let mut begin = None;
    let mut stop = Instant::now();
    let mut submitted = 0;
    let frames = std::iter::from_fn(|| {
        submitted += 1;
        if submitted == warm_up {
            begin = Some(Instant::now());
        }
        let is_over = begin.is_some_and(|begin: Instant| begin.elapsed() > TRIAL) && submitted > warm_up + fewest;
        stop = Instant::now();
        (!is_over && !interrupt::requested()).then(|| frame.clone())
    });
    let mut ends = Vec::new();
    for (index, result) in engine.run(frames).enumerate() {
        let _: Vec<Tensor> = result.outcome?;
        if index == warm_up + 10 {
            show_steps(&result.steps, graph);
        }
        ends.extend(result.spans.last().filter(|_| index >= warm_up).map(|span| span.end));
        for span in result.spans.iter().filter(|_| index >= warm_up) {
            let stage = &plan.stages[span.stage];
            // The processors of a team have one time together.
            let classes =
                if stage.is_team { stage.replicas.clone() } else { vec![stage.replicas[span.replica].clone()] };
            let is_shared = classes.iter().any(|class| is_slowed(board, &class.cluster));
            let times = times.entry((span.stage, classes)).or_insert_with(|| BatchedTimes::new(is_shared));
            times.push(span.end.duration_since(span.start));
        }
    }
    let bytes = network.chain.input_bytes(graph);
    let period = steady::interval(ends, workers, stop).map_or(plan.period, Nanoseconds::from);
    let mut samples = Vec::with_capacity(times.len());
    let mut measured: Vec<Vec<Nanoseconds>> = plan.stages.iter().map(|stage| stage.times.clone()).collect();
    for ((stage, processors), times) in times {
        let Some(time) = times.statistics() else { continue };
        let blocks = plan.stages[stage].blocks.clone();
        let [processor] = processors.as_slice() else {
            measured[stage] = vec![Nanoseconds::from_seconds(time.median_seconds)];
            continue;
        };
        for (replica, own) in plan.stages[stage].replicas.iter().zip(&mut measured[stage]) {
            if replica == processor {
                *own = Nanoseconds::from_seconds(time.median_seconds);
            }
        }
        // A stage that sleeps between frames gets more than its share of a shared core, as long as it goes on sleeping: its
        // time says nothing about what it could do with more work.
        let is_idle = time.median_seconds < BUSY * period.seconds() * plan.stages[stage].replicas.len() as f64;
        if is_idle && is_slowed(board, &processor.cluster) {
            continue;
        }
        let input_bytes = bytes.of(blocks.clone());
        samples.push(SegmentSample {
            processor: processor.clone(),
            start: blocks.start,
            end: blocks.end,
            input_bytes,
            concurrent: workers,
            time,
            conditions: Conditions::default(),
        });
    }
    Ok(Trial { samples, measured: plan.clone().with_measured(measured, period) })
}

/// Says what the processors of a stage did for one frame.
fn show_steps(steps: &[StepSpan], graph: &Graph) {
    let Some(begin) = steps.iter().map(|step| step.start).min() else { return };
    for step in steps {
        let start = Nanoseconds::from(step.start - begin);
        let time = Nanoseconds::from(step.end - step.start);
        let first = graph.operator(step.first).name.as_str();
        tracing::debug!(step.stage, step.processor, %start, %time, first, step.operators, ?step.channels);
    }
}

fn engine_depth(plan: &Plan) -> usize {
    plan.stages.iter().map(|stage| stage.replicas.len() + 1).sum()
}

fn is_slowed(board: &Board, cluster: &str) -> bool {
    board.cluster(cluster).is_ok_and(|cluster| cluster.cores.iter().any(|core| core.emulated_slowdown.is_some()))
}
