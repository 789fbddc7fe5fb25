//! How many pipelines there are on boards of two clusters, by the equations of the Pipe-it paper.

/// Number of pipelines of so many stages on so many big and small cores, big cores first, every core used (Pipe-it,
/// Wang et al., TCAD 2020, equation 1).
pub fn pipelines(big_cores: u64, small_cores: u64, stages: u64) -> u128 {
    let fewest = 1.max(stages.saturating_sub(small_cores));
    let most = big_cores.min(stages.saturating_sub(1));
    (fewest..=most)
        .map(|on_big| {
            binomial(big_cores - 1, on_big - 1) * binomial(small_cores.saturating_sub(1), stages - on_big - 1)
        })
        .sum()
}

/// Number of ways to divide so many layers over the [`pipelines`] of any number of stages from two on (Pipe-it,
/// equation 2).
///
/// The paper prints 5,379,616 for MobileNet's 28 layers on 4 + 4 cores. That is this sum with `layers` in place of
/// `layers - 1` in the binomial; the equation itself gives 4,272,048.
pub fn design_points(layers: u64, big_cores: u64, small_cores: u64) -> u128 {
    let of_stages = |stages| binomial(layers.saturating_sub(1), stages - 1) * pipelines(big_cores, small_cores, stages);
    (2..=big_cores + small_cores).map(of_stages).sum()
}

/// Number of ways to choose so many of some things.
pub(crate) fn binomial(of: u64, choose: u64) -> u128 {
    if choose > of {
        return 0;
    }
    (0..choose).fold(1, |product, index| product * u128::from(of - index) / u128::from(index + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_the_paper() {
        let total: u128 = (2..=8).map(|stages| pipelines(4, 4, stages)).sum();
        assert_eq!(total, 64);
        assert_eq!(design_points(28, 4, 4), 4_272_048);
        assert_eq!((2..=8).map(|stages| binomial(28, stages - 1) * pipelines(4, 4, stages)).sum::<u128>(), 5_379_616);
    }

    #[test]
    fn small_cases_by_hand() {
        // Two cores each: B2-s2, B2-s1-s1, B1-B1-s2, B1-B1-s1-s1.
        assert_eq!([2, 3, 4, 5].map(|stages| pipelines(2, 2, stages)), [1, 2, 1, 0]);
        // Three layers: two cuts for two stages, one way for three.
        assert_eq!(design_points(3, 2, 2), 2 + 2);
        assert_eq!(design_points(1, 2, 2), 0);
    }
}
