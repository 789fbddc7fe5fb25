//! The bound on a team's time by load: the work of operators by the dual prices of the processors.

use millstream_cost::Nanoseconds;

use crate::teams::team_costs::TeamCosts;
use crate::teams::windows::WindowOperator;
use crate::times::dual_prices::{BILLION, balanced_prices, billionths};

/// Steps in which processors become dearer, and how much in the first.
const PRICE_STEPS: usize = 23;
const FIRST_RATE: f64 = 1.0;

impl TeamCosts<'_> {
    /// The dual objective: the work of operators by the processors' prices in billionths, each operator
    /// where it is cheapest.
    pub(super) fn load(&self, operators: &[&WindowOperator], dual_prices: &[u64]) -> Nanoseconds {
        let cheapest = |operator: &&WindowOperator| {
            let priced = self.costs(operator).into_iter().zip(dual_prices);
            priced.filter_map(|(time, price)| Some(u128::from(time?.0) * u128::from(*price))).min().unwrap_or(0)
        };
        let sum: u128 = operators.iter().map(cheapest).sum();
        Nanoseconds(u64::try_from(sum / u128::from(BILLION)).unwrap_or(u64::MAX))
    }

    /// Prices of the processors with a high dual objective, in whole billionths.
    pub(super) fn dual_prices(&self, operators: &[&WindowOperator]) -> Vec<u64> {
        let nanoseconds = |time: Option<Nanoseconds>| time.map_or(f64::INFINITY, |time| time.0 as f64);
        let times: Vec<Vec<f64>> =
            operators.iter().map(|operator| self.costs(operator).into_iter().map(nanoseconds).collect()).collect();
        billionths(&balanced_prices(&times, self.class_ids.len(), PRICE_STEPS, FIRST_RATE))
    }
}
