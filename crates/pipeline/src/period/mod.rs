//! The shortest period without regard to memory: the search for it, and bounds that no period goes below.

pub(crate) mod period_bound;
pub(crate) mod period_search;
pub(crate) mod placement;
pub(crate) mod reachable_states;
pub(crate) mod single_rates;
pub(crate) mod stage_periods;
pub(crate) mod throughput_bound;
