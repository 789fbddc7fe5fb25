//! What the hardware is: clusters of CPU cores, their speeds and caches.
//!
//! [`Board::detect`] reads the machine at hand, [`detect_at`] any recorded sysfs tree, and [`Board::from_json`] a file
//! that says what detection can't find out or that describes a board somewhere else.
//!
//! ```
//! use millstream_board::{Board, Processor};
//!
//! let text = r#"{
//!     "format": "millstream-board", "version": 1, "name": "example",
//!     "clusters": [
//!         {"label": "B", "capacity": 1024, "cores": [{"id": 0}, {"id": 1}]},
//!         {"label": "s", "capacity": 400, "cores": [{"id": 2}, {"id": 3}]}
//!     ]
//! }"#;
//! let board = Board::from_json(text)?;
//! let pair = Processor::new("B", [0, 1]);
//! board.check(&pair)?;
//! assert_eq!(pair.to_string(), "B2");
//! assert!(board.check(&Processor::new("s", [7])).is_err());
//! # Ok::<(), millstream_board::BoardError>(())
//! ```
//!
//! Invariants: a [`Board`] has at least one core, no core belongs to two clusters, and clusters are sorted from the fastest
//! to the slowest; accelerators and clusters have different labels. Nothing here measures speed or runs anything.

mod accelerator;
mod affinity;
mod board;
mod core_watch;
mod cpu_list;
mod detect;
mod document;
mod error;
mod label;
mod processor;
mod slowdown;

pub use accelerator::{Accelerator, AcceleratorKind, BlockedEnd, Link};
pub use affinity::{prefer_short_slices, usable_cores};
pub use board::{Board, Cache, Cluster, Core, CoreId, Memory, OperatingPoint, PowerCoefficients, Thermal};
pub use core_watch::{CoreLoad, CoreWatch};
pub use cpu_list::parse_cpu_list;
pub use detect::detect_at;
pub use document::{BOARD_FORMAT, BOARD_VERSION, BoardDocument};
pub use error::BoardError;
pub use processor::{Processor, ProcessorClass};
