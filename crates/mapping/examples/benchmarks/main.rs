//! Maps problems of a JSON file that `cargo xtask bench-mapper` makes, and graphs like PETR's, and writes tables in
//! Markdown.
//!
//! Job shops come with what is known of their optimum, task graphs with the orders that other schedulers found;
//! makespans of all are computed here, by the same rules.

#![allow(clippy::print_stderr, reason = "a program that takes minutes says how far it is")]

mod attention;
mod table;

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Instant;

use millstream_cost::Nanoseconds;
use millstream_mapping::{BoundedMapper, Edge, Mapper, MapperLimits, MappingProblem, TaskId};
use serde::Deserialize;

/// How many times the steps of other problems graphs like PETR's get: worth about a minute for each.
const MORE_STEPS: u64 = 30;

/// The file.
#[derive(Deserialize)]
struct Problems {
    schedulers: Vec<String>,
    problems: Vec<Problem>,
}

#[derive(Deserialize)]
struct Problem {
    name: String,
    group: String,
    times: Vec<Vec<Option<u64>>>,
    edges: Vec<(usize, usize, Transfers)>,
    /// Bounds on the optimum that are known.
    lower: Option<u64>,
    upper: Option<u64>,
    /// Orders of others.
    #[serde(default)]
    schedules: BTreeMap<String, Vec<Vec<usize>>>,
}

/// Between any two processors the same, or row per sending processor.
#[derive(Deserialize)]
#[serde(untagged)]
enum Transfers {
    Same(u64),
    Each(Vec<Vec<u64>>),
}

/// A problem with what came out.
struct Measured {
    name: String,
    group: String,
    nodes: usize,
    makespan: u64,
    bound: u64,
    /// What is known of the optimum.
    lower: Option<u64>,
    upper: Option<u64>,
    /// Makespans of others.
    others: BTreeMap<String, u64>,
    seconds: f64,
}

impl Measured {
    fn is_optimal(&self) -> bool {
        self.makespan == self.bound
    }

    fn gap(&self) -> f64 {
        self.makespan as f64 / self.bound.max(1) as f64 - 1.0
    }

    fn best_of_others(&self) -> Option<u64> {
        self.others.values().min().copied()
    }
}

impl Problem {
    fn mapping_problem(&self) -> Result<MappingProblem, Box<dyn Error>> {
        let names = (0..self.times.len()).map(|node| format!("{} {node}", self.name)).collect();
        let processors = self.times.first().map_or(0, Vec::len);
        let edge = |(from, to, transfers): &(usize, usize, Transfers)| {
            let transfers = match transfers {
                Transfers::Same(time) => vec![vec![Nanoseconds(*time); processors]; processors],
                Transfers::Each(rows) => {
                    rows.iter().map(|row| row.iter().copied().map(Nanoseconds).collect()).collect()
                }
            };
            Edge::new(TaskId::new(*from), TaskId::new(*to), transfers)
        };
        let row = |times: &Vec<Option<u64>>| times.iter().map(|time| time.map(Nanoseconds)).collect();
        let times = self.times.iter().map(row).collect();
        Ok(MappingProblem::new(names, times, self.edges.iter().map(edge).collect())?)
    }

    fn measure(&self, steps: u64) -> Result<Measured, Box<dyn Error>> {
        let problem = self.mapping_problem()?;
        let begin = Instant::now();
        let mapping = BoundedMapper.map(&problem, &MapperLimits { steps, ..MapperLimits::default() })?;
        let seconds = begin.elapsed().as_secs_f64();
        let (makespan, bound) = (mapping.makespan.0, mapping.lower_bound.0);
        // Either would be a fault of ours.
        if self.upper.is_some_and(|upper| bound > upper) {
            return Err(format!("{}: the bound {bound} is above a makespan that is known", self.name).into());
        }
        if self.lower.is_some_and(|lower| makespan < lower) {
            return Err(format!("{}: the makespan {makespan} is below a bound that is known", self.name).into());
        }
        let other = |(name, order): (&String, &Vec<Vec<usize>>)| {
            let nodes = |numbers: &Vec<usize>| numbers.iter().copied().map(TaskId::new).collect();
            let order: Vec<Vec<TaskId>> = order.iter().map(nodes).collect();
            Some((name.clone(), problem.makespan(&order)?.0))
        };
        Ok(Measured {
            name: self.name.clone(),
            group: self.group.clone(),
            nodes: problem.len(),
            makespan,
            bound,
            lower: self.lower,
            upper: self.upper,
            others: self.schedules.iter().filter_map(other).collect(),
            seconds,
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, steps, most_graphs, table, commit, command] = arguments.as_slice() else {
        return Err(
            "usage: benchmarks FILE STEPS GRAPHS TABLE COMMIT COMMAND; cargo xtask bench-mapper calls it".into()
        );
    };
    let Problems { schedulers, problems } = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    let steps: u64 = steps.parse()?;
    let mut measured = Vec::new();
    for problem in &problems {
        let one = problem.measure(steps)?;
        eprintln!("{}: {} nodes, {} (bound {}), {:.1} s", one.name, one.nodes, one.makespan, one.bound, one.seconds);
        measured.push(one);
    }
    let source = table::Source { commit, command, steps, steps_of_graphs: steps * MORE_STEPS };
    let graphs = attention::measure(steps * MORE_STEPS, most_graphs.parse()?)?;
    std::fs::write(table, table::page(&measured, &graphs, &schedulers, &source))?;
    Ok(())
}
