//! What searches may choose from, and what they count.

use crate::teams::progress::ProgressCallback;
use crate::teams::team_way::TeamTimeKind;

/// What searches may choose from, what they count, and where they report progress.
#[derive(Debug, Clone)]
pub(crate) struct SearchSettings {
    /// Whether a stage may have several replicas.
    pub(crate) has_replicas: bool,
    /// Which times of teams' stages count.
    pub(crate) team_time_kind: TeamTimeKind,
    /// Whether the points of a front may be half a percent apart: teams are not evaluated for less.
    pub(crate) has_wide_steps: bool,
    /// Told how far searches with teams are.
    pub(crate) progress: Option<ProgressCallback>,
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self { has_replicas: true, team_time_kind: TeamTimeKind::Found, has_wide_steps: false, progress: None }
    }
}
