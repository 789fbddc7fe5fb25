//! Compositions of integers: the ways to cut a chain of layers into stages.

/// All ways to write `layers` as a sum of `stages` positive numbers, in lexicographic order. Calls `visit` for each
/// until it returns `false`.
pub(crate) fn for_each_composition(layers: usize, stages: usize, visit: &mut dyn FnMut(&[usize]) -> bool) {
    fn extend(left: usize, stages: usize, parts: &mut Vec<usize>, visit: &mut dyn FnMut(&[usize]) -> bool) -> bool {
        if stages == 1 {
            parts.push(left);
            let goes_on = visit(parts);
            parts.pop();
            return goes_on;
        }
        (1..=left + 1 - stages).all(|part| {
            parts.push(part);
            let goes_on = extend(left - part, stages - 1, parts, visit);
            parts.pop();
            goes_on
        })
    }
    if (1..=layers).contains(&stages) {
        extend(layers, stages, &mut Vec::with_capacity(stages), visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_them_in_order() {
        let mut found = Vec::new();
        for_each_composition(5, 3, &mut |parts| {
            found.push(parts.to_vec());
            true
        });
        assert_eq!(found, [[1, 1, 3], [1, 2, 2], [1, 3, 1], [2, 1, 2], [2, 2, 1], [3, 1, 1]]);
        let mut count = 0;
        for_each_composition(5, 6, &mut |_| {
            count += 1;
            true
        });
        assert_eq!(count, 0);
    }
}
