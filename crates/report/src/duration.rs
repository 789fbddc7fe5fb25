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

/// A relative difference with its sign: `+3.2 %`.
pub fn percent(fraction: f64) -> String {
    format!("{:+.1} %", fraction * 100.0)
}

/// Less than this is no difference: it would be shown as 0.0 %.
const NO_DIFFERENCE: f64 = 0.0005;

/// What a time is beside the one that was predicted: `5.9 % slower`, `8.0 % faster` or `the same`.
pub fn beside(seconds: f64, predicted_seconds: f64) -> String {
    in_words(seconds / predicted_seconds - 1.0, ["slower", "faster"])
}

/// What a rate is beside the one that was predicted: `5.9 % slower`, `8.0 % faster` or `the same`.
pub fn rate_beside(hertz: f64, predicted_hertz: f64) -> String {
    in_words(hertz / predicted_hertz - 1.0, ["faster", "slower"])
}

/// A relative difference with a word for its sign, one for what is above and one for what is below: `3.2 % more`.
pub fn in_words(fraction: f64, [above, below]: [&str; 2]) -> String {
    match fraction {
        unknown if !unknown.is_finite() => "-".to_owned(),
        none if none.abs() < NO_DIFFERENCE => "the same".to_owned(),
        signed => format!("{:.1} % {}", 100.0 * signed.abs(), if signed > 0.0 { above } else { below }),
    }
}

/// The same as the end of a sentence about what was predicted: `8.0 % faster than predicted`, `as predicted`.
pub fn than_predicted(words: &str) -> String {
    match words {
        "the same" => "as predicted".to_owned(),
        "-" => "nothing was predicted".to_owned(),
        other => format!("{other} than predicted"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_say_in_words_which_way_they_go() {
        assert_eq!((beside(1.08, 1.0), beside(0.92, 1.0)), ("8.0 % slower".to_owned(), "8.0 % faster".to_owned()));
        assert_eq!((rate_beside(1.08, 1.0), rate_beside(0.92, 1.0)), ("8.0 % faster".into(), "8.0 % slower".into()));
        assert_eq!((beside(1.000_4, 1.0), beside(1.0, f64::NAN)), ("the same".into(), "-".into()));
        assert_eq!(than_predicted(&beside(0.92, 1.0)), "8.0 % faster than predicted");
        assert_eq!(than_predicted(&beside(1.0, 1.0)), "as predicted");
    }

    #[test]
    fn digits_follow_the_size() {
        let texts: Vec<String> = [0.000_041, 0.005_13, 0.0917, 1.24].iter().map(|&time| milliseconds(time)).collect();
        assert_eq!(texts, ["0.041", "5.13", "91.7", "1240"]);
        let texts: Vec<String> = [0.032_15, 1.0, 19.53, 4e5].iter().map(|&period| rate(period)).collect();
        assert_eq!(texts, ["31.1", "1.0", "0.0512", "2.50e-6"]);
        assert_eq!((percent(0.0321), percent(-0.5)), ("+3.2 %".to_owned(), "-50.0 %".to_owned()));
    }
}
