//! Which operators of several in a row count as one.

use crate::operator_time::OperatorTime;

/// Which operators of several in a row count as one, because an engine runs them so. They are known by their places in
/// the row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FusedGroups {
    /// For each operator, the place of the first of those that count as one with it.
    first_of: Vec<usize>,
}

impl FusedGroups {
    /// Each of so many operators by itself.
    pub(crate) fn apart(operators: usize) -> Self {
        Self { first_of: (0..operators).collect() }
    }

    /// Has two operators, and all that count as one with either, count as one.
    pub(crate) fn merge(&mut self, one: usize, other: usize) {
        let (one, other) = (self.first_of[one], self.first_of[other]);
        let (first, second) = (one.min(other), one.max(other));
        self.first_of.iter_mut().filter(|operator| **operator == second).for_each(|operator| *operator = first);
    }

    /// Moves times to the first operators of those that count as one, and what is known of their intervals with them.
    pub(crate) fn sum_into_first(&self, times: &mut [OperatorTime]) {
        for (operator, &first) in self.first_of.iter().enumerate().filter(|(operator, first)| operator != *first) {
            let (added, before) = (times[operator], times[first]);
            times[operator].seconds = 0.0;

            let seconds = before.seconds + added.seconds;
            let weighted = before.seconds * before.interval + added.seconds * added.interval;
            let interval = if seconds > 0.0 { weighted / seconds } else { before.interval };
            times[first] = OperatorTime { seconds, interval };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of five operators, the last two run as one, then the second and the fourth: these three have their time at the
    /// second, 2 + 4 + 5, whose interval is the mean of theirs by time: (2 * 0.1 + 4 * 0.2 + 5 * 0.2) / 11.
    #[test]
    fn groups_that_share_an_operator_are_one() {
        let mut groups = FusedGroups::apart(5);
        groups.merge(4, 3);
        groups.merge(1, 3);
        assert_eq!(groups, FusedGroups { first_of: vec![0, 1, 2, 1, 1] });

        let time = |seconds: f64, interval: f64| OperatorTime { seconds, interval };
        let mut times = [time(1.0, 0.0), time(2.0, 0.1), time(3.0, 0.3), time(4.0, 0.2), time(5.0, 0.2)];
        groups.sum_into_first(&mut times);
        assert_eq!(times.map(|time| time.seconds), [1.0, 11.0, 3.0, 0.0, 0.0]);
        assert!((times[1].interval - 2.0 / 11.0).abs() < 1e-12, "{times:?}");
        assert_eq!([times[0].interval, times[2].interval], [0.0, 0.3]);
    }
}
