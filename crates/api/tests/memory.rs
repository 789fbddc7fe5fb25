//! Boards whose processors compete for memory: what is predicted is what a simulation shows.

// Engines and the solver make no difference here: this runs once, with all of them.
#![cfg(all(feature = "highs", feature = "ort", feature = "wgpu"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod fixtures;

use fixtures::{fixture, machines, network};
use millstream_api::{Aim, Constraints, Control, CostSource, Machine, Objective, PlanOn, plan};
use millstream_cost::Nanoseconds;
use millstream_pipeline::{PipelineError, Problem, ThroughputBound, best_period, pareto_front};
use millstream_sim::{Conditions, SimulatedNetwork, SteadyState, simulate_streams};

#[test]
fn periods_are_those_of_another_simulation() {
    periods_agree(|network, board| (network + board) % 8 == 0, 5);
}

#[test]
fn periods_of_some_other_pairs_are_as_well() {
    periods_agree(|network, board| (network + board) % 8 == 4, 5);
}

#[test]
#[ignore = "takes minutes: `cargo xtask long-tests`"]
fn periods_of_every_pair_are_those_of_another_simulation() {
    periods_agree(|_, _| true, 40);
}

/// The fastest pipelines of networks on the boards that say what their memory moves.
fn periods_agree(is_wanted: impl Fn(usize, usize) -> bool, least: usize) {
    let machines: Vec<(String, Machine)> =
        machines().into_iter().filter(|(_, machine)| machine.board().memory_bytes_per_second().is_some()).collect();
    assert!(machines.len() >= 24, "{}", machines.len());
    let mut slowed = 0;
    for (place, name) in millstream_zoo::names().enumerate() {
        let network = network(name);
        let graph = network.graph();
        let wanted = machines.iter().enumerate().filter(|(board, _)| is_wanted(place, *board));
        for (_, (board, machine)) in wanted {
            let rate = machine.board().memory_bytes_per_second();
            let costs = fixture("costs", board);
            let table = CostSource::Models(&costs).table(&network, machine).unwrap();
            let searched = table.within_memory_of(machine.board(), graph);
            let problem = Problem::new(graph, network.chain(), machine.board(), &searched).unwrap();
            // The largest networks do not fit into the smallest memories.
            let plan = match best_period(&problem) {
                Err(PipelineError::Memory { .. }) => continue,
                found => found.unwrap(),
            };

            let schedule = problem.schedule(&plan);
            let predicted = SteadyState::of(&schedule, graph, &table, rate).unwrap().evaluation;
            let conditions = Conditions { memory_bytes_per_second: rate, ..Conditions::default() };
            let stream = SimulatedNetwork::new(&schedule, graph, &table, 1000);
            let simulated = simulate_streams(&[stream], &conditions).unwrap().pop().unwrap().period_seconds();
            let ratio = simulated / predicted.period.seconds();
            assert!((ratio - 1.0).abs() < 0.02, "{name} on {board}: {schedule} {ratio}");

            // A period that was simulated is the slope of a line.
            let bound = ThroughputBound::of(graph, machine.board(), &table).period.seconds();
            assert!(bound <= predicted.period.seconds() * (1.0 + 1e-3), "{name} on {board}: {schedule} {bound}");
            slowed += usize::from(predicted.period.seconds() > 1.02 * plan.period.seconds());
        }
    }
    assert!(slowed > least, "memory should hold up many of these pipelines, not {slowed}");
}

/// What is chosen keeps its limit with the memory's bandwidth, and is at least as good as what a search finds that knows nothing of it.
#[test]
fn a_search_that_knows_of_memory_finds_better_pipelines() {
    let machine = Machine::read(&fixture("boards", "khadas-vim3")).unwrap();
    let network = network("squeezenet");
    let (graph, costs) = (network.graph(), fixture("costs", "khadas-vim3"));
    let on = PlanOn::Costs(CostSource::Models(&costs));
    let rate = machine.board().memory_bytes_per_second();
    let best = plan(&machine, &network, &Aim::default(), on, &Control::new()).unwrap();
    let table = &best.plans.table;
    let period = |schedule: &_| SteadyState::of(schedule, graph, table, rate).unwrap().evaluation.period;
    assert_eq!(period(&best.plans.problem.schedule(&best.plan)), best.plan.period);
    let problem = Problem::new(graph, network.chain(), machine.board(), table).unwrap();
    let unaware = pareto_front(&problem).unwrap().pop().unwrap();
    let found = period(&problem.schedule(&unaware));
    assert!(found.seconds() > 1.05 * unaware.period.seconds(), "memory holds it up");
    assert!(best.plan.period.seconds() < 1.03 * found.seconds(), "{} {found}", best.plan.period);

    let most = Nanoseconds::from_seconds(1.2 * best.plan.period.seconds());
    let limits = Constraints { max_period: Some(most), ..Constraints::default() };
    let frugal = plan(&machine, &network, &Aim::best(Objective::Energy).within(limits), on, &Control::new()).unwrap();
    assert!(period(&frugal.plans.problem.schedule(&frugal.plan)) <= most);
    assert!(frugal.plan.energy < best.plan.energy);
}
