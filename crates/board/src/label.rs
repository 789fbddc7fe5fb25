/// Names clusters that are sorted from the fastest to the slowest: `B`, then `m`, `m2`, ..., and `s` for the last.
pub(crate) fn labels(count: usize) -> Vec<String> {
    (0..count)
        .map(|position| match position {
            0 => "B".to_owned(),
            last if last + 1 == count => "s".to_owned(),
            1 => "m".to_owned(),
            middle => format!("m{middle}"),
        })
        .collect()
}
