//! Ranks of divisions into stages, the most even first.

use millstream_tune::{coefficient_of_variation, most_even};

use crate::claim::Claim;

/// Ranks of a division among those into as many stages, the most even first, counted from 1: those that are equally
/// even stand in any order.
pub(super) fn ranks(weights: &[u64], layers: &[usize]) -> (usize, usize) {
    let variation = |layers: &[usize]| coefficient_of_variation(weights, layers);
    let spread = variation(layers);
    let all = most_even(weights, layers.len(), usize::MAX);
    let below = all.iter().filter(|other| variation(other) < spread - EQUALLY_EVEN).count();
    let equal = all.iter().filter(|other| (variation(other) - spread).abs() <= EQUALLY_EVEN).count();
    (below + 1, below + equal)
}

pub(super) const EQUALLY_EVEN: f64 = 1e-12;

/// A printed rank beside ours: of equally even divisions, the nearest.
pub(super) fn rank_claim(of: &str, (first, last): (usize, usize), printed: usize) -> Claim {
    Claim::count(format!("rank of {of}"), printed.clamp(first, last), printed)
}

/// In words.
pub(super) fn shown((first, last): (usize, usize)) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}

/// Layers of each stage, as the paper writes them.
pub(super) fn division(layers: &[usize]) -> String {
    let layers: Vec<String> = layers.iter().map(ToString::to_string).collect();
    format!("[{}]", layers.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equally_even_divisions_share_their_ranks() {
        // Of 1, 1, 2: [2, 1] is even, [1, 2] is 1 and 3. Of 1, 2, 1, both cuts are as uneven.
        assert_eq!((ranks(&[1, 1, 2], &[2, 1]), ranks(&[1, 1, 2], &[1, 2])), ((1, 1), (2, 2)));
        assert_eq!((ranks(&[1, 2, 1], &[2, 1]), ranks(&[1, 2, 1], &[1, 2])), ((1, 2), (1, 2)));
        assert!(rank_claim("one of two", (1, 2), 2).holds() && !rank_claim("one of two", (1, 2), 3).holds());
        assert_eq!([(1, 1), (1, 2)].map(shown), ["1", "1-2"]);
    }
}
