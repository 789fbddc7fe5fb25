//! Times of operators in context: the whole network runs, and the backend records what its operators took.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use millstream_backend::{OperatorTimes, Segment, Tensor};
use millstream_board::{Board, Processor, ProcessorClass};
use millstream_graph::OperatorId;
use millstream_predict::Statistics;
use millstream_predict::samples::{OperatorSample, SampleConditions};

use crate::conditions::{Watch, disturbance, is_disturbed};
use crate::error::ProfileError;
use crate::measure::MeasuringProgress;
use crate::rounds::rounds;
use crate::side_by_side::{Participant, side_by_side};
use crate::workload::Workload;

/// Frames before a verdict on their spread.
const FEWEST_FRAMES: usize = 8;
/// Enough is enough.
const MOST_FRAMES: usize = 400;
/// Half the width of a 95 % confidence interval, in standard errors.
const CONFIDENCE: f64 = 1.96;
/// A disturbed measurement is repeated so many times.
const REPETITIONS: usize = 2;

/// How long and how exactly operators are timed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OperatorSettings {
    /// Time for the network, over all processors; preparing it comes on top.
    pub budget: Duration,
    /// Half-width of the 95 % confidence interval of the frame's time, relative to it, at which measuring ends early.
    pub half_width: f64,
}

impl Default for OperatorSettings {
    fn default() -> Self {
        Self { budget: Duration::from_secs(5), half_width: 0.02 }
    }
}

/// Times every operator of the network on every number of cores of every cluster, as it runs among the others.
/// Processors that can work side by side are measured side by side; those that do not run the whole network are left
/// out. A measurement that other guests or programs disturbed is repeated. `progress` is called after each one and now
/// and then meanwhile; returning `false` ends with what was measured so far.
///
/// # Errors
/// Any [`ProfileError`].
pub fn measure_operators(
    workload: &Workload<'_>,
    board: &Board,
    settings: &OperatorSettings,
    progress: &mut dyn FnMut(MeasuringProgress) -> bool,
) -> Result<Vec<OperatorSample>, ProfileError> {
    let rounds = rounds(board);
    let whole = Segment::new(workload.graph, workload.chain.operators(workload.chain.whole()));
    let frame = whole.inputs_of(workload.graph, workload.frame);
    let time = settings.budget / u32::try_from(rounds.len().max(1)).unwrap_or(u32::MAX);
    let place: HashMap<OperatorId, usize> = workload
        .chain
        .operators(workload.chain.whole())
        .into_iter()
        .enumerate()
        .map(|(place, operator)| (operator, place))
        .collect();

    let mut samples = Vec::new();
    for (index, processors) in rounds.iter().enumerate() {
        let processors: Vec<Processor> =
            processors.iter().filter(|processor| workload.runs(&whole, processor)).cloned().collect();
        if processors.is_empty() {
            continue;
        }

        let mut run = || {
            let go_on = &mut || progress(MeasuringProgress { done: index, total: rounds.len() });
            trace(workload, board, &processors, &whole, &frame, time, settings.half_width, go_on)
        };
        let Some(mut best) = run()? else { return Ok(samples) };
        for _ in 0..REPETITIONS {
            if !best.is_disturbed() {
                break;
            }
            let Some(again) = run()? else { return Ok(samples) };
            if again.disturbance() < best.disturbance() {
                best = again;
            }
        }

        samples.extend(best.samples(processors.len(), &place));
        if !progress(MeasuringProgress { done: index + 1, total: rounds.len() }) {
            break;
        }
    }
    Ok(samples)
}

/// What one run of all processors of a round showed.
struct Trace {
    parts: Vec<Part>,
}

/// What it showed of one processor.
struct Part {
    class: ProcessorClass,
    times: Vec<OperatorTimes>,
    conditions: SampleConditions,
    /// Mean time of a frame on a core that other load shares.
    shared_frame_seconds: Option<f64>,
}

impl Part {
    /// On a shared core, frames are interrupted but most operators are not: what they take undisturbed is brought to
    /// the scale of the frame.
    fn scale(&self) -> f64 {
        let Some(frame) = self.shared_frame_seconds else { return 1.0 };
        let medians = self.times.iter().filter_map(|times| Statistics::of(&times.seconds));
        let sum: f64 = medians.map(|time| time.median_seconds).sum();
        if sum > 0.0 { (frame / sum).max(1.0) } else { 1.0 }
    }
}

impl Trace {
    fn is_disturbed(&self) -> bool {
        self.parts.iter().any(|part| is_disturbed(&part.conditions))
    }

    fn disturbance(&self) -> f64 {
        self.parts.iter().map(|part| disturbance(&part.conditions)).fold(0.0, f64::max)
    }

    /// One sample per class and group of operators; the times of processors of one class are pooled.
    fn samples(self, concurrent: usize, place: &HashMap<OperatorId, usize>) -> Vec<OperatorSample> {
        let mut pooled: BTreeMap<(ProcessorClass, Vec<usize>), (Vec<f64>, SampleConditions)> = BTreeMap::new();
        for part in self.parts {
            let scale = part.scale();
            for OperatorTimes { operators, seconds } in part.times {
                let operators = operators.iter().filter_map(|operator| place.get(operator).copied()).collect();
                let entry = pooled.entry((part.class.clone(), operators)).or_default();
                entry.0.extend(seconds.into_iter().map(|time| scale * time));
                entry.1 = part.conditions;
            }
        }
        pooled
            .into_iter()
            .filter_map(|((processor, operators), (seconds, conditions))| {
                let time = Statistics::of(&seconds).filter(|time| time.median_seconds > 0.0)?;
                Some(OperatorSample { processor, operators, concurrent, time, conditions })
            })
            .collect()
    }
}

/// `None` if `go_on` said no.
#[expect(clippy::too_many_arguments, reason = "they are all of one measurement")]
fn trace(
    workload: &Workload<'_>,
    board: &Board,
    processors: &[Processor],
    whole: &Segment,
    frame: &[Tensor],
    time: Duration,
    half_width: f64,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<Trace>, ProfileError> {
    let run = |processor: &Processor, participant: &mut Participant<'_>| {
        let mut frames = Vec::new();
        let mut begin = None;
        let watch = Watch::start(processor);
        let times = workload.backend.trace(whole, processor, frame, &mut |frame| {
            // The first frame is over before all are ready: it only ends the preparation.
            participant.start();
            let begin: Instant = *begin.get_or_insert_with(Instant::now);
            if !participant.is_finished() {
                frames.push(frame.as_secs_f64());
                if is_settled(&frames, half_width) || begin.elapsed() >= time && frames.len() >= FEWEST_FRAMES / 2 {
                    participant.finish();
                }
            }
            !participant.is_over()
        })?;

        let mean = frames.iter().sum::<f64>() / frames.len().max(1) as f64;
        Ok(Part {
            class: processor.class(),
            times,
            conditions: watch.conditions(),
            shared_frame_seconds: board.is_slowed(&processor.cluster).then_some(mean),
        })
    };

    let failed = |processor: &Processor, source| ProfileError::Segment {
        start: 0,
        end: workload.chain.blocks().len(),
        processor: processor.clone(),
        source,
    };
    Ok(side_by_side(processors, run, failed, go_on)?.map(|parts| Trace { parts }))
}

fn is_settled(frames: &[f64], half_width: f64) -> bool {
    frames.len() >= MOST_FRAMES
        || frames.len() >= FEWEST_FRAMES
            && Statistics::of(frames)
                .is_some_and(|time| CONFIDENCE * time.standard_error_seconds() <= half_width * time.median_seconds)
}
