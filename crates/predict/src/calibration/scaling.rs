//! How the time of a network depends on the number of cores.

/// Time of a whole network on a cluster by the number of cores: a part that more cores do not shorten, and one that
/// they share.
///
/// ```
/// use millstream_predict::calibration::CoreScaling;
///
/// // 1 second on one core, 0.4 seconds on four.
/// let scaling = CoreScaling::through(&[(1, 1.0), (4, 0.4)]).expect("two measurements");
/// assert!((scaling.seconds(4) - 0.4).abs() < 1e-12);
/// assert!((scaling.seconds(2) - 0.6).abs() < 1e-12);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoreScaling {
    alone: f64,
    shared: f64,
}

impl CoreScaling {
    /// The line over 1 / cores through the times on the most cores and on the fewest. Where these say that threads gain
    /// more than linearly, or there is only one of them, all of the time is shared and only the first one is met.
    /// `None` without any.
    pub fn through(seconds: &[(usize, f64)]) -> Option<Self> {
        let &(most, short) = seconds.iter().max_by_key(|(cores, _)| *cores)?;
        let &(fewest, long) = seconds.iter().min_by_key(|(cores, _)| *cores)?;
        let proportional = Self { alone: 0.0, shared: short * most as f64 };
        if fewest == most {
            return Some(proportional);
        }
        let shared = (long - short) / (1.0 / fewest as f64 - 1.0 / most as f64);
        let alone = short - shared / most as f64;
        Some(if alone < 0.0 { proportional } else { Self { alone, shared } })
    }

    /// The time on so many cores.
    pub fn seconds(self, cores: usize) -> f64 {
        self.alone + self.shared / cores.max(1) as f64
    }

    /// The same shape with all times so many times longer.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self { alone: factor * self.alone, shared: factor * self.shared }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_met_unless_threads_gain_too_much() {
        let scaling = CoreScaling::through(&[(3, 0.5), (4, 0.45), (1, 1.0)]).unwrap();
        assert!((scaling.seconds(1) - 1.0).abs() < 1e-12 && (scaling.seconds(4) - 0.45).abs() < 1e-12);
        let superlinear = CoreScaling::through(&[(2, 1.0), (4, 0.3)]).unwrap();
        assert!((superlinear.seconds(4) - 0.3).abs() < 1e-12 && (superlinear.seconds(2) - 0.6).abs() < 1e-12);
        assert_eq!(CoreScaling::through(&[(4, 0.25)]).unwrap().seconds(1), 1.0);
        assert_eq!(CoreScaling::through(&[]), None);
    }
}
