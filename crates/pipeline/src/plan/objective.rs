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
