//! Threads, locks, channels and the clock, as all of this crate uses them: in one place, so that a model that decides
//! about the order of everything can stand in for them (`--cfg millstream_shuttle`).

#[cfg(millstream_shuttle)]
pub(crate) mod model;
#[cfg(not(millstream_shuttle))]
mod queue;
#[cfg(not(millstream_shuttle))]
mod real;

#[cfg(millstream_shuttle)]
pub(crate) use model::facade::*;
#[cfg(not(millstream_shuttle))]
pub(crate) use real::*;
pub(crate) use std::sync::atomic::Ordering;
