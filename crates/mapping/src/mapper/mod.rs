//! What every mapping algorithm offers.

pub(crate) mod budget;
pub(crate) mod limits;
pub(crate) mod mapping;
pub(crate) mod outcome;

use crate::error::MappingError;
use crate::mapper::limits::MapperLimits;
use crate::mapper::mapping::Mapping;
use crate::problem::MappingProblem;

/// An algorithm that gives every operator of a subgraph a processor and a place in its order.
pub trait Mapper {
    /// A short name for tables.
    fn name(&self) -> &'static str;

    /// Maps a problem.
    ///
    /// # Errors
    /// [`MappingError::Unsupported`] if the mapper's kind of mapping can't run a node, [`MappingError::Solver`] if a
    /// solver fails.
    fn map(&self, problem: &MappingProblem, limits: &MapperLimits<'_>) -> Result<Mapping, MappingError>;
}
