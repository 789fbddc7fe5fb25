use std::fmt;
use std::str::FromStr;

use crate::Plan;

/// [`Objective::Throughput`] never gives up more of the best throughput than this, relative to it.
const THROUGHPUT_TOLERANCE: f64 = 0.04;
/// Within that, it gives up 1 % of throughput only for a latency that is about so many percent lower.
const LATENCY_EXCHANGE: f64 = 10.0;

/// What a schedule is chosen for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Objective {
    /// The highest throughput, or up to 4 % less where that lowers the latency ten times as much: predictions are not so
    /// exact that the last percent of throughput would be worth any latency.
    Throughput,
    /// The lowest latency.
    Latency,
    /// The lowest product of period and latency.
    Balanced,
}

impl fmt::Display for Objective {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::Balanced => "balanced",
        })
    }
}

impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Throughput, Self::Latency, Self::Balanced]
            .into_iter()
            .find(|objective| objective.to_string() == text)
            .ok_or_else(|| format!("'{text}' is no objective; choose throughput, latency or balanced"))
    }
}

/// The position in `front` of the plan that the objective asks for; `None` if the front is empty.
pub fn choose(front: &[Plan], objective: Objective) -> Option<usize> {
    let positions = 0..front.len();
    match objective {
        Objective::Latency => positions.min_by_key(|&index| (front[index].latency, front[index].period)),
        Objective::Balanced => positions.min_by(|&left, &right| {
            let product = |index: usize| front[index].latency.seconds() * front[index].period.seconds();
            product(left).total_cmp(&product(right))
        }),
        Objective::Throughput => {
            let shortest = front.iter().map(|plan| plan.period).min()?;
            let limit = shortest.seconds() * (1.0 + THROUGHPUT_TOLERANCE);
            let score = |index: usize| {
                LATENCY_EXCHANGE * front[index].period.seconds().ln() + front[index].latency.seconds().ln()
            };
            positions
                .filter(|&index| front[index].period.seconds() <= limit)
                .min_by(|&left, &right| score(left).total_cmp(&score(right)))
        }
    }
}
