//! Waiting in steps, so that the caller can look at other things between them.

use std::time::{Duration, Instant};

/// Calls `look` with the time that it may wait, a `tick` at most, until it returns something; `None` once the `limit`
/// is over. It is called once in any case.
///
/// # Errors
/// Whatever `look` fails with.
pub fn wait_for<T, E>(
    limit: Option<Duration>,
    tick: Duration,
    mut look: impl FnMut(Duration) -> Result<Option<T>, E>,
) -> Result<Option<T>, E> {
    let begin = Instant::now();
    loop {
        let left = limit.map(|limit| limit.saturating_sub(begin.elapsed()));
        let found = look(left.map_or(tick, |left| left.min(tick)))?;
        if found.is_some() || left.is_some_and(|left| left.is_zero()) {
            return Ok(found);
        }
    }
}

/// That something did not come in time, in words.
pub fn not_within(limit: Option<Duration>, what: &str) -> String {
    format!("there was no {what} within {:?}", limit.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(5);

    #[test]
    fn waiting_ends_with_what_comes_or_with_the_limit() {
        let mut looks = 0;
        let third = wait_for::<_, ()>(None, TICK, |time| {
            assert_eq!(time, TICK);
            looks += 1;
            Ok((looks == 3).then_some(looks))
        });
        assert_eq!(third, Ok(Some(3)));

        let mut times = Vec::new();
        let none = wait_for::<(), ()>(Some(Duration::ZERO), TICK, |time| {
            times.push(time);
            Ok(None)
        });
        assert_eq!((none, times), (Ok(None), vec![Duration::ZERO]), "without time it is looked once");

        let begin = Instant::now();
        let limit = 3 * TICK;
        let none = wait_for::<(), ()>(Some(limit), TICK, |time| {
            std::thread::sleep(time);
            Ok(None)
        });
        assert!(none == Ok(None) && begin.elapsed() >= limit);
        assert_eq!(not_within(Some(limit), "result"), "there was no result within 15ms");
        assert_eq!(wait_for::<(), _>(None, TICK, |_| Err(7)), Err(7));
    }
}
