//! What people read: terminal tables, plots and traces.
//!
//! ```
//! use millstream_report::{Align, Table};
//!
//! let mut table = Table::new([("network", Align::Left), ("frames/s", Align::Right)]);
//! table.row(["squeezenet".to_owned(), "198.4".to_owned()]);
//! assert!(table.to_string().contains("squeezenet"));
//! ```
//!
//! Invariants: everything here is a pure function from data to text; nothing is printed or written.

mod algorithms;
mod bars;
mod board;
mod bound;
mod duration;
mod page;
mod plan;
mod plot;
mod set_table;
mod simulation_trace;
mod splits;
mod stages;
mod table;
mod trace;

pub use algorithms::{AlgorithmOutcome, AlgorithmRow, algorithm_tables};
pub use bars::BarChart;
pub use board::board_table;
pub use bound::{Searched, bound_text};
pub use duration::{milliseconds, percent, rate};
pub use page::{Article, Chapter, Page};
pub use plan::{FrontRow, front_table};
pub use plot::{Axis, Marks, Plot, PlotError, Series};
pub use set_table::set_table;
pub use simulation_trace::simulation_trace;
pub use splits::split_table;
pub use stages::{MeasuredStage, StageRow, stage_rows, stage_table};
pub use table::{Align, Table};
pub use trace::{TraceEvent, TraceWriter, chrome_trace};
