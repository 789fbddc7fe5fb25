//! The front of period and latency.

mod front_search;
pub(crate) mod latency_period;
mod latency_remainders;
mod needed_cores;
pub(crate) mod pareto_front;
pub(crate) mod raised_remainders;
mod stages_within;
