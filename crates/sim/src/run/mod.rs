//! A simulation from its start to what it showed.

pub(crate) mod entry_points;
pub(crate) mod event_loop;
pub(crate) mod report;
pub(crate) mod steady_state;
