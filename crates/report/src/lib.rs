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
//! Invariants: everything here is made from data alone, and nothing is printed; only traces, which grow while frames
//! flow, are written, to whatever takes bytes.

mod algorithms;
mod align;
mod bars;
mod board;
mod bound;
mod core_tracks;
mod counted;
mod counts;
mod decision;
mod difference;
mod drawing;
mod duration;
mod energy;
mod facts;
mod fitting;
mod page;
mod parting;
mod plan;
mod plot;
mod report_page;
mod set_table;
mod simulated_bars;
mod simulation_trace;
mod splits;
mod stages;
mod style;
mod table;
mod trace;
mod wrapped;

pub use algorithms::{AlgorithmOutcome, AlgorithmRow, algorithm_table, algorithm_tables};
pub use align::Align;
pub use bars::BarChart;
pub use board::board_table;
pub use bound::bound_text;
pub use core_tracks::CoreTracks;
pub use counted::counted;
pub use counts::QueueCounts;
pub use decision::{decision_facts, expectation};
pub use difference::{beside, in_words, percent, rate_beside, than_expected, than_predicted};
pub use drawing::{
    ContestBar, Course, Drawing, GanttBar, contest_drawing, course_drawing, front_drawing, gantt_drawing,
    network_drawing,
};
pub use duration::{milliseconds, rate};
pub use energy::joules;
pub use facts::{Fact, Tone};
pub use page::{Article, Chapter, Page};
pub use plan::{FrontRow, chosen_row, front_table};
pub use plot::{Axis, Marks, Plot, PlotError, Series};
pub use report_page::{Number, Part, ReportChapter, ReportPage, ReportSection};
pub use set_table::set_table;
pub use simulated_bars::{processor_lane, processor_lanes, simulated_bars};
pub use simulation_trace::simulation_trace;
pub use splits::split_table;
pub use stages::{MeasuredStage, StageRow, measured_table, stage_rows, stage_table};
pub use table::Table;
pub use trace::{FlowStep, TraceEvent, TraceTrack, TraceWriter, chrome_trace};
pub use wrapped::prose;
