//! What is simulated: the networks, and the conditions under which their frames flow.

pub(crate) mod checks;
pub(crate) mod conditions;
pub(crate) mod settings;
pub(crate) mod simulated_network;
pub(crate) mod wanted_memory;
