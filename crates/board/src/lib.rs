//! What the hardware is: clusters of CPU cores, accelerators, links, memory, heat and power; and systems of several
//! boards.
//!
//! [`Board::from_json`] reads a file: what detection can't find out about a machine, or a board that is somewhere else.
//! The crate `millstream-machine` describes the computer at hand.
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
//! A [`System`] is several such boards, its hosts, with links between them; [`System::board`] is all of it as one
//! board, whose clusters are called `host/label`.
//!
//! Invariants: a [`Board`] has at least one core, no core belongs to two clusters, and clusters are sorted from the
//! fastest to the slowest; accelerators and clusters have different labels. Everything here is data: nothing looks at
//! the computer at hand or runs anything.

mod accelerator;
mod asked_engines;
mod board;
mod board_engines;
mod cluster;
mod core_id;
mod document;
mod engine;
mod engine_label;
mod engine_text;
mod error;
mod fingerprint;
mod label;
mod processor;
mod provenance;
mod provider;
mod reading;
mod slowdown;
mod system;
mod system_document;
mod transfer_precision;

pub use accelerator::{Accelerator, AcceleratorKind, BlockedEnd, Link};
pub use asked_engines::AskedEngines;
pub use board::{Board, Engines, Memory};
pub use cluster::{Cache, Cluster, Core, OperatingPoint, PowerCoefficients, Thermal};
pub use core_id::CoreId;
pub use document::{BOARD_FORMAT, BOARD_VERSION, BoardDocument};
pub use engine::{EngineName, EngineSet, ReducedPrecision};
pub use engine_label::EngineLabel;
pub use error::BoardError;
pub use processor::{Processor, ProcessorClass};
pub use provenance::Provenance;
pub use provider::{Provider, ProviderName};
pub use reading::{Document, DocumentError, is_document, read_document};
pub use system::{Host, HostLink, System, host_of, label_in};
pub use system_document::{
    BoardSource, Duplex, HostDocument, HostLinkDocument, SYSTEM_FORMAT, SYSTEM_VERSION, SystemDocument,
};
pub use transfer_precision::TransferPrecision;
