//! Mappings with which searches begin.

use crate::MappingProblem;
use crate::cpop::Cpop;
use crate::found::Found;
use crate::heft::Heft;
use crate::layer_switched::LayerSwitched;
use crate::mapping::{Mapper, MapperLimits};
use crate::single::SingleProcessor;

/// The simple methods.
pub(crate) const LISTS: &[&dyn Mapper] = &[&Heft, &Cpop, &LayerSwitched, &SingleProcessor];

/// The best of what some methods find.
pub(crate) fn best_of(mappers: &[&dyn Mapper], problem: &MappingProblem, limits: &MapperLimits<'_>) -> Option<Found> {
    // A single processor need not support everything.
    let mappings = mappers.iter().filter_map(|mapper| mapper.map(problem, limits).ok());
    let best = mappings.min_by_key(|mapping| mapping.makespan)?;
    Some(Found { makespan: best.makespan.0, order: best.order })
}
