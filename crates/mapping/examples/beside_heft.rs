//! A small task graph on two unlike processors: our mapper with its bound beside two published list schedulers.

use std::error::Error;
use std::io::Write;

use millstream_cost::Nanoseconds;
use millstream_mapping::{BoundedMapper, Cpop, Edge, Heft, Mapper, MapperLimits, MappingProblem, TaskId};

fn main() -> Result<(), Box<dyn Error>> {
    show(&mut std::io::stdout())
}

/// Writes what each mapper makes of the graph.
pub(crate) fn show(output: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let names = ["camera", "lidar", "detect", "segment", "fuse", "plan"];
    // Nanoseconds on a processor that is good at vision, and on one that is good at the rest.
    let times = [[4, 6], [5, 3], [9, 30], [12, 24], [8, 5], [6, 4]];
    let transfer = [[0, 3], [3, 0]].map(|row| row.map(Nanoseconds).to_vec()).to_vec();
    let edges = [(0, 2), (0, 3), (1, 4), (2, 4), (3, 4), (4, 5)];
    let problem = MappingProblem::new(
        names.map(str::to_owned).to_vec(),
        times.map(|times| times.map(|time| Some(Nanoseconds(time))).to_vec()).to_vec(),
        edges.iter().map(|&(from, to)| Edge::new(TaskId::new(from), TaskId::new(to), transfer.clone())).collect(),
    )?;

    let mappers: [(&str, &dyn Mapper); 3] = [("HEFT", &Heft), ("CPOP", &Cpop), ("bounded", &BoundedMapper)];
    for (name, mapper) in mappers {
        let mapping = mapper.map(&problem, &MapperLimits::default())?;
        let (makespan, bound) = (mapping.makespan.0, mapping.lower_bound.0);
        writeln!(output, "{name}: done after {makespan} ns; no mapping takes less than {bound} ns")?;
        for (processor, tasks) in mapping.order.iter().enumerate() {
            let tasks: Vec<&str> = tasks.iter().map(|&task| problem.name(task)).collect();
            writeln!(output, "  processor {processor}: {}", tasks.join(", "))?;
        }
    }
    Ok(())
}
