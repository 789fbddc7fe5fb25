//! One module per command.

pub(crate) mod board;
pub(crate) mod compare;
pub(crate) mod profile;
pub(crate) mod run;
pub(crate) mod schedule;
pub(crate) mod schemas;
