//! Running a plan for a short while and taking the times of its stages as samples.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use millstream_backend::{Backend, Tensor};
use millstream_board::Board;
use millstream_cost::SegmentSample;
use millstream_pipeline::{Plan, Problem};
use millstream_profile::{BatchedTimes, sample_frame};
use millstream_runtime::{Engine, EngineOptions};

use crate::interrupt;
use crate::model::Network;

/// A trial streams frames for this long, not counting the time to fill the pipeline.
const TRIAL: Duration = Duration::from_millis(1500);
/// And at least this many frames.
const FEWEST_FRAMES: usize = 10;

/// One sample per stage and processor class of the plan, measured while all its stages work.
pub(crate) fn run(
    network: &Network,
    board: &Board,
    backend: &Arc<dyn Backend>,
    problem: &Problem,
    plan: &Plan,
) -> Result<Vec<SegmentSample>> {
    let graph = network.model.graph();
    let schedule = problem.schedule(plan);
    let engine = Engine::new(graph, &schedule, std::slice::from_ref(backend), &EngineOptions::default())?;
    let warnings: Vec<&String> = engine.warnings().iter().collect();
    if !warnings.is_empty() {
        tracing::warn!(?warnings, "the trial may be disturbed");
    }
    let frame = sample_frame(graph, 0)?;
    let mut times = BTreeMap::new();
    let warm_up = 2 * engine_depth(plan);
    let mut begin = None;
    let mut submitted = 0;
    let frames = std::iter::from_fn(|| {
        submitted += 1;
        if submitted == warm_up {
            begin = Some(Instant::now());
        }
        let is_over = begin.is_some_and(|begin: Instant| begin.elapsed() > TRIAL) && submitted > warm_up + FEWEST_FRAMES;
        (!is_over && !interrupt::requested()).then(|| frame.clone())
    });
    for (index, result) in engine.run(frames).enumerate() {
        let _: Vec<Tensor> = result.outcome?;
        for span in result.spans.iter().filter(|_| index >= warm_up) {
            let stage = &plan.stages[span.stage];
            let class = stage.replicas[span.replica].clone();
            let is_shared = is_slowed(board, &class.cluster);
            let times = times.entry((span.stage, class)).or_insert_with(|| BatchedTimes::new(is_shared));
            times.push(span.end.duration_since(span.start));
        }
    }
    let bytes = network.chain.input_bytes(graph);
    let concurrent = plan.stages.iter().map(|stage| stage.replicas.len()).sum();
    let sample = |((stage, processor), times): ((usize, _), BatchedTimes)| {
        let blocks = plan.stages[stage].blocks.clone();
        Some(SegmentSample {
            processor,
            start: blocks.start,
            end: blocks.end,
            input_bytes: bytes.of(blocks),
            concurrent,
            time: times.statistics()?,
        })
    };
    Ok(times.into_iter().filter_map(sample).collect())
}

fn engine_depth(plan: &Plan) -> usize {
    plan.stages.iter().map(|stage| stage.replicas.len() + 1).sum()
}

fn is_slowed(board: &Board, cluster: &str) -> bool {
    board.cluster(cluster).is_ok_and(|cluster| cluster.cores.iter().any(|core| core.emulated_slowdown.is_some()))
}
