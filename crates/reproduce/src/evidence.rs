//! What agreement with a paper would mean, and how far a number may be from the printed one.

use std::fmt;

/// How far ours may be from a printed number for which the paper states no error and no rounding: the same for all
/// papers.
pub const GENERAL_TOLERANCE: f64 = 0.1;

/// What agreement with a paper would say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Evidence {
    /// The paper prints it, and ours comes from an algorithm or a model that does not know the printed number. Only
    /// this can fail, and only this is counted.
    Compared,
    /// The printed number is among those that ours is calibrated to.
    Input,
    /// Ours beside ours: a fit beside the lines that its samples are from, one search beside another.
    SelfConsistency,
    /// It can't be otherwise: what was made in the printed size has the printed size.
    ByDefinition,
    /// The paper has no such number; the limit is ours.
    NotInThePaper,
}

impl Evidence {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Compared => "compared with the paper",
            Self::Input => "input of the calibration",
            Self::SelfConsistency => "ours beside ours",
            Self::ByDefinition => "true by definition",
            Self::NotInThePaper => "not in the paper",
        }
    }
}

/// How far a number of ours may be from the printed one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ClaimTolerance {
    /// Not at all: counts, choices, and searches that are said to find the best there is.
    Exact,
    /// Half a unit of the last digit that is printed.
    Rounding(f64),
    /// An error that the paper states of the number itself, or of the model that both come from; relative.
    Stated(f64),
    /// [`GENERAL_TOLERANCE`], relative.
    General,
}

impl ClaimTolerance {
    /// The allowance around a printed number.
    pub(crate) fn around(self, printed: f64) -> f64 {
        match self {
            // What a sum of floating-point numbers may be off.
            Self::Exact => 1e-12 * printed.abs(),
            Self::Rounding(half) => half * (1.0 + 1e-9),
            Self::Stated(relative) => relative * printed.abs(),
            Self::General => GENERAL_TOLERANCE * printed.abs(),
        }
    }
}

impl fmt::Display for ClaimTolerance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => formatter.write_str("no difference allowed"),
            Self::Rounding(half) => write!(formatter, "printed to within {half}"),
            Self::Stated(relative) => write!(formatter, "the paper states {:.1} %", 100.0 * relative),
            Self::General => write!(formatter, "{:.0} % allowed", 100.0 * GENERAL_TOLERANCE),
        }
    }
}
