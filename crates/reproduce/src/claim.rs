//! One thing that the paper says, beside what is found here: whether it holds, and why not.

use std::fmt;

use crate::evidence::{ClaimTolerance, Evidence};

/// Ours and the paper's.
#[derive(Debug, Clone, PartialEq)]
pub enum Comparison {
    /// Numbers.
    Number {
        /// Ours.
        ours: f64,
        /// The paper's: a single number as an empty range.
        paper: [f64; 2],
        /// How far ours may be outside.
        tolerance: ClaimTolerance,
    },
    /// What is chosen, in the paper's words; it has to be the same.
    Choice {
        /// Ours.
        ours: String,
        /// The paper's.
        paper: String,
    },
}

/// Something of ours that is set beside the paper's.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// What it is.
    pub what: String,
    /// Ours and the paper's.
    pub comparison: Comparison,
    /// What agreement would say.
    pub evidence: Evidence,
    /// Why it misses, as far as that is known. What holds has none.
    pub reason: Option<&'static str>,
}

/// What is wrong with a claim itself: something changed that nobody looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It misses, and no reason is given.
    Unexplained,
    /// A reason for missing is given, and it holds.
    Outdated,
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Unexplained => "misses without a reason",
            Self::Outdated => "holds, but has a reason for missing",
        })
    }
}

impl Claim {
    fn new(what: impl Into<String>, comparison: Comparison) -> Self {
        Self { what: what.into(), comparison, evidence: Evidence::Compared, reason: None }
    }

    /// A number that the paper prints, within the general tolerance.
    pub fn number(what: impl Into<String>, ours: f64, paper: f64) -> Self {
        Self::range(what, ours, [paper; 2])
    }

    /// A number for which the paper prints a range, within the general tolerance.
    pub fn range(what: impl Into<String>, ours: f64, paper: [f64; 2]) -> Self {
        Self::new(what, Comparison::Number { ours, paper, tolerance: ClaimTolerance::General })
    }

    /// A number of things, which has to be equal.
    pub fn count(what: impl Into<String>, ours: usize, paper: usize) -> Self {
        Self::number(what, ours as f64, paper as f64).within(ClaimTolerance::Exact)
    }

    /// What is chosen among several possibilities.
    pub fn choice(what: impl Into<String>, ours: impl Into<String>, paper: impl Into<String>) -> Self {
        Self::new(what, Comparison::Choice { ours: ours.into(), paper: paper.into() })
    }

    /// With another tolerance than the general one. Choices have none.
    #[must_use]
    pub fn within(mut self, allowed: ClaimTolerance) -> Self {
        if let Comparison::Number { tolerance, .. } = &mut self.comparison {
            *tolerance = allowed;
        }
        self
    }

    /// As something that is not counted.
    #[must_use]
    pub fn only(mut self, evidence: Evidence) -> Self {
        self.evidence = evidence;
        self
    }

    /// With the reason for which it misses, where it does.
    #[must_use]
    pub fn because(mut self, reason: impl Into<Option<&'static str>>) -> Self {
        self.reason = reason.into();
        self
    }

    /// Whether it is counted.
    pub fn counts(&self) -> bool {
        self.evidence == Evidence::Compared
    }

    /// How far ours is outside the paper's range, relative to the nearer end; 0 within, and for a choice.
    pub fn difference(&self) -> f64 {
        match self.comparison {
            Comparison::Number { ours, paper, .. } => {
                let (outside, end) = outside(ours, paper);
                if outside == 0.0 { 0.0 } else { outside / end.abs() }
            }
            Comparison::Choice { .. } => 0.0,
        }
    }

    /// Whether ours is what the paper has, within the tolerance.
    pub fn holds(&self) -> bool {
        match &self.comparison {
            Comparison::Number { ours, paper, tolerance } => {
                let (outside, end) = outside(*ours, *paper);
                outside.abs() <= tolerance.around(end)
            }
            Comparison::Choice { ours, paper } => ours == paper,
        }
    }

    /// What is wrong with the claim itself, if anything is.
    pub fn fault(&self) -> Option<Fault> {
        match (self.holds(), self.reason) {
            (false, None) => Some(Fault::Unexplained),
            (true, Some(_)) => Some(Fault::Outdated),
            (false, Some(_)) | (true, None) => None,
        }
    }
}

/// How far a number is outside a range, and the nearer end.
fn outside(ours: f64, [low, high]: [f64; 2]) -> (f64, f64) {
    if ours < low {
        (ours - low, low)
    } else if ours <= high {
        (0.0, high)
    } else {
        // Also what is not a number, which no tolerance lets pass.
        (ours - high, high)
    }
}

/// In a line, without the reason.
impl fmt::Display for Claim {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.comparison {
            Comparison::Choice { ours, paper } => {
                write!(formatter, "{}: {ours} here, {paper} in the paper", self.what)
            }
            Comparison::Number { ours, paper: [low, high], tolerance } => {
                write!(formatter, "{}: {} here, {}", self.what, shown(*ours), shown(*low))?;
                if low < high {
                    write!(formatter, " to {}", shown(*high))?;
                }
                write!(formatter, " {} ({}; {tolerance})", self.whose(), self.distance())
            }
        }
    }
}

impl Claim {
    fn whose(&self) -> &'static str {
        match self.evidence {
            Evidence::Compared | Evidence::Input | Evidence::ByDefinition => "in the paper",
            Evidence::SelfConsistency | Evidence::NotInThePaper => "expected",
        }
    }

    /// The difference in words: relative where that says something.
    fn distance(&self) -> String {
        match self.difference() {
            infinite if !infinite.is_finite() => "none in the paper".to_owned(),
            difference => format!("{:+.1} %", 100.0 * difference),
        }
    }
}

/// Four significant digits.
fn shown(value: f64) -> String {
    let whole = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    if (-5..=8).contains(&whole) {
        let digits = usize::try_from(3 - whole).unwrap_or(0);
        let text = format!("{value:.digits$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    } else {
        format!("{value:.3e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_count_from_the_nearer_end() {
        let claim = |ours: f64| Claim::range("speedup", ours, [2.0, 4.0]).within(ClaimTolerance::Stated(0.03));
        assert_eq!(claim(3.0).difference(), 0.0);
        assert!((claim(1.9).difference() + 0.05).abs() < 1e-12 && !claim(1.9).holds());
        assert!((claim(4.1).difference() - 0.025).abs() < 1e-12 && claim(4.1).holds());
        // Negative numbers: further below is less.
        assert!((Claim::number("change", -0.3, -0.2).difference() + 0.5).abs() < 1e-12);
    }

    #[test]
    fn each_tolerance_allows_what_it_says() {
        let holds = |ours: f64, paper: f64, tolerance| Claim::number("x", ours, paper).within(tolerance).holds();
        assert!(holds(1.0 + 1e-14, 1.0, ClaimTolerance::Exact) && !holds(1.0 + 1e-9, 1.0, ClaimTolerance::Exact));
        assert!(holds(8.95, 8.9, ClaimTolerance::Rounding(0.05)) && !holds(8.96, 8.9, ClaimTolerance::Rounding(0.05)));
        assert!(holds(1.01, 1.0, ClaimTolerance::Stated(0.0106)) && !holds(1.02, 1.0, ClaimTolerance::Stated(0.0106)));
        assert!(holds(1.09, 1.0, ClaimTolerance::General) && !holds(1.11, 1.0, ClaimTolerance::General));
        // Of nothing, ten per cent are nothing.
        assert!(holds(0.0, 0.0, ClaimTolerance::General) && !holds(0.01, 0.0, ClaimTolerance::General));
        assert!(!holds(f64::NAN, 1.0, ClaimTolerance::General), "what could not be computed agrees with nothing");
    }

    #[test]
    fn a_reason_belongs_to_a_miss_and_a_miss_has_one() {
        let claim = |ours: f64| Claim::number("x", ours, 1.0);
        assert_eq!(claim(1.0).fault(), None);
        assert_eq!(claim(2.0).fault(), Some(Fault::Unexplained));
        assert_eq!(claim(2.0).because("heat").fault(), None);
        assert_eq!(claim(1.0).because("heat").fault(), Some(Fault::Outdated));
        assert_eq!(Claim::choice("stages", "B4", "B4-s4").fault(), Some(Fault::Unexplained));
        assert_eq!(Claim::choice("stages", "B4", "B4").fault(), None);
    }

    #[test]
    fn misses_are_told_in_a_line() {
        let claim = Claim::number("throughput", 15.6, 21.4);
        let line = "throughput: 15.6 here, 21.4 in the paper (-27.1 %; 10 % allowed)";
        assert_eq!(claim.to_string(), line);
        let line = "cut: B4 here, B4-s4 in the paper";
        assert_eq!(Claim::choice("cut", "B4", "B4-s4").to_string(), line);
        let line = "x: 5.09 here, 4.58 to 4.98 in the paper (+2.2 %; the paper states 1.8 %)";
        assert_eq!(Claim::range("x", 5.09, [4.58, 4.98]).within(ClaimTolerance::Stated(0.018)).to_string(), line);
        let line = "gap: 0.05 here, 0 to 0.02 expected (+150.0 %; no difference allowed)";
        let gap = Claim::range("gap", 0.05, [0.0, 0.02]).within(ClaimTolerance::Exact).only(Evidence::NotInThePaper);
        assert_eq!(gap.to_string(), line);
        assert_eq!([0.000_005_1, 1234.5, 12_345_678.0, 0.0].map(shown), ["5.100e-6", "1234", "12345678", "0"]);
    }
}
