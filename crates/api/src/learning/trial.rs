//! Running a plan for a short while and taking the times of its stages as samples.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream_backend::Backend;
use millstream_board::{Board, ProcessorClass};
use millstream_cost::Nanoseconds;
use millstream_graph::Graph;
use millstream_pipeline::{Plan, PlannedStage};
use millstream_predict::Statistics;
use millstream_predict::samples::{SampleConditions, SegmentSample};
use millstream_profile::BatchedTimes;
use millstream_runtime::{Engine, EngineOptions, FrameResult, StepSpan};
use millstream_schedule::{Schedule, StageId};
use millstream_tune::Trial;

use crate::control::Control;
use crate::error::Error;
use crate::interference::{Interference, InterferenceWatch};
use crate::measuring::steady;
use crate::network::Network;
use crate::schedules::engine;

/// A trial streams frames for this long, not counting the time to fill the pipeline, unless there are enough of them
/// before.
const TRIAL: Duration = Duration::from_millis(2000);
/// And at least this many frames per worker, so that the slowest replica works on several.
const FEWEST_FRAMES: usize = 12;
/// So many frames are enough, for each worker on average.
const ENOUGH_FRAMES: usize = 2000;
/// However many frames there were: what disturbs the machine for a moment should not be all that a trial sees.
const SHORTEST_TRIAL: Duration = Duration::from_millis(500);

/// A stage that works for less than this fraction of the period is idle at times.
const BUSY: f64 = 0.9;

/// What running a plan showed.
#[derive(Debug, Clone)]
pub(crate) struct PlanTrial {
    /// As the searches see it.
    trial: Trial,
    /// One sample per stage and processor class, measured while all stages work.
    pub(crate) samples: Vec<SegmentSample>,
    /// The plan with the times and the period that it really has.
    pub(crate) measured: Plan,
    /// What held it up.
    pub(crate) disturbance: Interference,
}

#[cfg(test)]
impl PlanTrial {
    /// A trial that showed these numbers.
    pub(crate) fn of(measured: Plan) -> Self {
        let trial = Trial { period: measured.period, ..Trial::default() };
        Self { trial, samples: Vec::new(), measured, disturbance: Interference::default() }
    }
}

impl AsRef<Trial> for PlanTrial {
    fn as_ref(&self) -> &Trial {
        &self.trial
    }
}

/// Times of the frames of a trial, by stage and by the processors that take one frame together.
type StageTimes = BTreeMap<(StageId, Vec<ProcessorClass>), BatchedTimes>;

/// Runs the plan.
pub(crate) fn run(
    network: &Network,
    board: &Board,
    backend: &Arc<dyn Backend>,
    schedule: &Schedule,
    plan: &Plan,
    control: &Control,
) -> Result<PlanTrial, Error> {
    let begin = Instant::now();
    let options = EngineOptions::default().with_steps_kept(tracing::enabled!(tracing::Level::DEBUG));
    let engine = engine::new(network, schedule, backend, options)?;
    let warnings = engine.warnings();
    if !warnings.is_empty() {
        tracing::warn!(?warnings, "the trial may be disturbed");
    }
    let frame = network.first_frame(&**backend, board)?;

    let watch = InterferenceWatch::of(board);
    let (times, period) = stream(&engine, plan, board, frame, control, network.graph())?;
    let disturbance = watch.seen();
    let summary = times.into_iter().filter_map(|(key, times)| Some((key, times.statistics()?))).collect();
    let measured = measured(plan, &summary, period);
    let Interference { heat_throttled, other_cores: other_load } = disturbance;
    let conditions = SampleConditions { other_load, heat_throttled, ..SampleConditions::default() };
    let samples = samples(network, board, plan, &summary, period, conditions);
    let stage_times = measured.stages.iter().flat_map(|stage| stage.times()).collect();
    let spent = Nanoseconds::from(begin.elapsed());
    let trial = Trial { stage_times, period, spent, ..Trial::default() };
    Ok(PlanTrial { trial, samples, measured, disturbance })
}

/// Streams frames for the time of a trial. Returns the times of stages, and the time between two frames.
fn stream(
    engine: &Engine,
    plan: &Plan,
    board: &Board,
    frame: &[millstream_backend::Tensor],
    control: &Control,
    graph: &Graph,
) -> Result<(StageTimes, Nanoseconds), Error> {
    let workers = workers(plan);
    let warm_up = 2 * plan.stages.iter().map(|stage| stage.replicas.len() + 1).sum::<usize>();
    let mut begin = None;
    let mut stop = Instant::now();
    let mut submitted = 0;
    let frames = std::iter::from_fn(|| {
        submitted += 1;
        if submitted == warm_up {
            begin = Some(Instant::now());
        }
        let is_over = begin.is_some_and(|begin: Instant| is_over(begin.elapsed(), submitted - warm_up, workers));
        stop = Instant::now();
        (!is_over && !control.is_cancelled()).then(|| frame.to_vec())
    });

    let mut times = StageTimes::new();
    let mut ends = steady::ReplicaEnds::default();
    for (index, result) in engine.run(frames).enumerate() {
        if index == warm_up + 10 {
            show_steps(&result.steps, graph);
        }
        if index >= warm_up {
            ends.add(&result.spans);
            note(&mut times, plan, board, &result);
        }
        result.outcome.map_err(|source| Error::Frame { label: index.to_string(), source })?;
    }

    if control.is_cancelled() {
        return Err(Error::Interrupted);
    }
    let period = ends.interval(workers, stop, true).map_or(plan.period, Nanoseconds::from);
    Ok((times, period))
}

/// Whether so many frames in this time are enough to know how fast so many workers are.
fn is_over(time: Duration, frames: usize, workers: usize) -> bool {
    let least = if frames > ENOUGH_FRAMES * workers { SHORTEST_TRIAL } else { TRIAL };
    time > least && frames > FEWEST_FRAMES * workers
}

/// Adds the times of a frame.
fn note(times: &mut StageTimes, plan: &Plan, board: &Board, result: &FrameResult) {
    for span in &result.spans {
        let stage = &plan.stages[span.stage.index()];
        // The processors of a team have one time together.
        let classes = &stage.replicas[span.replica].processors;
        let begin = || {
            let slowed = classes.iter().find(|class| board.is_slowed(&class.cluster)).or(classes.first());
            BatchedTimes::new(board, slowed.map_or("", |class| &class.cluster))
        };
        let times = times.entry((span.stage, classes.clone())).or_insert_with(begin);
        times.push(span.end.duration_since(span.start));
    }
}

/// The plan with the times that it has.
fn measured(plan: &Plan, summary: &BTreeMap<(StageId, Vec<ProcessorClass>), Statistics>, period: Nanoseconds) -> Plan {
    let mut measured: Vec<Vec<Nanoseconds>> = plan.stages.iter().map(PlannedStage::times).collect();
    for ((stage, processors), time) in summary {
        for (replica, place) in plan.stages[stage.index()].replicas.iter().zip(&mut measured[stage.index()]) {
            if replica.processors == *processors {
                *place = Nanoseconds::from_seconds(time.median_seconds);
            }
        }
    }
    plan.clone().with_measured(measured, period)
}

/// What the times of stages on single processors say of their blocks.
fn samples(
    network: &Network,
    board: &Board,
    plan: &Plan,
    summary: &BTreeMap<(StageId, Vec<ProcessorClass>), Statistics>,
    period: Nanoseconds,
    conditions: SampleConditions,
) -> Vec<SegmentSample> {
    let bytes = network.chain().input_bytes(network.graph());
    let sample = |((stage, processors), &time): (&(StageId, Vec<ProcessorClass>), &Statistics)| {
        let [processor] = processors.as_slice() else { return None };
        let planned = &plan.stages[stage.index()];
        // A stage that sleeps between frames gets more than its share of a shared core, as long as it goes on sleeping:
        // its time says nothing about what it could do with more work.
        let is_idle = time.median_seconds < BUSY * period.seconds() * planned.replicas.len() as f64;
        if is_idle && board.is_slowed(&processor.cluster) {
            return None;
        }

        let blocks = planned.blocks;
        Some(SegmentSample {
            processor: processor.clone(),
            start: blocks.start().index(),
            end: blocks.end().index(),
            input_bytes: bytes.of(blocks),
            concurrent: workers(plan),
            time,
            conditions,
        })
    };

    summary.iter().filter_map(sample).collect()
}

fn workers(plan: &Plan) -> usize {
    plan.stages.iter().map(|stage| stage.replicas.len()).sum()
}

/// Says what the processors of a stage did for one frame.
fn show_steps(steps: &[StepSpan], graph: &Graph) {
    let Some(begin) = steps.iter().map(|step| step.start).min() else { return };
    for step in steps {
        let start = Nanoseconds::from(step.start - begin);
        let time = Nanoseconds::from(step.end - step.start);
        let first = graph.operator(step.first).name.as_str();
        tracing::debug!(%step.stage, step.processor, %start, %time, first, step.operators, ?step.portion);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_of_quick_networks_are_short() {
        let over = |milliseconds: u64, frames: usize| is_over(Duration::from_millis(milliseconds), frames, 2);
        assert!(!over(490, 100_000) && over(510, 4001));
        assert!(!over(1990, 4000) && over(2010, 4000));
        assert!(!over(60_000, 24) && over(60_000, 25));
    }
}
