//! Times of operators in context: the whole network runs, or what an engine runs of it, and the backend records what its
//! operators took.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use millstream_backend::{OperatorTimes, Segment, Tensor};
use millstream_board::{Board, Processor, ProcessorClass};
use millstream_graph::{OperatorId, ValueId};
use millstream_predict::samples::{OperatorSample, SampleConditions};
use millstream_predict::{Statistics, TICK_SECONDS};

use crate::batches::QUOTA_BATCH;
use crate::capture::capture;
use crate::conditions::{Watch, disturbance, is_disturbed, more_disturbed};
use crate::error::ProfileError;
use crate::measure::MeasuringProgress;
use crate::rounds::{Round, beside, processors_of, rounds};
use crate::side_by_side::{Participant, side_by_side};
use crate::stretches::stretches;
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
/// Processors that can work side by side are measured side by side. Those that do not run the whole network are measured
/// with each stretch of operators that they run ([`unsupported_operators`](crate::unsupported_operators) tells the
/// others). A measurement that other guests or programs disturbed is repeated. `progress` is called after each one and
/// now and then meanwhile; returning `false` ends with what was measured so far.
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
    let order = workload.chain.operators(workload.chain.whole());
    let place: HashMap<OperatorId, usize> = order.iter().copied().zip(0..).collect();
    let time = settings.budget / u32::try_from(rounds.len().max(1)).unwrap_or(u32::MAX);
    let stretches: Vec<_> = rounds.iter().map(|round| stretches_of(workload, board, &order, round)).collect();
    let all: Vec<&[OperatorId]> = stretches.iter().flatten().map(|(stretch, _)| *stretch).collect();
    let values = inputs(workload, &order, &all, &processors_of(&rounds))?;

    let mut samples = Vec::new();
    for (index, stretches) in stretches.iter().enumerate() {
        for (stretch, round) in stretches {
            let segment = Segment::new(workload.graph, stretch.to_vec());
            let time = time / u32::try_from(stretches.len()).unwrap_or(u32::MAX);
            let tracing = Tracing { workload, board, time, half_width: settings.half_width };
            let inputs = segment.inputs_from(&values);
            let go_on = &mut || progress(MeasuringProgress { done: index, total: rounds.len() });
            let Some(trace) = tracing.least_disturbed(round, &segment, &inputs, go_on)? else {
                return Ok(samples);
            };
            samples.extend(trace.samples(round.processors().len(), &place));
        }
        if !progress(MeasuringProgress { done: index + 1, total: rounds.len() }) {
            break;
        }
    }
    Ok(samples)
}

/// The stretches of operators that processors of a round are measured on, each with those that run it, and with what
/// others work at beside them: the whole network with all of them, as a rule.
fn stretches_of<'a>(
    workload: &Workload<'_>,
    board: &Board,
    order: &'a [OperatorId],
    round: &Round,
) -> Vec<(&'a [OperatorId], Round)> {
    let mut all: Vec<(&[OperatorId], Vec<Processor>)> = Vec::new();
    for processor in &round.measured {
        for stretch in stretches(workload, order, processor) {
            match all.iter_mut().find(|(known, _)| *known == stretch) {
                Some((_, measured)) => measured.push(processor.clone()),
                None => all.push((stretch, vec![processor.clone()])),
            }
        }
    }

    let with_others = |(stretch, measured): (&'a [OperatorId], Vec<Processor>)| {
        let runs = |own: &Processor| workload.runs(stretch, own);
        let all = round.processors();
        let beside = beside(board, all.iter().filter(|other| !measured.contains(other)), runs);
        (stretch, Round { measured, beside })
    };
    all.into_iter().map(with_others).collect()
}

/// The values that stretches take in. Where all are the whole network, nothing has to run for them.
fn inputs(
    workload: &Workload<'_>,
    order: &[OperatorId],
    stretches: &[&[OperatorId]],
    processors: &[Processor],
) -> Result<HashMap<ValueId, Tensor>, ProfileError> {
    if stretches.iter().all(|stretch| stretch.len() == order.len()) {
        return capture(workload, &[], processors);
    }
    let is_start = |id: OperatorId| stretches.iter().any(|stretch| stretch.first() == Some(&id));
    let is_end = |id: OperatorId| stretches.iter().any(|stretch| stretch.last() == Some(&id));
    let parts = order.chunk_by(|&left, &right| !is_end(left) && !is_start(right));
    capture(workload, &parts.map(<[OperatorId]>::to_vec).collect::<Vec<_>>(), processors)
}

/// What one run of all processors of a round showed of those that are measured.
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

    fn disturbance(&self) -> (bool, f64) {
        self.parts.iter().map(|part| disturbance(&part.conditions)).fold((false, 0.0), more_disturbed)
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
                let mut time = Statistics::of(&seconds)?;
                // An operator for which the engine's clock shows nothing takes half a tick on average.
                if time.median_seconds <= 0.0 {
                    time.median_seconds = 0.5 * TICK_SECONDS;
                }
                Some(OperatorSample { processor, operators, concurrent, time, conditions })
            })
            .collect()
    }
}

/// How stretches of operators are traced.
struct Tracing<'a> {
    workload: &'a Workload<'a>,
    board: &'a Board,
    time: Duration,
    half_width: f64,
}

impl Tracing<'_> {
    /// A trace, or the least disturbed one of several. `None` if `go_on` said no.
    fn least_disturbed(
        &self,
        round: &Round,
        segment: &Segment,
        inputs: &[Tensor],
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Trace>, ProfileError> {
        let Some(mut best) = self.trace(round, segment, inputs, go_on)? else { return Ok(None) };
        for _ in 0..REPETITIONS {
            if !best.is_disturbed() {
                break;
            }
            let Some(again) = self.trace(round, segment, inputs, go_on)? else { return Ok(None) };
            if again.disturbance() < best.disturbance() {
                best = again;
            }
        }
        Ok(Some(best))
    }

    /// `None` if `go_on` said no.
    fn trace(
        &self,
        round: &Round,
        segment: &Segment,
        inputs: &[Tensor],
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Trace>, ProfileError> {
        let run = |processor: &Processor, participant: &mut Participant<'_>| {
            let mut frames = Vec::new();
            let mut begin = None;
            let watch = Watch::start(processor);
            let times = self.workload.backend.trace(segment, processor, inputs, &mut |frame| {
                // The first frame is over before all are ready: it only ends the preparation.
                participant.start();
                if !round.measures(processor) {
                    participant.finish();
                }
                let begin: Instant = *begin.get_or_insert_with(Instant::now);
                if !participant.is_finished() {
                    frames.push(frame.as_secs_f64());
                    let is_over = begin.elapsed() >= self.time && frames.len() >= FEWEST_FRAMES / 2;
                    let has_waited = self.board.quota_cores().is_none() || begin.elapsed() >= QUOTA_BATCH;
                    if is_over || has_waited && is_settled(&frames, self.half_width) {
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
                shared_frame_seconds: self.board.is_slowed(&processor.cluster).then_some(mean),
            })
        };

        let blocks = self.workload.blocks_of(&segment.operators);
        let failed = |processor: &Processor, source| ProfileError::Segment {
            start: blocks.start,
            end: blocks.end,
            processor: processor.clone(),
            source,
        };
        let processors = round.processors();
        let Some(parts) = side_by_side(&processors, run, failed, go_on)? else { return Ok(None) };
        let measured = processors.iter().zip(parts).filter(|(processor, _)| round.measures(processor));
        Ok(Some(Trace { parts: measured.map(|(_, part)| part).collect() }))
    }
}

fn is_settled(frames: &[f64], half_width: f64) -> bool {
    frames.len() >= MOST_FRAMES
        || frames.len() >= FEWEST_FRAMES
            && Statistics::of(frames)
                .is_some_and(|time| CONFIDENCE * time.standard_error_seconds() <= half_width * time.median_seconds)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn an_operator_that_takes_less_than_clocks_show_takes_half_a_microsecond() {
        let model = millstream_zoo::build("tiny-darknet").unwrap();
        let order = model.graph().order();
        let place: HashMap<OperatorId, usize> = order.iter().copied().zip(0..).collect();
        let times = |operator: usize, seconds: f64| OperatorTimes {
            operators: vec![order[operator]],
            seconds: vec![seconds; 9],
        };
        let part = Part {
            class: ProcessorClass::new("B", 1),
            times: vec![times(0, 0.0), times(1, 3e-6)],
            conditions: SampleConditions::default(),
            shared_frame_seconds: None,
        };
        let samples = Trace { parts: vec![part] }.samples(1, &place);
        let seen: Vec<(usize, f64)> =
            samples.iter().map(|sample| (sample.operators[0], sample.time.median_seconds)).collect();
        assert_eq!(seen, [(0, 0.5e-6), (1, 3e-6)]);
    }
}
