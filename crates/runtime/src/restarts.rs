//! How often, and when, a replica that was lost is prepared again.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Losses longer ago than this no longer count.
const WINDOW: Duration = Duration::from_mins(1);
/// The pause before the second attempt; each further one doubles it. The first has none.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// The longest pause before another attempt to prepare a replica that can't be prepared.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What comes before the next attempt to prepare a replica again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Frames wait for the replica.
    FramesWait(Duration),
    /// Frames do not: it was lost too often, or could not be prepared too often in a row.
    FramesGo(Duration),
}

/// The restarts of one replica.
#[derive(Debug)]
pub(crate) struct Restarts {
    limit: usize,
    losses: VecDeque<Instant>,
    /// Attempts since it last worked.
    failures: usize,
}

impl Restarts {
    /// At most `limit` restarts within a minute, and as many failed attempts in a row, before frames no longer wait.
    /// With a limit of 0 there are no restarts.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, losses: VecDeque::new(), failures: 0 }
    }

    /// Counts a loss, and says what comes before the replica is prepared again; `None` if it never is.
    pub(crate) fn after_loss(&mut self, now: Instant) -> Option<Pause> {
        if self.limit == 0 {
            return None;
        }
        let is_over = |first: &Instant| now.saturating_duration_since(*first) >= WINDOW;
        while self.losses.front().is_some_and(is_over) {
            self.losses.pop_front();
        }
        let before = self.losses.len();
        self.losses.push_back(now);
        self.failures = 0;
        Some(match self.losses.front() {
            Some(&first) if before >= self.limit => {
                Pause::FramesGo(WINDOW.saturating_sub(now.saturating_duration_since(first)))
            }
            _ => Pause::FramesWait(pause_after(before)),
        })
    }

    /// Counts a replica that could not be prepared, and says what comes before the next attempt.
    pub(crate) fn after_failure(&mut self) -> Pause {
        self.failures = self.failures.saturating_add(1);
        let pause = pause_after(self.failures);
        if self.failures <= self.limit { Pause::FramesWait(pause) } else { Pause::FramesGo(pause) }
    }
}

/// The pause after so many attempts.
fn pause_after(attempts: usize) -> Duration {
    let Some(doublings) = attempts.checked_sub(1) else { return Duration::ZERO };
    let factor = 2_u32.saturating_pow(u32::try_from(doublings).unwrap_or(u32::MAX));
    FIRST_PAUSE.saturating_mul(factor).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn short(milliseconds: u64) -> Pause {
        Pause::FramesWait(Duration::from_millis(milliseconds))
    }

    const fn long(milliseconds: u64) -> Pause {
        Pause::FramesGo(Duration::from_millis(milliseconds))
    }

    #[test]
    fn losses_beyond_the_limit_wait_until_the_first_is_a_minute_old() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut restarts = Restarts::new(3);
        let pauses: Vec<Option<Pause>> = (0..4).map(|second| restarts.after_loss(after(second))).collect();
        assert_eq!(pauses, [Some(short(0)), Some(short(20)), Some(short(40)), Some(long(57_000))]);
        // Those of seconds 1, 2 and 3 are still there.
        assert_eq!(restarts.after_loss(after(60)), Some(long(1_000)));
        assert_eq!(restarts.after_loss(after(200)), Some(short(0)));
    }

    #[test]
    fn whatever_can_not_be_prepared_is_tried_on_with_pauses_that_have_an_end() {
        let mut restarts = Restarts::new(3);
        let pauses: Vec<Pause> = (0..10).map(|_| restarts.after_failure()).collect();
        assert_eq!(pauses[..5], [short(20), short(40), short(80), long(160), long(320)]);
        assert_eq!(pauses[9], long(5_000));
        // It worked in between.
        assert_eq!(restarts.after_loss(Instant::now()), Some(short(0)));
        assert_eq!(restarts.after_failure(), short(20));
    }

    #[test]
    fn no_restart_is_allowed_with_a_limit_of_none() {
        assert_eq!(Restarts::new(0).after_loss(Instant::now()), None);
    }
}
