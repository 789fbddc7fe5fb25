//! Teams: several processors that work on one frame together.

pub(crate) mod context;
pub(crate) mod effort;
pub(crate) mod experience;
mod least_times;
mod load_bound;
mod longest_path;
pub(crate) mod passages;
mod power;
pub(crate) mod progress;
pub(crate) mod regions;
pub(crate) mod solutions;
pub(crate) mod space;
mod subgraph_range;
pub(crate) mod team;
pub(crate) mod team_bounds;
mod team_costs;
pub(crate) mod team_way;
pub(crate) mod tiles;
pub(crate) mod windows;
pub(crate) mod work;
