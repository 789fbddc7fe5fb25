//! Boards, graphs and cost tables in one line, for tests of other crates, and [`not_tested()`] for what can't be tested
//! everywhere.
//!
//! ```
//! use millstream_graph::OperatorId;
//! use millstream_test_support::{board, chain, diamond, uniform_table};
//!
//! // Two big cores, two small ones, and a GPU.
//! let board = board("B2+s2+G");
//! assert_eq!(board.clusters()[1].cores[0].id.0, 2);
//!
//! // Nanoseconds of an operator on a core of each cluster, and on the accelerator.
//! let graph = diamond();
//! let table = uniform_table(&graph, &board, [10, 20, 5]);
//! let gpu = table.class_ids().last().ok_or("no GPU")?;
//! assert_eq!(table.time(gpu, OperatorId::new(0)).map(|time| time.0), Some(5));
//!
//! assert_eq!(chain(12).operators().len(), 12);
//! # Ok::<(), &str>(())
//! ```
//!
//! # Invariants
//! - Only tests, benchmarks and examples depend on it; it is never published.
//! - What can't be read is a mistake in a test: it panics, and says what was expected.
//! - Unit tests of `graph`, `board` and `cost` can't use it: there, the types would be those of another build of the
//!   same crate. Their integration tests can.

#![allow(clippy::panic, reason = "a test that can't be set up fails by panicking")]

mod attention;
mod boards;
mod graphs;
mod huge_pages;
mod tables;
mod untested;

pub use attention::{attention, attention_copying, attention_returning};
pub use boards::board;
pub use graphs::{chain, chain_of, diamond, find_operators, graph, pointwise};
pub use huge_pages::{bytes_in_huge_pages, refused_huge_pages, were_refused_since};
pub use tables::{connect, table, uniform_table};
pub use untested::{UNTESTED, not_tested};
