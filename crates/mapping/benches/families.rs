//! The default mapper on families of task graphs, at a budget worth a minute: makespan, bound and gap, beside what
//! annealing finds alone with the same budget.
//! `cargo bench -p millstream-mapping --bench families -- [seconds' worth of steps] [part of a name]`

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints a table")]

#[path = "../tests/families/mod.rs"]
mod families;

use std::time::Instant;

use millstream_mapping::{Annealing, BoundedMapper, Mapper, MapperLimits, MappingProblem, STEPS_PER_SECOND};

/// Seconds' worth of steps for each problem.
const SECONDS: u64 = 60;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    // `cargo test` runs benchmarks as well, only to see that they start.
    if arguments.iter().any(|argument| argument == "--test") {
        return;
    }
    let seconds = arguments.first().and_then(|argument| argument.parse().ok()).unwrap_or(SECONDS);
    let wanted = arguments.get(1).cloned().unwrap_or_default();
    println!("| problem | nodes | makespan | bound | gap | outcome | steps / 1e6 | s | annealing alone |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for (name, problem) in families::instances().into_iter().filter(|(name, _)| name.contains(&wanted)) {
        row(&name, &problem, seconds);
    }
}

fn row(name: &str, problem: &MappingProblem, seconds: u64) {
    let limits = MapperLimits { steps: seconds * STEPS_PER_SECOND, ..MapperLimits::default() };
    let begin = Instant::now();
    let ours = BoundedMapper.map(problem, &limits).unwrap();
    let taken = begin.elapsed().as_secs_f64();
    let alone = Annealing.map(problem, &limits).unwrap();
    println!(
        "| {name} | {} | {} | {} | {:.2} % | {:?} | {} | {taken:.1} | {:+.2} % |",
        problem.len(),
        ours.makespan,
        ours.lower_bound,
        100.0 * ours.gap(),
        ours.outcome,
        ours.steps / 1_000_000,
        100.0 * (alone.makespan.0 as f64 / ours.makespan.0 as f64 - 1.0),
    );
}
