//! The process of each host where Millstream runs a network over several machines.
//!
//! There is one process per host, with the runtime of that host's stages inside, and the front beside whoever has frames.
//! What they say to each other is decided in `millstream-distributed`; this crate brings it to processes: [`host`] and
//! [`front`] serve a [`transport`], which is [`dora`] between machines and [`channels`] between threads of tests. A
//! [`gateway`] leads from the front into the dataflow, which may end and begin anew without it. [`launch`] brings up the
//! coordinator and the daemons of dora-rs.
//!
//! Invariants: only [`dora`] and [`launch`] know dora-rs; hosts trust each other and the network between them.

pub mod channels;
pub mod deployment;
pub mod dora;
pub mod front;
pub mod gateway;
pub mod host;
pub mod launch;
pub mod meter;
pub mod report;
pub mod stages;
pub mod trace;
pub mod transport;
