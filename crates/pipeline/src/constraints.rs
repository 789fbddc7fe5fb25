use millstream_cost::Nanoseconds;

use crate::{PipelineError, Plan};

/// What a pipeline must not exceed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Constraints {
    /// The longest time of a frame through the pipeline.
    pub max_latency: Option<Nanoseconds>,
    /// The longest time between two frames.
    pub max_period: Option<Nanoseconds>,
    /// The highest mean power of the pipeline's processors. Plans whose power is not known do not keep to it.
    pub max_watts: Option<f64>,
}

impl Constraints {
    /// Whether a plan keeps to them.
    pub fn allow(&self, plan: &Plan) -> bool {
        self.max_latency.is_none_or(|most| plan.latency <= most)
            && self.max_period.is_none_or(|most| plan.period <= most)
            && self.max_watts.is_none_or(|most| plan.watts().is_some_and(|watts| watts <= most))
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
        // How far the nearest plan is from a constraint, among those that keep to the others if there are any.
        let miss = |most: Option<f64>, own: fn(&Plan) -> f64, others: Self| {
            let most = most?;
            let least = |plans: &mut dyn Iterator<Item = &Plan>| plans.map(own).min_by(f64::total_cmp);
            let kept = least(&mut plans.iter().filter(|plan| others.allow(plan)));
            let least = kept.or_else(|| least(&mut plans.iter()))?;
            (least > most).then_some((least / most.max(1e-12), least))
        };
        let seconds = |most: Option<Nanoseconds>| most.map(Nanoseconds::seconds);
        let latency =
            miss(seconds(self.max_latency), |plan| plan.latency.seconds(), Self { max_latency: None, ..*self });
        let period = miss(seconds(self.max_period), |plan| plan.period.seconds(), Self { max_period: None, ..*self });
        let power =
            miss(self.max_watts, |plan| plan.watts().unwrap_or(f64::INFINITY), Self { max_watts: None, ..*self });
        let error = |what, most: Option<Nanoseconds>, least: f64| PipelineError::Constraint {
            what,
            most: most.unwrap_or_default(),
            least: Nanoseconds::from_seconds(least),
        };
        let misses = [
            latency.map(|(excess, least)| (excess, error("latency", self.max_latency, least))),
            period.map(|(excess, least)| (excess, error("period", self.max_period, least))),
            power.map(|(excess, least)| {
                let most_watts = self.max_watts.unwrap_or_default();
                (excess, PipelineError::Power { most_watts, least_watts: least })
            }),
        ];
        let worst = misses.into_iter().flatten().max_by(|one, other| one.0.total_cmp(&other.0));
        Err(worst.map_or(PipelineError::Infeasible, |(_, error)| error))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use crate::Nanojoules;

    fn plan(period: u64, latency: u64) -> Plan {
        Plan {
            stages: Vec::new(),
            period: Nanoseconds(period),
            latency: Nanoseconds(latency),
            energy: Some(Nanojoules(period)),
        }
    }

    fn constraints(latency: Option<u64>, period: Option<u64>) -> Constraints {
        Constraints { max_latency: latency.map(Nanoseconds), max_period: period.map(Nanoseconds), max_watts: None }
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
        // Both draw one watt.
        let power = |most| Constraints { max_watts: Some(most), ..Constraints::default() }.among(&front);
        assert_eq!(power(1.5).unwrap(), front);
        let said = "no pipeline draws 0.50 W or less: the least that can be reached is 1.00 W";
        assert_eq!(power(0.5).unwrap_err().to_string(), said);
    }
}
