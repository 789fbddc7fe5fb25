//! Integer programs, and bounds from them: all that needs the solver HiGHS.

mod coarse;
mod columns;
mod fine;
mod load_rows;
mod relaxation;
mod rows;
mod solver;

pub use coarse::CoarseIlp;
pub use fine::FineIlp;
pub(crate) use relaxation::bound;

use crate::mapper::Mapper;

/// Programs whose mappings are worth starting a search from.
pub(crate) const STARTS: &[&dyn Mapper] = &[&CoarseIlp];
