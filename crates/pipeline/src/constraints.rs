use millstream_cost::Nanoseconds;

use crate::{PipelineError, Plan};

/// What a pipeline must not exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Constraints {
    /// The longest time of a frame through the pipeline.
    pub max_latency: Option<Nanoseconds>,
    /// The longest time between two frames.
    pub max_period: Option<Nanoseconds>,
}

impl Constraints {
    /// Whether a plan keeps to them.
    pub fn allow(&self, plan: &Plan) -> bool {
        self.max_latency.is_none_or(|most| plan.latency <= most)
            && self.max_period.is_none_or(|most| plan.period <= most)
    }

    /// The plans that keep to them.
    ///
    /// # Errors
    /// [`PipelineError::Constraint`] if none does, with the constraint that is furthest from what can be reached.
    pub fn among(&self, plans: &[Plan]) -> Result<Vec<Plan>, PipelineError> {
        let allowed: Vec<Plan> = plans.iter().filter(|plan| self.allow(plan)).cloned().collect();
        if !allowed.is_empty() || plans.is_empty() {
            return Ok(allowed);
        }
        // Alone, or where plans keep to the other one.
        let miss = |what, most: Option<Nanoseconds>, own: fn(&Plan) -> Nanoseconds, other: &Self| {
            let most = most?;
            let others = plans.iter().filter(|plan| other.allow(plan));
            let least = others.map(own).min().or_else(|| plans.iter().map(own).min())?;
            let excess = least.seconds() / most.seconds().max(1e-12);
            (least > most).then_some((excess, PipelineError::Constraint { what, most, least }))
        };
        let without_latency = Self { max_latency: None, ..*self };
        let without_period = Self { max_period: None, ..*self };
        let misses = [
            miss("latency", self.max_latency, |plan| plan.latency, &without_latency),
            miss("period", self.max_period, |plan| plan.period, &without_period),
        ];
        let worst = misses.into_iter().flatten().max_by(|one, other| one.0.total_cmp(&other.0));
        Err(worst.map_or(PipelineError::Infeasible, |(_, error)| error))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn plan(period: u64, latency: u64) -> Plan {
        Plan { stages: Vec::new(), period: Nanoseconds(period), latency: Nanoseconds(latency) }
    }

    fn constraints(latency: Option<u64>, period: Option<u64>) -> Constraints {
        Constraints { max_latency: latency.map(Nanoseconds), max_period: period.map(Nanoseconds) }
    }

    #[test]
    fn the_tightest_constraint_is_named() {
        let front = [plan(10_000_000, 20_000_000), plan(5_000_000, 40_000_000)];
        assert_eq!(constraints(Some(30_000_000), None).among(&front).unwrap(), front[..1]);
        assert_eq!(constraints(None, Some(6_000_000)).among(&front).unwrap(), front[1..]);
        assert_eq!(constraints(None, None).among(&front).unwrap(), front);
        let error = |latency, period| constraints(latency, period).among(&front).unwrap_err().to_string();
        let said = "no pipeline has a latency of 10.000 ms or less: the shortest that can be reached is 20.000 ms";
        assert_eq!(error(Some(10_000_000), None), said);
        assert!(error(None, Some(1_000_000)).contains("period"));
        // Each can be met, but not both: with a period of 6 ms, the latency is at least 40 ms.
        assert!(
            error(Some(30_000_000), Some(6_000_000)).contains("period"),
            "{}",
            error(Some(30_000_000), Some(6_000_000))
        );
    }
}
