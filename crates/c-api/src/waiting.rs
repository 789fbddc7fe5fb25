//! Waiting for as long as a caller likes.

use std::time::{Duration, Instant};

use millstream_api::Error;

use crate::border::MsStatus;
use crate::failure::Failure;

/// Without a limit, it is looked so often.
const TICK: Duration = Duration::from_secs(1);

/// Calls `look` with the time that it may wait until it returns something. A `limit` that is over is a failure that names `what` was
/// waited for.
pub(crate) fn wait_for<T>(
    limit: Option<Duration>,
    what: &str,
    mut look: impl FnMut(Duration) -> Result<Option<T>, Error>,
) -> Result<T, Failure> {
    let begin = Instant::now();
    loop {
        let left = limit.map(|limit| limit.saturating_sub(begin.elapsed()));
        if let Some(found) = look(left.map_or(TICK, |left| left.min(TICK)))? {
            return Ok(found);
        }
        if left.is_some_and(|left| left.is_zero()) {
            let message = format!("there was no {what} within {:?}", limit.unwrap_or_default());
            return Err(Failure::new(MsStatus::Timeout, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_ends_with_what_comes_or_with_the_limit() {
        let mut looks = 0;
        let third = wait_for(None, "third", |time| {
            assert_eq!(time, TICK);
            looks += 1;
            Ok((looks == 3).then_some(looks))
        });
        assert!(third.is_ok_and(|third| third == 3));
        let mut times = Vec::new();
        let failure = wait_for::<()>(Some(Duration::ZERO), "result", |time| {
            times.push(time);
            Ok(None)
        });
        assert_eq!(times, [Duration::ZERO], "without time it is looked once");
        assert!(
            failure.is_err_and(|failure| failure.status == MsStatus::Timeout && failure.message.contains("result"))
        );
    }
}
