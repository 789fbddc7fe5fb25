//! Times and rates as people read them.

/// What passes once in so many seconds, as often as it passes in a second: `1240.0`, `31.1`, `0.0512`.
pub fn rate(period_seconds: f64) -> String {
    let rate = 1.0 / period_seconds;
    match rate {
        1.0.. => format!("{rate:.1}"),
        0.001.. => format!("{rate:.4}"),
        _ => format!("{rate:.2e}"),
    }
}

/// Seconds as milliseconds with three significant digits: `0.041`, `5.13`, `91.7`, `1240`.
pub fn milliseconds(seconds: f64) -> String {
    let value = seconds * 1e3;
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else if value >= 1.0 {
        2
    } else {
        3
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_follow_the_size() {
        let texts: Vec<String> = [0.000_041, 0.005_13, 0.0917, 1.24].iter().map(|&time| milliseconds(time)).collect();
        assert_eq!(texts, ["0.041", "5.13", "91.7", "1240"]);
        let texts: Vec<String> = [0.032_15, 1.0, 19.53, 4e5].iter().map(|&period| rate(period)).collect();
        assert_eq!(texts, ["31.1", "1.0", "0.0512", "2.50e-6"]);
    }
}
