//! Task graphs like PETR's decoder, of several sizes and ratios of transfers to work, beside annealing alone.

#[path = "../../tests/families/mod.rs"]
mod families;

use std::error::Error;

use millstream_mapping::{Annealing, BoundedMapper, Mapper, MapperLimits};

/// A graph with what came out.
pub(crate) struct MeasuredGraph {
    pub(crate) name: String,
    pub(crate) nodes: usize,
    pub(crate) makespan: u64,
    pub(crate) bound: u64,
    /// The makespan of annealing alone with as many steps.
    pub(crate) annealed: u64,
}

/// Maps the first of those graphs whose transfers occupy no processor; `cargo bench --bench families` has the others.
pub(crate) fn measure(steps: u64, most: usize) -> Result<Vec<MeasuredGraph>, Box<dyn Error>> {
    let limits = MapperLimits { steps, ..MapperLimits::default() };
    let mut measured = Vec::new();
    for (name, problem) in families::instances_that_occupy(None).into_iter().take(most) {
        let (ours, alone) = (BoundedMapper.map(&problem, &limits)?, Annealing.map(&problem, &limits)?);
        eprintln!("{name}: {} nodes, {} (bound {})", problem.len(), ours.makespan, ours.lower_bound);
        measured.push(MeasuredGraph {
            name,
            nodes: problem.len(),
            makespan: ours.makespan.0,
            bound: ours.lower_bound.0,
            annealed: alone.makespan.0,
        });
    }
    Ok(measured)
}
