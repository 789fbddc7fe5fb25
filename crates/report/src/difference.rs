//! Differences between two numbers as people read them.

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

/// The end of a sentence about a difference to what costs predict, from the words of [`beside`]:
/// `8.0 % faster than predicted`, `as predicted`.
pub fn than_predicted(words: &str) -> String {
    than(words, "predicted")
}

/// The end of a sentence about a difference to what a schedule's file says, be it predicted from costs or measured in a
/// trial, from the words of [`beside`]: `8.0 % faster than expected`, `as expected`.
pub fn than_expected(words: &str) -> String {
    than(words, "expected")
}

fn than(words: &str, what: &str) -> String {
    match words {
        "the same" => format!("as {what}"),
        "-" => format!("nothing was {what}"),
        other => format!("{other} than {what}"),
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
        assert_eq!(than_expected(&beside(1.0, 1.0)), "as expected");
        assert_eq!(than_expected(&beside(1.0, f64::NAN)), "nothing was expected");
        assert_eq!((percent(0.0321), percent(-0.5)), ("+3.2 %".to_owned(), "-50.0 %".to_owned()));
    }
}
