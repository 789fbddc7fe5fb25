//! Limits on latency, period and power of plans.

use millstream_cost::Nanoseconds;

use crate::error::PipelineError;
use crate::plan::Plan;

/// What a pipeline must not exceed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Constraints {
    /// The longest time of a frame through the pipeline (its latency).
    pub max_latency: Option<Nanoseconds>,
    /// The longest time between two frames (the period).
    pub max_period: Option<Nanoseconds>,
    /// The highest mean power of the pipeline's processors, in watts. Plans whose power is not known do not keep to it.
    pub max_watts: Option<f64>,
}

impl Constraints {
    /// Whether a plan keeps to them.
    pub fn allow(&self, plan: &Plan) -> bool {
        self.max_latency.is_none_or(|most| plan.latency <= most)
            && self.max_period.is_none_or(|most| plan.period <= most)
            && self.max_watts.is_none_or(|most| plan.watts().is_some_and(|watts| watts <= most))
    }

    /// These constraints with each limit divided by a number: stricter ones for more than 1, looser ones for less.
    #[must_use]
    pub fn divided_by(self, number: f64) -> Self {
        let divided = |most: Nanoseconds| Nanoseconds::from_seconds(most.seconds() / number);
        Self {
            max_latency: self.max_latency.map(divided),
            max_period: self.max_period.map(divided),
            max_watts: self.max_watts.map(|most| most / number),
        }
    }

    /// The plans that keep to them.
    ///
    /// # Errors
    /// [`PipelineError::Constraint`] or [`PipelineError::Power`] if none does: with the constraint that is furthest
    /// from what is reached without any other, or, if each is met by some plan, furthest from what is reached where all
    /// others are kept.
    pub fn among(&self, plans: &[Plan]) -> Result<Vec<Plan>, PipelineError> {
        let allowed: Vec<Plan> = plans.iter().filter(|plan| self.allow(plan)).cloned().collect();
        if !allowed.is_empty() || plans.is_empty() {
            return Ok(allowed);
        }

        let seconds = |most: Option<Nanoseconds>| most.map(Nanoseconds::seconds);
        let limit = Limit { most: seconds(self.max_latency), measure: |plan| plan.latency.seconds() };
        let latency = Miss::of(limit, plans, &Self { max_latency: None, ..*self });
        let limit = Limit { most: seconds(self.max_period), measure: |plan| plan.period.seconds() };
        let period = Miss::of(limit, plans, &Self { max_period: None, ..*self });
        let limit = Limit { most: self.max_watts, measure: |plan| plan.watts().unwrap_or(f64::INFINITY) };
        let power = Miss::of(limit, plans, &Self { max_watts: None, ..*self });

        let error = |what, most: Option<Nanoseconds>, miss: &Miss| PipelineError::Constraint {
            what,
            most: most.unwrap_or_default(),
            least: Nanoseconds::from_seconds(miss.least),
            with_others: !miss.is_alone,
        };
        let misses = [
            latency.map(|miss| (error("latency", self.max_latency, &miss), miss)),
            period.map(|miss| (error("period", self.max_period, &miss), miss)),
            power.map(|miss| {
                let most_watts = self.max_watts.unwrap_or_default();
                let (least_watts, with_others) = (miss.least, !miss.is_alone);
                (PipelineError::Power { most_watts, least_watts, with_others }, miss)
            }),
        ];
        let worst = misses
            .into_iter()
            .flatten()
            .max_by(|(_, one), (_, other)| one.is_alone.cmp(&other.is_alone).then(one.excess.total_cmp(&other.excess)));
        match worst {
            Some((error, _)) => Err(error),
            // No two of three can be kept together: each of them is in the way of another.
            None if self.max_watts.is_some() => Self { max_watts: None, ..*self }.among(plans),
            None => Err(PipelineError::Infeasible),
        }
    }
}

/// A single constraint, if it is set, and what it limits of a plan.
#[derive(Clone, Copy)]
struct Limit {
    most: Option<f64>,
    measure: fn(&Plan) -> f64,
}

/// How far plans are from a constraint.
struct Miss {
    /// Whether no plan keeps to it at all; if not, none does that keeps to the others.
    is_alone: bool,
    /// The least that plans come to.
    least: f64,
    /// That divided by what is allowed.
    excess: f64,
}

impl Miss {
    /// `None` if the constraint is not what stands in the way.
    fn of(Limit { most, measure }: Limit, plans: &[Plan], others: &Constraints) -> Option<Self> {
        let most = most?;
        let least = |plans: &mut dyn Iterator<Item = &Plan>| {
            plans.map(measure).min_by(f64::total_cmp).filter(|least| *least > most)
        };
        let alone = least(&mut plans.iter());
        let least = alone.or_else(|| least(&mut plans.iter().filter(|plan| others.allow(plan))))?;
        Some(Self { is_alone: alone.is_some(), least, excess: least / most.max(1e-12) })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use crate::plan::nanojoules::Nanojoules;

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
    fn every_limit_can_be_made_stricter_or_looser() {
        let limits = Constraints { max_watts: Some(2.0), ..constraints(Some(30_000_000), Some(6_000_000)) };
        let stricter = Constraints { max_watts: Some(1.0), ..constraints(Some(15_000_000), Some(3_000_000)) };
        assert_eq!((limits.divided_by(2.0), stricter.divided_by(0.5)), (stricter, limits));
        assert_eq!(Constraints::default().divided_by(0.5), Constraints::default());
    }

    #[test]
    fn the_tightest_constraint_is_named() {
        let front = [plan(10_000_000, 20_000_000), plan(5_000_000, 40_000_000)];
        assert_eq!(constraints(Some(30_000_000), None).among(&front).unwrap(), front[..1]);
        assert_eq!(constraints(None, Some(6_000_000)).among(&front).unwrap(), front[1..]);
        assert_eq!(constraints(None, None).among(&front).unwrap(), front);
        let error = |latency, period| constraints(latency, period).among(&front).unwrap_err().to_string();
        let said = "no pipeline that was found has a latency of 10.000 ms or less: the shortest is 20.000 ms";
        assert_eq!(error(Some(10_000_000), None), said);
        assert!(error(None, Some(1_000_000)).contains("period"));
        // Each can be met, but not both: with a period of 6 ms, the latency is at least 40 ms.
        assert!(
            error(Some(30_000_000), Some(6_000_000)).contains("period"),
            "{}",
            error(Some(30_000_000), Some(6_000_000))
        );
        let said = "no pipeline that was found passes 166.67 frames/s or more (a period of 6.000 ms or less) within the other limits: \
                    the most is 100.00 frames/s (a period of 10.000 ms)";
        assert!(error(Some(30_000_000), Some(6_000_000)).contains(said));

        // What cannot be met at all stands before what cannot be met beside it.
        let both = Constraints { max_watts: Some(0.9), ..constraints(Some(19_999_999), Some(5_000_000)) };
        assert!(
            both.among(&front).unwrap_err().to_string().contains("no pipeline that was found draws 0.90 W or less:")
        );

        // No plan keeps to any two of these.
        let third = Plan { energy: Some(Nanojoules(1)), ..plan(20_000_000, 50_000_000) };
        let three = Constraints { max_watts: Some(0.9), ..constraints(Some(30_000_000), Some(6_000_000)) };
        let said = three.among(&[front[0].clone(), front[1].clone(), third]).unwrap_err().to_string();
        assert!(said.contains("frames/s or more") && said.contains("within the other limits"), "{said}");
        // Both draw one watt.
        let power = |most| Constraints { max_watts: Some(most), ..Constraints::default() }.among(&front);
        assert_eq!(power(1.5).unwrap(), front);
        let said = "no pipeline that was found draws 0.50 W or less: the least is 1.00 W";
        assert_eq!(power(0.5).unwrap_err().to_string(), said);
    }
}
