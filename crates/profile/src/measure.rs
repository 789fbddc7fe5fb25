use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use millstream_backend::{Backend, BackendError, Segment, Tensor};
use millstream_board::{Board, Processor, ProcessorClass};
use millstream_cost::SegmentSample;
use millstream_graph::{Graph, ValueId};
use millstream_partition::Chain;

use crate::capture::capture;
use crate::rounds::{ranges, rounds};
use crate::{BatchedTimes, ProfileError};

/// What is measured.
#[derive(Clone, Copy)]
pub struct Workload<'a> {
    /// The network.
    pub graph: &'a Graph,
    /// Its blocks.
    pub chain: &'a Chain,
    /// What runs it.
    pub backend: &'a dyn Backend,
}

/// How long and how finely to measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Time for measuring; preparing segments comes on top.
    pub budget: Duration,
    /// The chain is measured in up to so many pieces.
    pub leaves: usize,
    /// Relative standard error at which a measurement ends before its time is used up.
    pub accuracy: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { budget: Duration::from_secs(60), leaves: 32, accuracy: 0.005 }
    }
}

/// How far measuring has come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Measurements done.
    pub done: usize,
    /// Measurements in all.
    pub total: usize,
}

/// Measures the network on every number of cores of every cluster of the board. `progress` is called after each
/// measurement; returning `false` ends measuring with [`ProfileError::Interrupted`].
///
/// # Errors
/// Any [`ProfileError`].
pub fn measure(
    workload: &Workload<'_>,
    board: &Board,
    settings: &Settings,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Vec<SegmentSample>, ProfileError> {
    let rounds = rounds(board);
    let ranges = ranges(&block_work(workload), settings.leaves);
    let Some(first) = rounds.first().and_then(|round| round.first()) else { return Ok(Vec::new()) };
    let values = capture(workload, &finest(&ranges), first)?;
    let bytes = workload.chain.input_bytes(workload.graph);
    let total = rounds.len() * ranges.len();
    let time = settings.budget / u32::try_from(total.max(1)).unwrap_or(u32::MAX);
    let mut samples = Vec::new();
    let mut done = 0;
    for processors in &rounds {
        for range in &ranges {
            let measured = together(workload, board, processors, range, &values, time, settings.accuracy)?;
            for (processor, times) in measured {
                if let Some(time) = times.statistics() {
                    samples.push(SegmentSample {
                        processor,
                        start: range.start,
                        end: range.end,
                        input_bytes: bytes.of(range.clone()),
                        concurrent: processors.len(),
                        time,
                    });
                }
            }
            done += 1;
            if !progress(Progress { done, total }) {
                return Err(ProfileError::Interrupted);
            }
        }
    }
    Ok(samples)
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

/// Runs the same range on all processors at once until each has enough batches or the time is up. Those that are done go on
/// running, so that the others' conditions stay the same.
fn together(
    workload: &Workload<'_>,
    board: &Board,
    processors: &[Processor],
    range: &Range<usize>,
    values: &HashMap<ValueId, Tensor>,
    time: Duration,
    accuracy: f64,
) -> Result<BTreeMap<ProcessorClass, BatchedTimes>, ProfileError> {
    let segment = Segment::new(workload.graph, workload.chain.operators(range.clone()));
    let inputs: Vec<Tensor> = segment.boundary.inputs.iter().filter_map(|value| values.get(value).cloned()).collect();
    let start = Barrier::new(processors.len());
    let unfinished = AtomicUsize::new(processors.len());
    let run = |processor: &Processor| -> Result<BatchedTimes, BackendError> {
        pin(processor);
        let prepared = workload.backend.prepare(&segment, processor).and_then(|mut prepared| {
            // The first runs settle memory and caches.
            prepared.run(&inputs)?;
            prepared.run(&inputs)?;
            Ok(prepared)
        });
        start.wait();
        let mut times = BatchedTimes::new(is_shared(board, processor));
        let mut is_finished = prepared.is_err();
        if is_finished {
            unfinished.fetch_sub(1, Ordering::SeqCst);
        }
        let mut prepared = prepared?;
        let begin = Instant::now();
        loop {
            let before = Instant::now();
            let outcome = prepared.run(&inputs);
            if !is_finished {
                times.push(before.elapsed());
                if outcome.is_err() || times.is_settled(accuracy) || begin.elapsed() >= time {
                    is_finished = true;
                    unfinished.fetch_sub(1, Ordering::SeqCst);
                }
            }
            outcome?;
            if unfinished.load(Ordering::SeqCst) == 0 {
                return Ok(times);
            }
        }
    };
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = processors.iter().map(|processor| scope.spawn(|| run(processor))).collect();
        threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
    });
    let mut measured: BTreeMap<ProcessorClass, BatchedTimes> = BTreeMap::new();
    for (processor, outcome) in processors.iter().zip(outcomes) {
        let failed =
            |source| ProfileError::Segment { start: range.start, end: range.end, processor: processor.clone(), source };
        let times = outcome.map_err(|_| ProfileError::Panicked { processor: processor.clone() })?.map_err(failed)?;
        match measured.get_mut(&processor.class()) {
            Some(merged) => merged.merge(times),
            None => {
                measured.insert(processor.class(), times);
            }
        }
    }
    Ok(measured)
}

fn is_shared(board: &Board, processor: &Processor) -> bool {
    let slowed = |id| board.cores().any(|core| core.id == id && core.emulated_slowdown.is_some());
    processor.cores.iter().any(|&id| slowed(id))
}

/// Pins the calling thread to the processor's first core; where the system refuses, the times are what they are.
fn pin(processor: &Processor) {
    if let Some(core) = processor.cores.first()
        && !core.pin_current_thread()
    {
        tracing::warn!(%core, "the system refused to pin a measuring thread");
    }
}
