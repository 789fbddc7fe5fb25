//! How often, and when, a replica that was lost is prepared again.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Losses longer ago than this no longer count.
const WINDOW: Duration = Duration::from_mins(1);
/// The pause before the second restart within the window; each further one doubles it. The first has none.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The restarts of one replica.
#[derive(Debug)]
pub(crate) struct Restarts {
    limit: usize,
    recent: VecDeque<Instant>,
}

impl Restarts {
    /// At most `limit` restarts within a minute.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, recent: VecDeque::new() }
    }

    /// Counts a restart, and says how long to wait before it; `None` if there were too many.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Duration> {
        while self.recent.front().is_some_and(|&first| now.saturating_duration_since(first) >= WINDOW) {
            self.recent.pop_front();
        }
        if self.recent.len() >= self.limit {
            return None;
        }
        let before = u32::try_from(self.recent.len()).unwrap_or(u32::MAX);
        self.recent.push_back(now);
        let doubled = |doublings: u32| FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(doublings)).min(LONGEST_PAUSE);
        Some(before.checked_sub(1).map_or(Duration::ZERO, doubled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_until_the_limit_and_old_losses_are_forgotten() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut restarts = Restarts::new(4);
        let pauses: Vec<Option<u128>> =
            (0..5).map(|second| restarts.next(after(second)).map(|pause| pause.as_millis())).collect();
        assert_eq!(pauses, [Some(0), Some(20), Some(40), Some(80), None]);
        // The first one is a minute ago now.
        assert_eq!(restarts.next(after(60)), Some(Duration::from_millis(80)));
        assert_eq!(restarts.next(after(60)), None);
        assert_eq!(restarts.next(after(200)), Some(Duration::ZERO));
    }

    #[test]
    fn pauses_have_an_end_and_no_restart_is_allowed_with_a_limit_of_none() {
        let now = Instant::now();
        let mut restarts = Restarts::new(100);
        let longest = (0..100).filter_map(|_| restarts.next(now)).max();
        assert_eq!(longest, Some(LONGEST_PAUSE));
        assert_eq!(Restarts::new(0).next(now), None);
    }
}
