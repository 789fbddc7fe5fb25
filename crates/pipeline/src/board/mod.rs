//! A board as searches see it: clusters, numbers of their cores, kinds of senders, and what processors draw.

pub(crate) mod cluster_id;
pub(crate) mod cluster_set;
pub(crate) mod core_sets;
pub(crate) mod cores;
pub(crate) mod memory_limits;
pub(crate) mod processors;
pub(crate) mod senders;
pub(crate) mod stage_power;
pub(crate) mod units;
