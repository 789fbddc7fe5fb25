use std::fmt;
use std::str::FromStr;

use crate::Plan;

/// Predictions this close are not told apart by [`Objective::Throughput`]: the difference is below their error.
const THROUGHPUT_TOLERANCE: f64 = 0.04;

/// What a schedule is chosen for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Objective {
    /// The lowest latency among the plans within 4 % of the highest throughput.
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
            positions
                .filter(|&index| front[index].period.seconds() <= limit)
                .min_by_key(|&index| (front[index].latency, front[index].period))
        }
    }
}
