//! Quantiles of what was measured.

/// The value below which this part of the values lies, between two of them where it falls there; 0 without any.
pub(crate) fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let place = part * sorted.len().saturating_sub(1) as f64;
    let [below, above] = [place.floor(), place.ceil()].map(|index| sorted.get(index as usize).copied().unwrap_or(0.0));
    below + (above - below) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_the_values_at_hand() {
        let values = [4.0, 1.0, 3.0, 2.0, 5.0];
        assert_eq!([0.0, 0.25, 0.5, 0.75, 1.0].map(|part| quantile(&values, part)), [1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!((quantile(&[1.0, 2.0], 0.25), quantile(&[7.0], 0.75), quantile(&[], 0.5)), (1.25, 7.0, 0.0));
    }
}
