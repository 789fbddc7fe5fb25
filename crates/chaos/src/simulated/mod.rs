//! Everything that needs an engine whose threads and time are simulated.

pub(crate) mod arguments;
mod backend;
mod callers;
mod chaos;
mod expectation;
mod faults;
mod interleavings;
mod lock;
mod network;
mod record;
mod scenario;
mod schedules;
mod simulation;
mod verdict;
