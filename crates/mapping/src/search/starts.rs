//! Mappings with which searches begin.

use crate::mapper::Mapper;
use crate::mapper::limits::MapperLimits;
use crate::problem::MappingProblem;
use crate::published::cpop::Cpop;
use crate::published::heft::Heft;
use crate::published::layer_switched::LayerSwitched;
use crate::published::single::SingleProcessor;
use crate::search::incumbent::Incumbent;

/// The simple methods.
pub(crate) const LISTS: &[&dyn Mapper] = &[&Heft, &Cpop, &LayerSwitched, &SingleProcessor];

/// The best of what some methods find.
pub(crate) fn best_of(
    mappers: &[&dyn Mapper],
    problem: &MappingProblem,
    limits: &MapperLimits<'_>,
) -> Option<Incumbent> {
    // A single processor need not support everything.
    let mappings = mappers.iter().filter_map(|mapper| mapper.map(problem, limits).ok());
    let best = mappings.min_by_key(|mapping| mapping.makespan)?;
    Some(Incumbent { makespan: best.makespan, order: best.order })
}
