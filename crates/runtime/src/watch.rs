//! Frames that take too long.

use std::time::Duration;

use crate::dispatch::{CANCEL_INTERVAL, Dispatch};
use crate::sync::now;

/// The least time between two looks.
const LEAST_PAUSE: Duration = Duration::from_millis(1);

/// Ends frames that a stage works on for longer than `limit`, until the engine ends. It sleeps until the first frame's
/// time may be over.
pub(crate) fn watch(dispatch: &Dispatch, limit: Duration) {
    let mut pause = limit;
    while !dispatch.stop.wait(pause.max(LEAST_PAUSE)) {
        let next = dispatch.replicas().iter().filter_map(|replica| replica.watch(CANCEL_INTERVAL)).min();
        // A frame that begins now is not over before.
        pause = next.map_or(limit, |next| next.saturating_duration_since(now()).min(limit));
    }
}
