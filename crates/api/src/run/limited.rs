//! Plain inference with a time limit.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use millstream_backend::{BackendError, Tensor, WholeNetwork};

use crate::threads::thread;

/// Between two attempts to end a frame.
const AGAIN: Duration = Duration::from_millis(10);

/// Runs a frame through the whole network, and ends it after `limit` if the backend can.
pub(crate) fn run_within(
    whole: &mut WholeNetwork,
    frame: &[Tensor],
    limit: Option<Duration>,
) -> Result<Vec<Tensor>, BackendError> {
    let (Some(limit), Some(canceller)) = (limit, whole.canceller()) else { return whole.run(frame) };
    let (done, is_done) = channel::<()>();
    let watch = move || {
        let mut pause = limit;
        while is_done.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            canceller.cancel();
            pause = AGAIN;
        }
    };
    let results = std::thread::scope(|scope| {
        let started = thread("frame watch").spawn_scoped(scope, watch);
        started.map_err(|error| BackendError::failed(format!("cannot start a thread: {error}")))?;
        let results = whole.run(frame);
        drop(done);
        results
    });
    match results {
        Err(BackendError::Cancelled) => {
            Err(BackendError::failed(format!("plain inference on one core did not end it within {limit:?}")))
        }
        results => results,
    }
}
