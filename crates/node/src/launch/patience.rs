//! How long what carries frames waits on a slow link.

use std::time::Duration;

use serde_json::{Value, json};

/// As it comes, Zenoh gives a message up that finds no room on a link for a millisecond, and one of several parts for
/// fifty: on a link that frames keep busy, many are lost and sent again. Credits bound how many are under way, so there
/// will be room.
const PATIENCE: Duration = Duration::from_secs(1);
/// The same for all parts of a message.
const PARTS: Duration = Duration::from_secs(5);
/// A link on which nothing goes for so long is closed: its host is lost.
const CLOSED: Duration = Duration::from_secs(30);

/// What daemons, and the processes that they start, add to the configuration of Zenoh.
pub(super) fn overlay() -> Value {
    let (patience, parts, closed) = (micros(PATIENCE), micros(PARTS), micros(CLOSED));
    json!({"transport": {"link": {"tx": {"queue": {"congestion_control": {
        "drop": {"wait_before_drop": patience, "max_wait_before_drop_fragments": parts},
        "block": {"wait_before_close": closed},
    }}}}}})
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
