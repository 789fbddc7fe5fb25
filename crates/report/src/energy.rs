//! Joules as people read them.

/// Joules with three decimals, or more, down to a picojoule, where that leaves fewer than two digits: `1.234`, `0.066`,
/// `0.0049`, `0.00031`.
pub fn joules(joules: f64) -> String {
    let leading_zeros = if joules > 0.0 { -joules.log10().floor() } else { 0.0 };
    let digits = (leading_zeros + 1.0).clamp(3.0, 12.0) as usize;
    format!("{joules:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_energies_keep_two_digits() {
        let shown = [1.2344, 0.0664, 0.01, 0.0049, 0.00031, 0.0, 1e-30].map(joules);
        assert_eq!(shown, ["1.234", "0.066", "0.010", "0.0049", "0.00031", "0.000", "0.000000000000"]);
    }
}
