/// Keeps only what nothing else beats in the second number without losing in the first, by rising first and falling second number;
/// of equals, the first.
pub(crate) fn keep_undominated<T, N: Ord + Copy>(items: &mut Vec<T>, numbers: impl Fn(&T) -> (N, N)) {
    items.sort_by_key(&numbers);
    let mut least: Option<N> = None;
    items.retain(|item| {
        let second = numbers(item).1;
        let keep = least.is_none_or(|least| second < least);
        if keep {
            least = Some(second);
        }
        keep
    });
}
