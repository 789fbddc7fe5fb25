//! The state of a simulation at a moment: each file keeps the invariants of one part of it, and knows nothing of the
//! processes that change it.
//! Times are from the start of the simulation on.

pub(crate) mod board;
pub(crate) mod cluster;
pub(crate) mod crossing;
pub(crate) mod events;
pub(crate) mod ids;
pub(crate) mod link_occupancy;
pub(crate) mod noise;
pub(crate) mod numbered;
pub(crate) mod processor;
pub(crate) mod replica;
pub(crate) mod streams;
pub(crate) mod temperature;
