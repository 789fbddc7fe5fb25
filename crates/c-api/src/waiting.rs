//! Waiting for as long as a caller likes.

use std::time::Duration;

use millstream_api::Error;
use millstream_api::bindings::{self, not_within};

use crate::border::MsStatus;
use crate::failure::Failure;

/// Without a limit, it is looked so often.
const TICK: Duration = Duration::from_secs(1);

/// As [`bindings::wait_for`]. A `limit` that is over is a failure that names `what` was waited for.
pub(crate) fn wait_for<T>(
    limit: Option<Duration>,
    what: &str,
    look: impl FnMut(Duration) -> Result<Option<T>, Error>,
) -> Result<T, Failure> {
    let found = bindings::wait_for(limit, TICK, look)?;
    found.ok_or_else(|| Failure::new(MsStatus::Timeout, not_within(limit, what)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_over_is_a_status_that_names_what_was_waited_for() {
        assert!(wait_for(None, "third", |_| Ok(Some(3))).is_ok_and(|third| third == 3));
        let failure = wait_for::<()>(Some(Duration::ZERO), "result", |_| Ok(None));
        assert!(
            failure.is_err_and(|failure| failure.status == MsStatus::Timeout && failure.message.contains("no result"))
        );
    }
}
