//! Prices of resources by which work costs much wherever it is done: what bounds by load are made of.
//!
//! Whatever prices resources have, adding up to one, a frame's work costs at least the sum of what each operator costs
//! where it is cheapest, and no resource can be worked for longer than the period: so that sum bounds the period.
//! Prices are the dual variables of the linear program that spreads operators over resources.

/// Prices of all resources add up to so many parts.
pub(crate) const BILLION: u64 = 1_000_000_000;

/// The best of the prices, 1 together, that are met while resources that too many operators choose become dearer, step
/// by step (multiplicative weights). `times` has a row per operator: for how long it takes all of each resource;
/// infinite where it can't run. The first step changes prices by a factor of at most e^`first_rate`.
pub(crate) fn balanced_prices(times: &[Vec<f64>], resources: usize, steps: usize, first_rate: f64) -> Vec<f64> {
    let mut prices = vec![1.0 / resources.max(1) as f64; resources];
    let mut best = (0.0_f64, prices.clone());
    for step in 0..=steps {
        let Cheapest { cost, loads } = Cheapest::at(times, &prices);
        if cost > best.0 {
            best = (cost, prices.clone());
        }

        let highest = loads.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let rate = first_rate / (1.0 + step as f64).sqrt();
        prices.iter_mut().zip(&loads).for_each(|(price, load)| *price *= (rate * load / highest).exp());
        let all: f64 = prices.iter().sum();
        prices.iter_mut().for_each(|price| *price /= all);
    }
    best.1
}

/// The resource on which an operator costs least at these prices, and what it costs there; `None` if it runs on none. `times`
/// are as in [`balanced_prices`].
pub(crate) fn cheapest_resource(times: &[f64], prices: &[f64]) -> Option<(usize, f64)> {
    let costs = times.iter().zip(prices).map(|(time, price)| time * price).enumerate();
    let usable = costs.filter(|(resource, _)| times[*resource].is_finite());
    usable.min_by(|one, other| one.1.total_cmp(&other.1))
}

/// Every operator where it is cheapest.
struct Cheapest {
    /// What they cost together: the dual objective.
    cost: f64,
    /// For how long each resource works.
    loads: Vec<f64>,
}

impl Cheapest {
    fn at(times: &[Vec<f64>], prices: &[f64]) -> Self {
        let mut cheapest = Self { cost: 0.0, loads: vec![0.0; prices.len()] };
        for row in times {
            if let Some((resource, cost)) = cheapest_resource(row, prices) {
                cheapest.cost += cost;
                cheapest.loads[resource] += row[resource];
            }
        }
        cheapest
    }
}

/// Prices in whole billionths, which add up to a billion.
pub(crate) fn billionths(prices: &[f64]) -> Vec<u64> {
    let mut billionths: Vec<u64> = prices.iter().map(|price| (price * BILLION as f64) as u64).collect();
    let left = BILLION.saturating_sub(billionths.iter().sum());
    if let Some(largest) = billionths.iter_mut().max() {
        *largest += left;
    }
    billionths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_many_choose_becomes_dearer() {
        // Two resources, of which each is good at one of two operators: each costs half where it is best.
        let prices = balanced_prices(&[vec![1.0, 9.0], vec![9.0, 1.0]], 2, 50, 0.5);
        assert!((prices[0] - 0.5).abs() < 1e-9, "{prices:?}");
        // Twice as fast at everything: worth twice as much.
        let prices = balanced_prices(&[vec![1.0, 2.0], vec![1.0, 2.0]], 2, 2000, 0.5);
        assert!((prices[0] - 2.0 / 3.0).abs() < 1e-2, "{prices:?}");
        // What can run on one resource only is worth all there is.
        let prices = balanced_prices(&[vec![f64::INFINITY, 5.0]], 2, 2000, 0.5);
        assert!(prices[1] > 0.99, "{prices:?}");
    }

    #[test]
    fn billionths_are_whole_and_all_there() {
        assert_eq!(billionths(&[1.0 / 3.0; 3]).iter().sum::<u64>(), BILLION);
        assert_eq!(billionths(&[0.25, 0.75]), [250_000_000, 750_000_000]);
        assert!(billionths(&[]).is_empty());
    }
}
