//! What stages take on a single processor, what parts of operators take at least, and bounds by load.

pub(crate) mod crossing_times;
pub(crate) mod dual_prices;
pub(crate) mod operator_parts;
pub(crate) mod range_table;
pub(crate) mod stage_places;
pub(crate) mod stage_times;
