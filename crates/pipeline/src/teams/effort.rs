//! How much work searches put into teams.

use crate::error::PipelineError;

/// How much work a search puts into teams, in terms of the usual: 2 is about twice the time. It changes how long single
/// mappings are improved, and how early a search gives up a team that does not look promising.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Effort(f64);

impl Effort {
    /// The usual one.
    pub const USUAL: Self = Self(1.0);

    /// # Errors
    /// [`PipelineError::Effort`] if it is not a number above zero.
    pub fn new(effort: f64) -> Result<Self, PipelineError> {
        if effort.is_finite() && effort > 0.0 { Ok(Self(effort)) } else { Err(PipelineError::Effort { effort }) }
    }

    /// In terms of the usual one.
    pub(crate) fn factor(self) -> f64 {
        self.0
    }

    /// So many steps of the usual effort.
    pub(crate) fn steps(self, usual: u64) -> u64 {
        (usual as f64 * self.0) as u64
    }

    /// The part of all teams that is expected to come closer to its bound than any other.
    pub(crate) fn quantile(self) -> f64 {
        (USUAL_QUANTILE / self.0).min(1.0)
    }
}

/// See [`Effort::quantile`].
const USUAL_QUANTILE: f64 = 0.25;
