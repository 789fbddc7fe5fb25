//! The plan of a front that an objective asks for.

use std::borrow::Borrow;

use millstream_schedule::Objective;

use crate::plan::Plan;

/// [`Objective::Throughput`] never gives up more of the best throughput than this, relative to it.
const THROUGHPUT_TOLERANCE: f64 = 0.01;
/// Within that, it gives up 1 % of throughput only for a latency that is about so many percent lower.
const LATENCY_EXCHANGE: f64 = 10.0;

/// How far a plan is from what the objective asks for: lower is better, and a difference of 0.01 stands for about 1 %
/// of what counts.
pub fn score(objective: Objective, plan: &Plan) -> f64 {
    let (period, latency) = (plan.period.seconds().ln(), plan.latency.seconds().ln());
    match objective {
        Objective::Throughput => period + latency / LATENCY_EXCHANGE,
        Objective::Latency => latency + period / LATENCY_EXCHANGE.powi(4),
        Objective::Balanced => f64::midpoint(period, latency),
        Objective::Energy => {
            let joules = plan.energy.map_or(f64::INFINITY, |energy| energy.joules().max(1e-9).ln());
            joules + (period + latency) / LATENCY_EXCHANGE.powi(4)
        }
    }
}

/// The position in `plans` of the one that the objective asks for; `None` if there are none.
pub fn choose<P: Borrow<Plan>>(plans: &[P], objective: Objective) -> Option<usize> {
    let plan = |index: usize| plans[index].borrow();
    let shortest = (0..plans.len()).map(|index| plan(index).period).min()?;
    let limit = match objective {
        Objective::Throughput => shortest.seconds() * (1.0 + THROUGHPUT_TOLERANCE),
        _ => f64::INFINITY,
    };
    (0..plans.len())
        .filter(|&index| plan(index).period.seconds() <= limit)
        .min_by(|&left, &right| score(objective, plan(left)).total_cmp(&score(objective, plan(right))))
}

#[cfg(test)]
mod tests {
    use millstream_cost::Nanoseconds;

    use super::*;
    use crate::plan::nanojoules::Nanojoules;

    /// Microseconds and nanojoules.
    fn plan(period: u64, latency: u64, energy: Option<u64>) -> Plan {
        let of = |microseconds: u64| Nanoseconds(1000 * microseconds);
        Plan { stages: Vec::new(), period: of(period), latency: of(latency), energy: energy.map(Nanojoules) }
    }

    /// Whether one plan is better than another.
    fn is_better(objective: Objective, one: &Plan, other: &Plan) -> bool {
        score(objective, one) < score(objective, other)
    }

    #[test]
    fn of_what_else_counts_less_is_better_as_well() {
        let usual = plan(1000, 3000, Some(2_000_000));
        let (sooner, quicker) = (plan(1000, 2900, Some(2_000_000)), plan(950, 3000, Some(2_000_000)));
        for objective in Objective::ALL {
            assert!(is_better(objective, &sooner, &usual), "{objective:?}");
            assert!(is_better(objective, &quicker, &usual), "{objective:?}");
        }
    }

    #[test]
    fn each_objective_gives_up_so_much_for_what_else_counts() {
        let usual = plan(1000, 3000, Some(2_000_000));
        let gives_up = |objective: Objective, other: Plan| is_better(objective, &other, &usual);
        // 1 % of throughput for a latency that is lower by more than 10 %.
        assert!(gives_up(Objective::Throughput, plan(1010, 2700, None)));
        assert!(!gives_up(Objective::Throughput, plan(1010, 2730, None)));
        assert!(gives_up(Objective::Balanced, plan(1100, 2700, None)));
        assert!(!gives_up(Objective::Balanced, plan(1100, 2730, None)));
        // Of these two, hardly anything: a period that is half as long for less than a ten-thousandth.
        assert!(gives_up(Objective::Latency, plan(500, 3000, None)));
        assert!(!gives_up(Objective::Latency, plan(500, 3001, None)));
        assert!(gives_up(Objective::Energy, plan(2000, 9000, Some(1_990_000))));
        assert!(!gives_up(Objective::Energy, plan(500, 1000, Some(2_001_000))));
        assert!(!gives_up(Objective::Energy, plan(500, 1000, None)));
    }
}
