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
use millstream_schedule::StageId;
use millstream_tune::Trial;

use crate::control::Control;
use crate::error::Error;
use crate::interference::{Interference, InterferenceWatch};
use crate::learning::candidate::Candidate;
use crate::measuring::quantile::quantile;
use crate::measuring::steady;
use crate::network::Network;
use crate::plans::unsteady::is_unsteady;
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
/// A turn of one of several plans has at least this many frames per worker.
pub(super) const FEWEST_FRAMES_OF_TURN: usize = 6;

/// Of fewer turns, none is left out as a slow one.
const FEWEST_TO_TELL: usize = 4;

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

/// Times of frames, by stage and by the processors that take one frame together.
type StageTimes = BTreeMap<(StageId, Vec<ProcessorClass>), BatchedTimes>;

/// Where plans are tried out.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) network: &'a Network,
    pub(super) board: &'a Board,
    pub(super) backend: &'a Arc<dyn Backend>,
    pub(super) control: &'a Control,
}

/// How long frames are streamed at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// Through a plan that is tried by itself.
    Trial,
    /// Through one of several that take turns, for at least so long.
    Turn(Duration),
}

impl Length {
    /// Whether so many frames in this time are enough to know how fast so many workers are.
    fn is_over(self, time: Duration, frames: usize, workers: usize) -> bool {
        let (least, fewest) = match self {
            Self::Trial if frames > ENOUGH_FRAMES * workers => (SHORTEST_TRIAL, FEWEST_FRAMES),
            Self::Trial => (TRIAL, FEWEST_FRAMES),
            Self::Turn(least) => (least, FEWEST_FRAMES_OF_TURN),
        };
        time > least && frames > fewest * workers
    }
}

/// What was seen of a plan while frames went through it.
#[derive(Default)]
pub(super) struct Observed {
    times: StageTimes,
    /// The times between two frames, of each time that frames were streamed.
    periods: Vec<f64>,
}

#[cfg(all(test, feature = "ort"))]
impl Observed {
    /// How often frames were streamed.
    pub(super) fn turns(&self) -> usize {
        self.periods.len()
    }
}

/// Runs a plan by itself.
pub(super) fn run(setting: Setting<'_>, candidate: &Candidate) -> Result<PlanTrial, Error> {
    let mut observed = Observed::default();
    let begin = Instant::now();
    let engine = setting.engine(candidate)?;
    let watch = InterferenceWatch::of(setting.board);
    setting.stream(&engine, &candidate.plan, Length::Trial, &mut observed)?;
    let mut seen = setting.trial(&candidate.plan, &observed, watch.seen());
    seen.trial.spent = Nanoseconds::from(begin.elapsed());
    Ok(seen)
}

impl Setting<'_> {
    /// The engine that runs a plan, unless the caller asks to stop.
    pub(super) fn engine(&self, candidate: &Candidate) -> Result<Engine, Error> {
        if self.control.is_cancelled() {
            return Err(Error::Interrupted);
        }
        let options = EngineOptions::default().with_steps_kept(tracing::enabled!(tracing::Level::DEBUG));
        let engine = engine::new(self.network, &candidate.schedule, self.backend, options)?;
        let warnings = engine.warnings();
        if !warnings.is_empty() {
            tracing::warn!(?warnings, "the trial may be disturbed");
        }
        Ok(engine)
    }

    /// Streams frames for a while, and adds what is seen of them.
    pub(super) fn stream(
        &self,
        engine: &Engine,
        plan: &Plan,
        length: Length,
        observed: &mut Observed,
    ) -> Result<(), Error> {
        let frame = self.network.first_frame(&**self.backend, self.board)?;
        let workers = workers(plan);
        let warm_up = warm_up(plan);
        let mut begin = None;
        let mut stop = Instant::now();
        let mut submitted = 0;
        let frames = std::iter::from_fn(|| {
            submitted += 1;
            if submitted == warm_up {
                begin = Some(Instant::now());
            }
            let has_enough = |begin: Instant| length.is_over(begin.elapsed(), submitted - warm_up, workers);
            stop = Instant::now();
            (!begin.is_some_and(has_enough) && !self.control.is_cancelled()).then(|| frame.to_vec())
        });

        let mut ends = steady::ReplicaEnds::default();
        for (index, result) in engine.run(frames).enumerate() {
            if index == warm_up + 10 {
                show_steps(&result.steps, self.network.graph());
            }
            if index >= warm_up {
                ends.add(&result.spans);
                note(&mut observed.times, plan, self.board, &result);
            }
            result.outcome.map_err(|source| Error::Frame { label: index.to_string(), source })?;
        }

        if self.control.is_cancelled() {
            return Err(Error::Interrupted);
        }
        observed.periods.extend(ends.interval(workers, stop, true).map(|period| period.as_secs_f64()));
        Ok(())
    }

    /// What that shows.
    pub(super) fn trial(&self, plan: &Plan, observed: &Observed, disturbance: Interference) -> PlanTrial {
        let times = observed.times.iter();
        let summary = times.filter_map(|(key, times)| Some((key.clone(), times.statistics()?))).collect();
        let measured = measured(plan, &summary, &observed.periods);
        let Interference { heat_throttled, other_cores: other_load } = disturbance;
        let conditions = SampleConditions { other_load, heat_throttled, ..SampleConditions::default() };
        let samples = samples(self.network, self.board, plan, &summary, measured.period, conditions);
        let stage_times = measured.stages.iter().flat_map(|stage| stage.times()).collect();
        let trial = Trial { stage_times, period: measured.period, ..Trial::default() };
        PlanTrial { trial, samples, measured, disturbance }
    }
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

/// The plan with the times that it has. Its period is that of all turns together, which last equally long; that of an
/// unsteady plan is one that three quarters of them keep to, whatever the objective: it is what frames that keep coming get
/// in most minutes, and plans that are steady keep to theirs.
fn measured(plan: &Plan, summary: &BTreeMap<(StageId, Vec<ProcessorClass>), Statistics>, periods: &[f64]) -> Plan {
    let mut measured: Vec<Vec<Nanoseconds>> = plan.stages.iter().map(PlannedStage::times).collect();
    for ((stage, processors), time) in summary {
        for (replica, place) in plan.stages[stage.index()].replicas.iter().zip(&mut measured[stage.index()]) {
            if replica.processors == *processors {
                *place = Nanoseconds::from_seconds(time.median_seconds);
            }
        }
    }

    if periods.is_empty() {
        return plan.clone().with_measured(measured, plan.period);
    }
    let rate = periods.iter().map(|period| 1.0 / period).sum::<f64>() / periods.len() as f64;
    let known = plan.clone().with_measured(measured, Nanoseconds::from_seconds(1.0 / rate));
    if !is_unsteady(&known) {
        return known;
    }
    let kept_to = if periods.len() < FEWEST_TO_TELL { 1.0 } else { 0.75 };
    Plan { period: Nanoseconds::from_seconds(quantile(periods, kept_to)), ..known }
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

/// How many frames fill the pipeline, with some more that show nothing yet.
pub(super) fn warm_up(plan: &Plan) -> usize {
    2 * plan.stages.iter().map(|stage| stage.replicas.len() + 1).sum::<usize>()
}

/// How many frames are worked on at a time.
pub(super) fn workers(plan: &Plan) -> usize {
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
        let over =
            |milliseconds: u64, frames: usize| Length::Trial.is_over(Duration::from_millis(milliseconds), frames, 2);
        assert!(!over(490, 100_000) && over(510, 4001));
        assert!(!over(1990, 4000) && over(2010, 4000));
        assert!(!over(60_000, 24) && over(60_000, 25));
        let turn = Length::Turn(Duration::from_millis(150));
        let turn = |milliseconds: u64, frames: usize| turn.is_over(Duration::from_millis(milliseconds), frames, 2);
        assert!(!turn(140, 100_000) && turn(160, 13) && !turn(60_000, 12));
    }

    /// Two cores on one short frame are quick in one turn and slow in another.
    #[test]
    fn the_period_of_an_unsteady_plan_is_one_that_most_turns_keep_to() {
        let network = Network::open("zoo:tiny-darknet", crate::ReadOptions::default()).unwrap();
        let (_, plans) = crate::learning::plan_model::tests::plans(&network);
        let wholes = millstream_pipeline::whole_network_plans(&plans.problem);
        let seen = |name: &str, milliseconds: u64, periods: &[f64]| {
            let plan = wholes.iter().find(|plan| plan.configuration() == name).unwrap();
            let replicas = plan.stages[0].replicas.len();
            let times = vec![vec![Nanoseconds(1_000_000 * milliseconds); replicas]];
            let plan = plan.clone().with_measured(times, Nanoseconds(100_000));
            measured(&plan, &BTreeMap::new(), periods).period.seconds()
        };
        let periods = [2e-3, 3e-3, 4e-3, 6e-3, 12e-3];
        assert_eq!(seen("B2", 4, &periods), 6e-3);
        assert_eq!(seen("B2", 4, &periods[..2]), 3e-3, "two are too few to leave one out");
        // Longer frames, and instances: as many frames in as much time as all turns together.
        let together = 5.0 / (1.0 / 2.0 + 1.0 / 3.0 + 1.0 / 4.0 + 1.0 / 6.0 + 1.0 / 12.0) * 1e-3;
        assert_eq!((seen("B2", 11, &periods), seen("(B1|B1)", 4, &periods)), (together, together));
        assert_eq!((seen("B2", 4, &[]), seen("B2", 11, &[])), (0.1e-3, 0.1e-3), "what was expected");
    }
}
