//! What the clock of a host shows.

use std::time::Duration;

use crate::message::HostSpan;

/// Of answers that came within so long, the quickest counts: clocks of boards run some 50 us apart in a second.
const WINDOW: Duration = Duration::from_secs(2);
/// Windows that are remembered, the last ones: half a day.
const MOST_WINDOWS: usize = 20_000;

/// A host's clock beside the front's, by questions and answers: the answer was written between the two moments at which
/// the front asked and heard, half-way if both ways take as long. The quicker the answer, the less can be wrong.
#[derive(Debug, Default)]
pub(super) struct HostClock {
    /// The quickest answer of each window, in order.
    windows: Vec<Reading>,
}

/// What was heard of a clock at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reading {
    /// When it was asked, by the front's clock.
    asked: Duration,
    /// From then until the answer came.
    round_trip: Duration,
    /// What the host's clock showed.
    shown: Duration,
}

impl Reading {
    /// What the front's clock showed when the host's did that.
    fn moment(&self) -> Duration {
        self.asked + self.round_trip / 2
    }
}

impl HostClock {
    /// Takes an answer to what was asked at a moment: the host's clock showed that then.
    pub(super) fn read(&mut self, asked: Duration, shown: Duration, now: Duration) {
        let reading = Reading { asked, round_trip: now.saturating_sub(asked), shown };
        match self.windows.last_mut() {
            Some(last) if asked.saturating_sub(last.asked) < WINDOW => {
                if reading.round_trip < last.round_trip {
                    *last = reading;
                }
            }
            _ => {
                if self.windows.len() == MOST_WINDOWS {
                    self.windows.remove(0);
                }
                self.windows.push(reading);
            }
        }
    }

    /// The front's time when the host's clock showed a time, by what was heard nearest to it; `None` if nothing was, or
    /// that was before the front began.
    fn at(&self, shown: Duration) -> Option<Duration> {
        let after = self.windows.partition_point(|reading| reading.shown < shown);
        let around = self.windows.get(after.saturating_sub(1)..).unwrap_or_default().iter().take(2);
        let nearest = around.min_by_key(|reading| reading.shown.abs_diff(shown))?;
        match shown.checked_sub(nearest.shown) {
            Some(later) => nearest.moment().checked_add(later),
            None => nearest.moment().checked_sub(nearest.shown - shown),
        }
    }

    /// What stages did, by the front's clock.
    pub(super) fn translated(&self, spans: Vec<HostSpan>) -> Vec<HostSpan> {
        let here = |span: HostSpan| {
            let (begin, end) = (self.at(span.begin)?, self.at(span.end)?);
            // Clocks that were read anew between the two do not make a span end before it begins.
            Some(HostSpan { begin, end: end.max(begin), ..span })
        };
        spans.into_iter().filter_map(here).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use crate::route::PlanId;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn the_quickest_answer_counts() {
        let mut clock = HostClock::default();
        assert_eq!(clock.at(ms(5)), None);
        // The host's clock is 90 ms behind; the way back of the first answer took long.
        clock.read(ms(1000), ms(911), ms(1030));
        assert_eq!(clock.at(ms(911)), Some(ms(1015)));
        clock.read(ms(1100), ms(1011), ms(1102));
        assert_eq!(
            [ms(911), ms(1011), ms(1111)].map(|shown| clock.at(shown)),
            [1001, 1101, 1201].map(|at| Some(ms(at)))
        );
        clock.read(ms(1200), ms(1111), ms(1290));
        assert_eq!(clock.at(ms(1111)), Some(ms(1201)));
        assert_eq!(clock.at(ms(0)), Some(ms(90)));
    }

    #[test]
    fn clocks_that_run_apart_are_read_where_something_happened() {
        let mut clock = HostClock::default();
        // One in a thousand faster.
        for second in 0..10 {
            clock.read(ms(second * 1000), ms(second * 1001 + 1), ms(second * 1000 + 2));
        }
        for second in 0..9_u64 {
            let at = clock.at(ms(second * 1001 + 501)).unwrap();
            assert!(at.abs_diff(ms(second * 1000 + 501)) <= ms(2), "{second}: {at:?}");
        }
        let span = HostSpan { plan: PlanId(0), stage: 0, replica: 0, sequence: 7, begin: ms(2003), end: ms(2004) };
        let [translated] = clock.translated(vec![span]).try_into().unwrap();
        assert_eq!((translated.begin, translated.end, translated.sequence), (ms(2001), ms(2002), 7));
    }

    #[test]
    fn what_was_before_the_front_is_left_out() {
        let mut clock = HostClock::default();
        clock.read(ms(0), ms(500), ms(0));
        let span = |begin, end| HostSpan { plan: PlanId(0), stage: 0, replica: 0, sequence: 0, begin, end };
        assert_eq!(clock.translated(vec![span(ms(400), ms(600)), span(ms(500), ms(600))]), [span(ms(0), ms(100))]);
        // Nor does anything come of a time that no clock shows.
        let mut clock = HostClock::default();
        clock.read(ms(600), ms(500), ms(600));
        assert_eq!(clock.translated(vec![span(ms(500), Duration::MAX)]), []);
    }
}
