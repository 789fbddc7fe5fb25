//! Times of ranges of blocks on every number of cores, measured again where they were disturbed.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::time::{Duration, Instant};

use millstream_backend::{BackendError, PreparedSegment, Segment, Tensor};
use millstream_board::{Board, Processor, ProcessorClass};
use millstream_graph::ValueId;
use millstream_machine::MemoryMark;
use millstream_partition::InputBytes;
use millstream_predict::samples::{SampleConditions, SegmentSample};

use crate::agreement::{doubtful, settle};
use crate::batches::BatchedTimes;
use crate::capture::capture;
use crate::conditions::{Watch, disturbance, is_disturbed, more_disturbed};
use crate::error::ProfileError;
use crate::rounds::{Round, processors_of, ranges, rounds};
use crate::side_by_side::{Participant, side_by_side};
use crate::workload::Workload;

/// How long and how finely to measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProfileSettings {
    /// Time for measuring; preparing segments comes on top.
    pub budget: Duration,
    /// The chain is measured in up to so many pieces.
    pub leaves: usize,
    /// Relative standard error at which a measurement ends before its time is used up.
    pub accuracy: f64,
}

impl Default for ProfileSettings {
    fn default() -> Self {
        Self { budget: Duration::from_secs(60), leaves: 32, accuracy: 0.005 }
    }
}

/// How far measuring has come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuringProgress {
    /// Measurements done.
    pub done: usize,
    /// Measurements in all.
    pub total: usize,
}

/// Measures the network on every number of cores of every cluster of the board. Segments of which `known` has a sample
/// are left out, and so are their samples. A measurement that other guests or programs disturbed is repeated once, and
/// so are ranges whose halves take another time together than they do as a whole. `progress` is called after each one
/// and now and then meanwhile; returning `false` ends measuring, with the samples so far.
///
/// # Errors
/// Any [`ProfileError`].
pub fn measure(
    workload: &Workload<'_>,
    board: &Board,
    settings: &ProfileSettings,
    known: &[SegmentSample],
    progress: &mut dyn FnMut(MeasuringProgress) -> bool,
) -> Result<Vec<SegmentSample>, ProfileError> {
    let rounds = rounds(board);
    let ranges = ranges(&block_work(workload), settings.leaves);
    if rounds.is_empty() {
        return Ok(Vec::new());
    }
    let is_known = |round: &Round, range: &Range<usize>| {
        round.measured.iter().all(|processor| {
            let class = processor.class();
            known.iter().any(|old| old.processor == class && (old.start..old.end) == *range)
        })
    };
    let parts: Vec<_> = finest(&ranges).into_iter().map(|range| workload.chain.operators(range)).collect();
    let values = capture(workload, &parts, &processors_of(&rounds))?;
    let count = rounds.len() * ranges.len();
    let time = settings.budget / u32::try_from(count.max(1)).unwrap_or(u32::MAX);
    let effort = Effort { time, accuracy: settings.accuracy };
    let bytes = workload.chain.input_bytes(workload.graph);
    let sweep = Sweep { workload: *workload, board, values, bytes, effort };

    let mut samples = Vec::new();
    // Beside whom each sample was taken.
    let mut together_with: Vec<Round> = Vec::new();
    let mut now = MeasuringProgress { done: 0, total: count };
    for round in &rounds {
        for range in &ranges {
            let round = sweep.that_run(round, range);
            if !is_known(&round, range) {
                let Some(measured) = sweep.samples(&round, range, &mut || progress(now))? else {
                    return Ok(samples);
                };
                together_with.resize(together_with.len() + measured.len(), round);
                samples.extend(measured);
            }
            now.done += 1;
            if !progress(now) {
                return Ok(samples);
            }
        }
    }

    let again = sweep.again(&samples, &together_with, now, progress)?;
    settle(&mut samples, again);
    Ok(samples)
}

/// Measuring one range of blocks after the other.
struct Sweep<'a> {
    workload: Workload<'a>,
    board: &'a Board,
    /// What the finest ranges take in.
    values: HashMap<ValueId, Tensor>,
    bytes: InputBytes,
    effort: Effort,
}

impl Sweep<'_> {
    fn segment(&self, range: &Range<usize>) -> Segment {
        Segment::new(self.workload.graph, self.workload.chain.operators(range.clone()))
    }

    /// A round in which a range is measured on those that run all of it.
    fn that_run(&self, round: &Round, range: &Range<usize>) -> Round {
        let segment = self.segment(range);
        round.for_work(self.board, |processor| self.workload.runs(&segment.operators, processor))
    }

    /// Second measurements of the samples that contradict others, by their places, as far as `progress` let them be
    /// made.
    fn again(
        &self,
        samples: &[SegmentSample],
        together_with: &[Round],
        mut now: MeasuringProgress,
        progress: &mut dyn FnMut(MeasuringProgress) -> bool,
    ) -> Result<HashMap<usize, SegmentSample>, ProfileError> {
        let doubtful = doubtful(samples);
        now.total += doubtful.len();
        let mut again = HashMap::new();
        for place in doubtful {
            let old = &samples[place];
            let measured = self.samples(&together_with[place], &(old.start..old.end), &mut || progress(now))?;
            let same = measured.into_iter().flatten().find(|new| new.processor == old.processor);
            again.extend(same.map(|new| (place, new)));
            now.done += 1;
            if !progress(now) {
                break;
            }
        }
        Ok(again)
    }

    /// A sample for each class of processors that are measured on the range. `None` if `go_on` said no.
    fn samples(
        &self,
        round: &Round,
        range: &Range<usize>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<SegmentSample>>, ProfileError> {
        let segment = self.segment(range);
        let inputs = segment.inputs_from(&self.values);
        let run = || together(&self.workload, self.board, round, &segment, range, &inputs, self.effort, &mut *go_on);
        let Some(measured) = least_disturbed(run)? else { return Ok(None) };
        let sample = |(processor, (times, conditions)): (ProcessorClass, (BatchedTimes, SampleConditions))| {
            Some(SegmentSample {
                processor,
                start: range.start,
                end: range.end,
                input_bytes: self.bytes.of(range.clone()),
                concurrent: round.processors().len(),
                time: times.statistics()?,
                conditions,
            })
        };
        Ok(Some(measured.into_iter().filter_map(sample).collect()))
    }
}

/// A measurement, or the better one of two if it was disturbed. `None` if measuring is to end.
fn least_disturbed(
    mut run: impl FnMut() -> Result<Option<SideBySide>, ProfileError>,
) -> Result<Option<SideBySide>, ProfileError> {
    let Some(measured) = run()? else { return Ok(None) };
    if !measured.values().any(|(_, conditions)| is_disturbed(conditions)) {
        return Ok(Some(measured));
    }
    let again = run()?;
    Ok(again.map(|again| if worst(&again) < worst(&measured) { again } else { measured }))
}

fn worst(measured: &SideBySide) -> (bool, f64) {
    measured.values().map(|(_, conditions)| disturbance(conditions)).fold((false, 0.0), more_disturbed)
}

/// A rough measure of each block's work, for halving the chain: multiply-accumulates, and bytes at a few of them each.
fn block_work(workload: &Workload<'_>) -> Vec<f64> {
    let of_operator = |&id| {
        let work = workload.graph.operator(id).work;
        work.macs as f64 + 4.0 * work.bytes() as f64
    };
    workload.chain.blocks().iter().map(|block| block.operators.iter().map(of_operator).sum()).collect()
}

/// The shortest ranges that start or end wherever any range does.
fn finest(ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut cuts: Vec<usize> = ranges.iter().flat_map(|range| [range.start, range.end]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    cuts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// What several processors took side by side, by class.
pub(crate) type SideBySide = BTreeMap<ProcessorClass, (BatchedTimes, SampleConditions)>;

/// How long and how exactly one segment is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) time: Duration,
    pub(crate) accuracy: f64,
}

/// A segment whose weights lie where the engine has them, after runs that settle memory and caches.
fn settled(
    workload: &Workload<'_>,
    segment: &Segment,
    processor: &Processor,
    inputs: &[Tensor],
) -> Result<Box<dyn PreparedSegment>, BackendError> {
    let before = MemoryMark::now();
    let mut prepared = workload.backend.prepare(segment, processor)?;
    before.move_new_to_huge_pages();
    prepared.run(inputs)?;
    prepared.run(inputs)?;
    Ok(prepared)
}

/// Runs the same segment on all processors of a round at once until each that is measured has enough batches or the time
/// is up. Those that are done go on running, so that the others' conditions stay the same. `blocks` is for messages.
/// `None` if `go_on` said no.
#[expect(clippy::too_many_arguments, reason = "they are all of one measurement")]
pub(crate) fn together(
    workload: &Workload<'_>,
    board: &Board,
    round: &Round,
    segment: &Segment,
    blocks: &Range<usize>,
    inputs: &[Tensor],
    effort: Effort,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<SideBySide>, ProfileError> {
    let run = |processor: &Processor, participant: &mut Participant<'_>| {
        let mut prepared = settled(workload, segment, processor, inputs)?;
        participant.start();
        if !round.measures(processor) {
            participant.finish();
        }
        let watch = Watch::start(processor);
        let mut times = BatchedTimes::new(board, &processor.cluster);
        let mut conditions = SampleConditions::default();
        let begin = Instant::now();
        while !participant.is_over() {
            let before = Instant::now();
            prepared.run(inputs)?;
            if !participant.is_finished() {
                times.push(before.elapsed());
                if times.is_settled(effort.accuracy) || begin.elapsed() >= effort.time {
                    conditions = watch.conditions();
                    participant.finish();
                }
            }
        }
        Ok((times, conditions))
    };

    let failed = |processor: &Processor, source| ProfileError::Segment {
        start: blocks.start,
        end: blocks.end,
        processor: processor.clone(),
        source,
    };
    let processors = round.processors();
    let Some(outcomes) = side_by_side(&processors, run, failed, go_on)? else { return Ok(None) };

    let mut measured = SideBySide::new();
    let outcomes = processors.iter().zip(outcomes).filter(|(processor, _)| round.measures(processor));
    for (processor, (times, conditions)) in outcomes {
        match measured.get_mut(&processor.class()) {
            Some((merged, _)) => merged.merge(times),
            None => {
                measured.insert(processor.class(), (times, conditions));
            }
        }
    }
    Ok(Some(measured))
}
