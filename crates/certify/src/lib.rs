//! Certificates: what is proven of a schedule, in a form that a stranger can check.
//!
//! A [`Certificate`] has a bound on the period of *all* schedules on a board by given costs, with the dual solution that proves it, and the
//! shortest period of pipelines of contiguous stages on single processors or replicas of them, with what can be reached below it. [`check()`]
//! works all of it out again. It shares nothing with the searches but documents, the chain of blocks and the rules of execution.
//!
//! ```
//! use millstream_certify::{CertifyError, PartsPerBillion, ThroughputProof, check_throughput};
//! use millstream_board::Board;
//! use millstream_cost::{CostTable, Nanoseconds};
//!
//! let model = millstream_zoo::build("squeezenet")?;
//! let board = Board::from_json(r#"{"format": "millstream-board", "version": 1, "name": "two cores",
//!     "clusters": [{"label": "B", "capacity": 1024, "cores": [{"id": 0}, {"id": 1}]}]}"#)?;
//! let graph = model.graph();
//! let mut table = CostTable::new(graph.operators().len(), board.processor_classes());
//! for processor in table.processors() {
//!     // Two cores are no faster than one.
//!     (0..graph.operators().len()).for_each(|operator| table.set_time(processor, operator, Nanoseconds(1000)));
//! }
//! // All worth is in the only cluster: a frame takes a microsecond for each operator, on two cores.
//! let parts = PartsPerBillion { label: "B".into(), parts: 1_000_000_000 };
//! let least = 500 * graph.operators().len() as u64;
//! let proof = |period_nanoseconds| ThroughputProof { period_nanoseconds, shares: vec![parts.clone()] };
//! let rounded = 2 * least - check_throughput(&proof(0), graph, &board, &table).map_or_else(
//!     |error| match error { CertifyError::Number { found, .. } => 2 * least - found as u64, _ => 0 }, |()| 0);
//! assert!(check_throughput(&proof(rounded), graph, &board, &table).is_ok());
//! assert!(check_throughput(&proof(rounded + 1), graph, &board, &table).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod certificate;
mod check;
mod error;
mod single;
mod stage_rates;
mod throughput;

pub use certificate::{
    CERTIFICATE_FORMAT, CERTIFICATE_VERSION, Certificate, PartsPerBillion, ReachedState, SingleProcessorProof,
    ThroughputProof,
};
pub use check::check;
pub use error::CertifyError;
pub use single::check_single_processors;
pub use throughput::check_throughput;
