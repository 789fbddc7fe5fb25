//! Boards whose processors compete for memory: what is predicted is what they take that are followed by hand, and what
//! longer simulations show.

// Engines and the solver make no difference here: this runs once, with all of them.
#![cfg(all(feature = "highs", feature = "ort", feature = "wgpu"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod by_hand;
mod fixtures;

use fixtures::{fixture, machines, network};
use millstream_api::{
    Aim, Constraints, Control, CostSource, Error, Machine, Objective, PlanOn, Scheduled, SimulateOptions, Simulated,
    plan, simulate,
};
use millstream_cost::Nanoseconds;
use millstream_pipeline::{PipelineError, Problem, ThroughputBound, best_period, pareto_front};
use millstream_sim::SteadyState;

#[test]
fn periods_are_those_that_are_worked_out_by_hand() {
    periods_agree(|network, board| (network + board) % 16 == 0, 2);
}

#[test]
fn periods_of_some_other_pairs_are_as_well() {
    periods_agree(|network, board| (network + board) % 16 == 8, 2);
}

#[test]
#[ignore = "takes minutes: `cargo xtask long-tests`"]
fn periods_of_every_pair_are_those_that_are_worked_out_by_hand() {
    periods_agree(|_, _| true, 40);
}

/// Limits are held against the numbers that a schedule without limits has.
#[test]
fn what_is_chosen_without_limits_is_found_within_its_own_numbers() {
    limits_agree("khadas-vim3", "mobilenet-v1");
}

#[test]
#[ignore = "takes minutes: `cargo xtask long-tests`"]
fn that_is_so_of_other_pairs_as_well() {
    for (board, name) in [("khadas-vim3", "resnet50"), ("rk3588", "googlenet"), ("nexus-6p", "mobilenet-v2")] {
        limits_agree(board, name);
    }
}

fn limits_agree(board: &str, name: &str) {
    let (machine, network) = (Machine::read(&fixture("boards", board)).unwrap(), network(name));
    let costs = fixture("costs", board);
    let planned = |max_latency: Option<f64>, max_period: Option<f64>| {
        let [max_latency, max_period] = [max_latency, max_period].map(|most| most.map(Nanoseconds::from_seconds));
        let aim = Aim::default().within(Constraints { max_latency, max_period, ..Constraints::default() });
        plan(&machine, &network, &aim, PlanOn::Costs(CostSource::Models(&costs)), &Control::new())
    };
    let unlimited = planned(None, None).unwrap();
    let planned = |max_latency, max_period| planned(max_latency, max_period).map(|planned| planned.document.predicted);
    // The ends of the front can be asked for.
    let front = &unlimited.plans.front;
    let [fastest, quickest] = [front.iter().map(|plan| plan.period).min(), front.iter().map(|plan| plan.latency).min()];
    let [fastest, quickest] = [fastest, quickest].map(|end| end.unwrap().seconds() * 1.00001);
    for (max_latency, max_period) in [(None, Some(fastest)), (Some(quickest), None)] {
        planned(max_latency, max_period).unwrap_or_else(|error| panic!("{name} on {board}: {error}"));
    }

    let free = unlimited.document.predicted;
    let [latency, period] = [free.latency_seconds, free.period_seconds].map(|own| own * 1.0001);
    let found = planned(Some(latency), Some(period)).unwrap_or_else(|error| panic!("{name} on {board}: {error}"));
    assert!(found.period_seconds <= period && found.latency_seconds <= latency, "{found:?} after {free:?}");

    // What is said to be the most can be had.
    let refused = planned(None, Some(period / 10.0)).err();
    let Some(Error::Pipeline(PipelineError::Constraint { least, .. })) = refused else { panic!("{refused:?}") };
    assert!(least.seconds() <= period, "{least} after {free:?}");
    let found =
        planned(None, Some(least.seconds() * 1.0001)).unwrap_or_else(|error| panic!("{name} on {board}: {error}"));
    assert!(found.period_seconds <= least.seconds() * 1.0001, "{found:?} instead of {least}");
}

/// The fastest pipelines of networks on the boards that say what their memory moves.
fn periods_agree(is_wanted: impl Fn(usize, usize) -> bool, least: usize) {
    let machines: Vec<(String, Machine)> =
        machines().into_iter().filter(|(_, machine)| machine.board().memory_bytes_per_second().is_some()).collect();
    assert!(machines.len() >= 24, "{}", machines.len());
    let (mut slowed, mut begun_with_replicas) = (0, 0);
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
            let by_hand = by_hand::period_seconds(&schedule, graph, &table, rate.unwrap());
            let ratio = by_hand / predicted.period.seconds();
            assert!((ratio - 1.0).abs() < 0.02, "{name} on {board}: {schedule} {ratio}");

            // A period that was simulated is the slope of a line.
            let bound = ThroughputBound::of(graph, machine.board(), &table).period.seconds();
            assert!(bound <= predicted.period.seconds() * (1.0 + 1e-3), "{name} on {board}: {schedule} {bound}");
            begun_with_replicas += usize::from(schedule.stages[0].replicas.len() > 1);
            slowed += usize::from(predicted.period.seconds() > 1.02 * plan.period.seconds());
        }
    }
    assert!(begun_with_replicas > least, "{begun_with_replicas} pipelines begin with replicas");
    assert!(slowed > least, "memory should hold up many of these pipelines, not {slowed}");
}

/// What is chosen keeps its limit with the memory's bandwidth, and is at least as good as what a search finds that
/// knows nothing of it.
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
    assert_eq!(period(&best.schedule), best.plan.period);
    let problem = Problem::new(graph, network.chain(), machine.board(), table).unwrap();
    let unaware = pareto_front(&problem).unwrap().pop().unwrap();
    let found = period(&problem.schedule(&unaware));
    assert!(found.seconds() > 1.05 * unaware.period.seconds(), "memory holds it up");
    assert!(best.plan.period.seconds() < 1.03 * found.seconds(), "{} {found}", best.plan.period);

    let most = Nanoseconds::from_seconds(1.2 * best.plan.period.seconds());
    let limits = Constraints { max_period: Some(most), ..Constraints::default() };
    let frugal = plan(&machine, &network, &Aim::best(Objective::Energy).within(limits), on, &Control::new()).unwrap();
    assert!(period(&frugal.schedule) <= most);
    assert!(frugal.plan.energy < best.plan.energy);
}

/// What schedules of all objectives promise is what frames take that are simulated for longer, with other numbers of
/// them.
#[test]
fn what_is_promised_is_simulated_whatever_is_wanted() {
    let mut with_energy = 0;
    for (board, name, objectives) in [
        ("khadas-vim3", "mobilenet-v1", &Objective::ALL[..]),
        ("rk3588", "squeezenet", &[Objective::Throughput, Objective::Latency]),
        ("chiplet-c1", "squeezenet", &[Objective::Throughput, Objective::Latency]),
    ] {
        let machine = Machine::read(&fixture("boards", board)).unwrap();
        let costs = fixture("costs", board);
        for &objective in objectives {
            let on = PlanOn::Costs(CostSource::Models(&costs));
            let planned = plan(&machine, &network(name), &Aim::best(objective), on, &Control::new()).unwrap();
            let promised = planned.document.predicted.clone();
            let own = [Scheduled::alone(network(name), planned.document, machine.board()).unwrap()];
            let options = SimulateOptions::new(CostSource::Models(&costs), 1000);
            let simulated = &simulate(&machine, &own, &options, &Control::new()).unwrap()[0];

            let Simulated { simulation, table, .. } = simulated;
            let label = format!("{name} on {board}, {objective:?}, {}", own[0].schedule);
            let is_close = |found: f64, promised: f64| (found / promised - 1.0).abs() < 0.02;
            let period = simulation.period_seconds();
            assert!(is_close(period, promised.period_seconds), "{label}: {period} {promised:?}");
            let latency = simulation.worst_time_in_stages().seconds();
            assert!(is_close(latency, promised.latency_seconds), "{label}: {latency} {promised:?}");
            if let Some(joules) = promised.joules_per_frame {
                let found = simulation.steady_energy(&own[0].schedule, table).unwrap().joules_per_frame;
                assert!(is_close(found, joules), "{label}: {found} {promised:?}");
                with_energy += 1;
            }
        }
    }
    assert!(
        with_energy >= Objective::ALL.len(),
        "the power of the first board is known, not of {with_energy} schedules"
    );
}
