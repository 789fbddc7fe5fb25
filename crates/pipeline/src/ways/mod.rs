//! Ways to run a stage, by their numbers, and what replicas on them give.

pub(crate) mod multisets;
pub(crate) mod prefixes;
pub(crate) mod replica_link;
pub(crate) mod stage_blocks;
pub(crate) mod stage_option;
pub(crate) mod timed_way;
pub(crate) mod way;
