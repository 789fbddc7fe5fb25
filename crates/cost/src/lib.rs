//! What running a network costs: the table that every search and every evaluation reads.
//!
//! A [`CostTable`] says for each operator and each class of processors how long it takes in [`Nanoseconds`], what
//! moving values between processors costs, and what power processors draw. It says nothing of where the numbers come
//! from: the crate `millstream-predict` fills tables from profiles, fitted models and published ones, and anybody may
//! fill one by hand.
//!
//! ```
//! use millstream_board::ProcessorClass;
//! use millstream_cost::{CostTable, HandOver, Nanoseconds};
//! use millstream_graph::OperatorId;
//!
//! let class = ProcessorClass::new("B", 1);
//! let mut table = CostTable::new(2, [class.clone()]);
//! let processor = table.find(&class).expect("just added");
//! let [first, second] = [0, 1].map(OperatorId::new);
//! table.set_time(processor, first, Nanoseconds::from_seconds(0.001));
//! table.set_hand_over(processor, HandOver { seconds: 1e-5, seconds_per_byte: 1e-10 });
//! assert_eq!(table.time(processor, first), Some(Nanoseconds(1_000_000)));
//! assert_eq!(table.time(processor, second), None, "not supported there");
//! assert_eq!(table.hand_over(processor, processor, 100_000), Nanoseconds(20_000));
//! ```
//!
//! Costs of several boards with links between them are one table as well ([`CostTable::of_hosts`]).
//!
//! Invariants: this crate does no I/O and knows no models; all times in a [`CostTable`] are whole nanoseconds, so that
//! sums are exact in any order.

mod clocks;
mod cost_entry;
mod crossing;
mod derived;
mod frame_cost;
mod hand_over;
mod hosts;
mod memory;
mod memory_limit;
mod moves;
mod nanoseconds;
mod part_cost;
mod parts;
mod power;
mod row_cost;
mod same_device;
mod table;
mod tiles;
mod transfer;

pub use clocks::{Clocks, clock_combinations};
pub use cost_entry::{CostEntry, Origin};
pub use crossing::{HostCrossing, LaneId};
pub use derived::DerivedClass;
pub use frame_cost::FrameCost;
pub use hand_over::{HandOver, LinkCost, MemoryAccess};
pub use memory_limit::bytes_of_part;
pub use nanoseconds::Nanoseconds;
pub use part_cost::PartCost;
pub use parts::PartTimes;
pub use power::{PowerOrigin, ProcessorPower};
pub use row_cost::{RowCost, TilePlace};
pub use same_device::keep_one_driver_of_each_device;
pub use table::{ClassId, CostTable};
pub use tiles::TileCost;
pub use transfer::{BlockedEnd, TransferModel};
