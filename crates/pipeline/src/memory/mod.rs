//! Plans that fit into the memory that a board's processors share.

pub(crate) mod fitting;
pub(crate) mod least_memory;
