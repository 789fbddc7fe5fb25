//! Identities of an engine's schedules.

/// Tells the schedules of an engine apart: counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GenerationId(pub(crate) u64);
