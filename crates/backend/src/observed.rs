//! What can be seen of a backend at work: times of its operators and of its transfers.

use std::time::{Duration, Instant};

use millstream_board::Processor;
use millstream_graph::OperatorId;

use crate::backend::{Backend, PreparedSegment};
use crate::error::BackendError;
use crate::segment::Segment;
use crate::tensor::Tensor;

/// A backend that can tell what it spends its time on. Profiles are measured through it; running needs only
/// [`Backend`].
pub trait Observed: Backend {
    /// Runs a segment frame by frame as [`Backend::prepare`] would have it run, and records how long its operators took
    /// in it. `go_on` is given the time of each frame and says whether another one should follow. Threads are as for
    /// [`Backend::prepare`].
    ///
    /// # Errors
    /// As [`Backend::prepare`] and [`PreparedSegment::run`].
    fn trace(
        &self,
        segment: &Segment,
        processor: &Processor,
        inputs: &[Tensor],
        go_on: &mut dyn FnMut(Duration) -> bool,
    ) -> Result<Vec<OperatorTimes>, BackendError>;

    /// Moves so many bytes to the processor's memory and back, once, and tells how long that took. `None` if the
    /// processor works in the host's memory.
    ///
    /// # Errors
    /// As [`PreparedSegment::run`].
    fn transfer_times(&self, processor: &Processor, bytes: u64) -> Result<Option<TransferTimes>, BackendError>;
}

/// What moving some bytes to and from a processor's own memory took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransferTimes {
    /// From host memory to the processor's.
    pub upload: Duration,
    /// From the processor's memory to the host's.
    pub download: Duration,
}

/// How long one or several operators took that a backend ran as one, in context.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorTimes {
    /// The operators. Every operator of the segment is in one such group.
    pub operators: Vec<OperatorId>,
    /// One time per frame.
    pub seconds: Vec<f64>,
}

/// Runs a frame of a trace after the other, until `go_on`, which is given the time of each, says that it is enough.
/// Returns the times.
///
/// # Errors
/// As [`PreparedSegment::run`].
pub fn run_timed(
    prepared: &mut dyn PreparedSegment,
    inputs: &[Tensor],
    go_on: &mut dyn FnMut(Duration) -> bool,
) -> Result<Vec<Duration>, BackendError> {
    let mut times = Vec::new();
    loop {
        let start = Instant::now();
        prepared.run(inputs)?;
        let time = start.elapsed();
        times.push(time);
        if !go_on(time) {
            return Ok(times);
        }
    }
}
