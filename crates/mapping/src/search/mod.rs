//! Mappings to begin with, and searches that make them better by small changes.

pub(crate) mod annealing;
pub(crate) mod incumbent;
pub(crate) mod local_search;
pub(crate) mod processor_orders;
pub(crate) mod starts;
pub(crate) mod state;
pub(crate) mod tabu;
