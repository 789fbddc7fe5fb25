//! The options of each stage: the sets of replicas that searches choose from.

pub(crate) mod allocations;
pub(crate) mod energy_allocations;
pub(crate) mod options_within;
pub(crate) mod stage_options;
pub(crate) mod useful_ways;
pub(crate) mod ways_by_cores;
