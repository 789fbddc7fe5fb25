//! The file forms of schedules: of one network, of several sizes of it, and of several networks that share a board.

pub(crate) mod prediction;
pub(crate) mod schedule;
pub(crate) mod searched_space;
pub(crate) mod set;
pub(crate) mod sizes;
pub(crate) mod stages;
