//! Times on the command line, from a microsecond to a day.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A time limit as people write it: `500ms`, `30s`, `2m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budget(pub(crate) Duration);

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a time such as 500ms, 30s or 2m");
        let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
        let amount: f64 = digits.parse().map_err(|_| wrong())?;
        let seconds = match &text[digits.len()..] {
            "us" => amount / 1e6,
            "ms" => amount / 1e3,
            "s" | "" => amount,
            "m" | "min" => amount * 60.0,
            _ => return Err(wrong()),
        };
        if !(1e-6..=86_400.0).contains(&seconds) {
            return Err(format!("'{text}' is out of range: from 1us to a day"));
        }
        Ok(Self(Duration::from_secs_f64(seconds)))
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}s", self.0.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_parse() {
        let seconds = |text: &str| text.parse::<Budget>().map(|budget| budget.0.as_secs_f64());
        assert_eq!(
            (seconds("500ms"), seconds("30s"), seconds("2m"), seconds("7"), seconds("400us")),
            (Ok(0.5), Ok(30.0), Ok(120.0), Ok(7.0), Ok(4e-4))
        );
        for wrong in ["", "s", "-1s", "0s", "3 weeks", "0.1us", "1e30s", "NaNs"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
