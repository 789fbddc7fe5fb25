//! Times of operators on accelerators, and of moving data there and back.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use millstream_backend::{Observed, Segment};
use millstream_board::{Board, Processor};
use millstream_graph::OperatorId;
use millstream_predict::Statistics;
use millstream_predict::samples::{OperatorSample, SampleConditions, TransferSample};

use crate::error::ProfileError;
use crate::parts::made_up;
use crate::stretches::stretches;
use crate::workload::Workload;

/// Sizes of the values that are moved.
const SIZES: [u64; 4] = [4 << 10, 256 << 10, 1 << 20, 4 << 20];
/// Moves of each size, after a few that settle caches.
const REPETITIONS: usize = 9;
const WARM_UP: usize = 2;
/// Frames of a trace at least.
const FEWEST_FRAMES: usize = 3;

/// Times every operator that an accelerator runs, among those around it that it runs as well. `go_on` is asked after
/// each stretch of operators; if it says no, nothing is returned for that accelerator.
///
/// # Errors
/// Any [`ProfileError`].
pub fn measure_accelerators(
    workload: &Workload<'_>,
    board: &Board,
    budget: Duration,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Vec<OperatorSample>, ProfileError> {
    let order = workload.chain.operators(workload.chain.whole());
    let place: HashMap<OperatorId, usize> = order.iter().copied().zip(0..).collect();
    let mut samples = Vec::new();

    for accelerator in board.accelerators() {
        let processor = Processor::accelerator(accelerator.label.clone());
        let stretches = stretches(workload, &order, &processor);
        let time = budget / u32::try_from(stretches.len().max(1)).unwrap_or(u32::MAX);

        let mut of_accelerator = Vec::new();
        for stretch in stretches {
            let segment = Segment::new(workload.graph, stretch.to_vec());
            let Some(inputs) = made_up(workload.graph, stretch) else { continue };
            let begin = Instant::now();
            let mut frames = 0;
            let traced = workload.backend.trace(&segment, &processor, &inputs, &mut |_| {
                frames += 1;
                frames < FEWEST_FRAMES || begin.elapsed() < time
            });
            let traced = traced.map_err(|source| ProfileError::Accelerator { processor: processor.clone(), source })?;
            for times in traced {
                let operators = times.operators.iter().filter_map(|id| place.get(id).copied()).collect();
                let Some(mut time) = Statistics::of(&times.seconds) else { continue };
                // A clock with coarse ticks sees nothing of the shortest kernels.
                time.median_seconds = time.median_seconds.max(1e-9);
                of_accelerator.push(OperatorSample {
                    processor: processor.class(),
                    operators,
                    concurrent: 1,
                    time,
                    conditions: SampleConditions::default(),
                });
            }
            if !go_on() {
                return Ok(samples);
            }
        }
        samples.extend(of_accelerator);
    }
    Ok(samples)
}

/// Measures what it takes to move values between the fastest cluster and every accelerator that has memory of its own.
///
/// # Errors
/// [`ProfileError::Accelerator`].
pub fn measure_accelerator_transfers(
    backend: &dyn Observed,
    board: &Board,
) -> Result<Vec<TransferSample>, ProfileError> {
    let mut samples = Vec::new();
    let Some(cluster) = board.clusters().first() else { return Ok(samples) };

    for accelerator in board.accelerators() {
        let processor = Processor::accelerator(accelerator.label.clone());
        for bytes in SIZES {
            let (mut up, mut down) = (Vec::new(), Vec::new());
            for repetition in 0..WARM_UP + REPETITIONS {
                let times = backend
                    .transfer_times(&processor, bytes)
                    .map_err(|source| ProfileError::Accelerator { processor: processor.clone(), source })?;
                let Some(times) = times.filter(|_| repetition >= WARM_UP) else { continue };
                up.push(times.upload.as_secs_f64());
                down.push(times.download.as_secs_f64());
            }

            let pairs = [(&cluster.label, &accelerator.label, up), (&accelerator.label, &cluster.label, down)];
            for (from, to, seconds) in pairs {
                samples.extend(Statistics::of(&seconds).map(|time| TransferSample {
                    from: from.clone(),
                    to: to.clone(),
                    bytes,
                    time,
                }));
            }
        }
    }
    Ok(samples)
}
