//! What changes the state: each file is one process, which is told of the events that concern it.
//!
//! The dispatcher gives frames to replicas, with the host sender's help where the next stage is on another host; the
//! operator runner takes them through a replica's operators. Speeds of operators follow clocks and the memory's
//! bandwidth, clocks follow temperatures (throttling), and the fault injector slows down, takes away and gives back
//! what a schedule needs.

pub(crate) mod dispatcher;
pub(crate) mod fault_injector;
pub(crate) mod host_sender;
pub(crate) mod installation;
pub(crate) mod operator_runner;
pub(crate) mod operator_speeds;
pub(crate) mod throttling;
