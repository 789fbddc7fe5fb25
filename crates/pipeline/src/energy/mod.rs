//! The front of period, latency and energy.

pub(crate) mod energy_front;
mod energy_search;
