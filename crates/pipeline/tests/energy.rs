//! Trade-offs between period, latency and energy against exhaustive enumeration on random small cases.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod random_cases;

use millstream_cost::{CostTable, Nanoseconds, PowerOrigin, ProcessorPower, clock_combinations};
use millstream_graph::Graph;
use millstream_partition::Chain;
use millstream_pipeline::{
    ClockedPlan, Constraints, Nanojoules, Objective, PipelineError, Plan, Problem, ProblemInputs, choose,
    clocked_front, energy_front,
};
use millstream_schedule::Schedule;
use millstream_test_support::{board, uniform_table};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use random_cases::{Case, cases, linked_cases, plans, supported};

/// Energies are rounded to whole nanojoules.
const ROUNDING: u64 = 2;

fn powered(table: &CostTable, power: &[(f64, f64)]) -> CostTable {
    let mut table = table.clone();
    for processor in table.class_ids() {
        let class = table.classes()[processor.index()].clone();
        let count = class.count as f64;
        // A processor's power does not depend on its engine.
        let cores = table.with_any_engine(&class.cluster, class.count).next().unwrap();
        let (idle, more) = power[cores.index() % power.len()];
        let (idle_watts, active_watts) = (count * idle, count * (idle + more));
        table.set_power(processor, ProcessorPower { active_watts, idle_watts, origin: PowerOrigin::BoardFile });
    }
    table
}

/// Times in microseconds, so that nanojoules are small beside energies.
fn longer(mut case: Case) -> Case {
    case.times.iter_mut().flatten().flatten().for_each(|time| *time *= 1000);
    case
}

fn numbers(plan: &Plan) -> [u64; 3] {
    [plan.period.0, plan.latency.0, plan.energy.unwrap().0]
}

fn is_covered(point: &[u64; 3], front: &[Plan], slack: f64) -> bool {
    let within = |value: u64, other: u64| value as f64 <= other as f64 * slack + ROUNDING as f64;
    front.iter().any(|plan| numbers(plan).iter().zip(point).all(|(&value, &other)| within(value, other)))
}

/// A tolerance costs no more than it says, under a limit on latency as well. With a large one much is left out, and what
/// takes its place must keep to the limit.
fn check_tolerances(problem: &Problem, constraints: &Constraints, all: &[[u64; 3]]) -> Result<(), TestCaseError> {
    let is_allowed = |point: &&[u64; 3]| constraints.max_latency.is_none_or(|most| point[1] <= most.0);
    for tolerance in [0.05, 1.0] {
        let coarse = energy_front(problem, constraints, tolerance).unwrap();
        let mut allowed = all.iter().filter(is_allowed);
        prop_assert!(allowed.all(|point| is_covered(point, &coarse, 1.0 + tolerance)), "{coarse:?} {all:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_front_is_what_enumeration_leaves(
        case in prop_oneof![cases().boxed(), linked_cases().boxed()],
        power in prop::collection::vec((0.0..1.0, 0.1..5.0), 4),
        share in 0.0..1.0,
    ) {
        let (graph, board, table) = longer(case).build();
        let table = powered(&table, &power);
        let problem = supported(&graph, &board, &table)?;
        let found = energy_front(&problem, &Constraints::default(), 0.0);
        let mut all: Vec<[u64; 3]> = Vec::new();
        for plan in plans(&problem, &board) {
            let schedule = problem.schedule(&plan);
            let Ok(evaluation) = schedule.evaluate(&graph, &table) else { continue };
            let energy = schedule.energy(&graph, &table).unwrap().unwrap();
            let joules = Nanojoules::from_joules(energy.joules_per_frame);
            all.push([evaluation.period.0, evaluation.latency.0, joules.0]);
        }
        if all.is_empty() {
            prop_assert_eq!(found, Err(PipelineError::Infeasible));
            return Err(TestCaseError::reject("there is no plan"));
        }

        let found = found.unwrap();
        prop_assert!(all.iter().all(|point| is_covered(point, &found, 1.0)), "{found:?} {all:?}");
        for plan in &found {
            let energy = problem.schedule(plan).energy(&graph, &table).unwrap().unwrap();
            let joules = Nanojoules::from_joules(energy.joules_per_frame);
            prop_assert!(joules.0.abs_diff(plan.energy.unwrap().0) <= ROUNDING, "{joules} {plan:?}");
            let beaten = found.iter().any(|other| {
                other != plan && numbers(other).iter().zip(numbers(plan)).all(|(value, other)| *value <= other)
            });
            prop_assert!(!beaten, "{plan:?}");
        }

        // A tolerance costs no more than it says.
        let coarse = energy_front(&problem, &Constraints::default(), 0.05).unwrap();
        prop_assert!(coarse.len() <= found.len());
        prop_assert!(all.iter().all(|point| is_covered(point, &coarse, 1.05)), "{coarse:?} {all:?}");
        // The best within a constraint.
        let [low, high] = [all.iter().map(|point| point[1]).min().unwrap(), all.iter().map(|point| point[1]).max().unwrap()];
        let max_latency = Nanoseconds(low + ((high - low) as f64 * share) as u64);
        let constraints = Constraints { max_latency: Some(max_latency), ..Constraints::default() };
        let kept = energy_front(&problem, &constraints, 0.0).unwrap();
        let chosen = &kept[choose(&kept, Objective::Energy).unwrap()];
        let best = all.iter().filter(|point| point[1] <= max_latency.0).map(|point| point[2]).min().unwrap();
        prop_assert!(kept.iter().any(|plan| plan.energy.unwrap().0 <= best + ROUNDING), "the front has the best");
        check_tolerances(&problem, &constraints, &all)?;

        // The objective gives up a ten-thousandth of energy for a period or latency that is shorter by a factor of e.
        let spans = |of: fn(&Plan) -> f64| {
            let values = || kept.iter().map(of);
            (values().fold(0.0, f64::max) / values().fold(f64::INFINITY, f64::min)).ln()
        };
        let exchange = 1e-4 * (spans(|plan| plan.period.seconds()) + spans(|plan| plan.latency.seconds()));
        let most = best as f64 * exchange.exp() + ROUNDING as f64;
        prop_assert!(chosen.latency <= max_latency && chosen.energy.unwrap().0 as f64 <= most);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Every plan at every combination of clocks.
    #[test]
    fn the_front_over_clocks_is_what_enumeration_leaves(
        case in cases(),
        power in prop::collection::vec((0.0..1.0, 0.1..5.0), 4),
        share in 0.0..1.0,
    ) {
        let (graph, board, table) = longer(case).build();
        let table = powered(&table, &power);
        let combinations = clock_combinations(&board, 2);
        prop_assert_eq!(combinations.len(), 1 << board.clusters().len());
        let mut all: Vec<[u64; 3]> = Vec::new();
        for clocks in &combinations {
            let at_clocks = table.at_clocks(&board, clocks);
            let problem = supported(&graph, &board, &at_clocks)?;
            let schedules = plans(&problem, &board).into_iter().map(|plan| problem.schedule(&plan));
            all.extend(schedules.filter_map(|schedule| achieved(&schedule, &graph, &at_clocks)));
        }
        let front = |constraints: &Constraints, tolerance| {
            let chain = Chain::of(&graph);
            let inputs = ProblemInputs { graph: &graph, chain: &chain, board: &board, table: &table };
            clocked_front(inputs, &combinations, constraints, tolerance)
        };
        let Ok(found) = front(&Constraints::default(), 0.0) else {
            prop_assert!(all.is_empty());
            return Err(TestCaseError::reject("there is no plan"));
        };

        for ClockedPlan { clocks, plan } in &found {
            let at_clocks = table.at_clocks(&board, clocks);
            let schedule = supported(&graph, &board, &at_clocks)?.schedule(plan);
            let [period, latency, energy] = achieved(&schedule, &graph, &at_clocks).unwrap();
            prop_assert_eq!([period, latency], [plan.period.0, plan.latency.0]);
            prop_assert!(energy.abs_diff(plan.energy.unwrap().0) <= ROUNDING);
        }
        let at_any: Vec<Plan> = found.into_iter().map(|clocked| clocked.plan).collect();
        prop_assert!(all.iter().all(|point| is_covered(point, &at_any, 1.0)), "{at_any:?} {all:?}");
        let coarse: Vec<Plan> =
            front(&Constraints::default(), 0.05).unwrap().into_iter().map(|clocked| clocked.plan).collect();
        prop_assert!(all.iter().all(|point| is_covered(point, &coarse, 1.05)), "{coarse:?} {all:?}");

        // The least energy within a latency.
        let latencies = || all.iter().map(|point| point[1]);
        let [low, high] = [latencies().min().unwrap(), latencies().max().unwrap()];
        let max_latency = Nanoseconds(low + ((high - low) as f64 * share) as u64);
        let kept = front(&Constraints { max_latency: Some(max_latency), ..Constraints::default() }, 0.0).unwrap();
        prop_assert!(kept.iter().all(|clocked| clocked.plan.latency <= max_latency));
        let best = all.iter().filter(|point| point[1] <= max_latency.0).map(|point| point[2]).min().unwrap();
        prop_assert!(kept.iter().any(|clocked| clocked.plan.energy.unwrap().0 <= best + ROUNDING));
    }
}

/// Period, latency and energy of a schedule; `None` if it can't run.
fn achieved(schedule: &Schedule, graph: &Graph, table: &CostTable) -> Option<[u64; 3]> {
    let evaluation = schedule.evaluate(graph, table).ok()?;
    let energy = schedule.energy(graph, table).unwrap().unwrap();
    Some([evaluation.period.0, evaluation.latency.0, Nanojoules::from_joules(energy.joules_per_frame).0])
}

#[test]
fn energy_needs_power() {
    let board = board("B1");
    let model = millstream_zoo::build("tiny-darknet").unwrap();
    let graph = model.graph();
    let table = uniform_table(graph, &board, [1000]);
    let problem = Problem::new(graph, &Chain::of(graph), &board, &table).unwrap();
    let error = energy_front(&problem, &Constraints::default(), 0.0).unwrap_err();
    assert!(error.to_string().starts_with("the power of B1 is not known"), "{error}");
}
