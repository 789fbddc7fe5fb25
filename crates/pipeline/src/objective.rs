use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use crate::Plan;

/// [`Objective::Throughput`] never gives up more of the best throughput than this, relative to it.
const THROUGHPUT_TOLERANCE: f64 = 0.03;
/// Within that, it gives up 1 % of throughput only for a latency that is about so many percent lower.
const LATENCY_EXCHANGE: f64 = 10.0;

/// What a schedule is chosen for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Objective {
    /// The highest throughput, or up to 3 % less where that lowers the latency ten times as much: predictions are not so
    /// exact that the last percent of throughput would be worth any latency.
    Throughput,
    /// The lowest latency.
    Latency,
    /// The lowest product of period and latency.
    Balanced,
    /// The lowest energy of a frame.
    Energy,
}

impl fmt::Display for Objective {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::Balanced => "balanced",
            Self::Energy => "energy",
        })
    }
}

impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|objective| objective.to_string() == text)
            .ok_or_else(|| format!("'{text}' is no objective; choose throughput, latency, balanced or energy"))
    }
}

impl Objective {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Throughput, Self::Latency, Self::Balanced, Self::Energy];

    /// How far a plan is from what the objective asks for: lower is better, and a difference of 0.01 stands for about 1 % of
    /// what counts.
    pub fn score(self, plan: &Plan) -> f64 {
        let (period, latency) = (plan.period.seconds().ln(), plan.latency.seconds().ln());
        match self {
            Self::Throughput => period + latency / LATENCY_EXCHANGE,
            Self::Latency => latency + period / LATENCY_EXCHANGE.powi(4),
            Self::Balanced => f64::midpoint(period, latency),
            Self::Energy => {
                let joules = plan.energy.map_or(f64::INFINITY, |energy| energy.joules().max(1e-9).ln());
                joules + (period + latency) / LATENCY_EXCHANGE.powi(4)
            }
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
        .min_by(|&left, &right| objective.score(plan(left)).total_cmp(&objective.score(plan(right))))
}
