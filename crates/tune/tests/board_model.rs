//! A board that is not as it was profiled: the model finds out, and the search follows.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use millstream_board::{Board, CoreId, Processor};
use millstream_cost::{CostTable, HandOver, Nanoseconds};
use millstream_graph::Graph;
use millstream_partition::Chain;
use millstream_schedule::{Replica, Schedule, Stage};
use millstream_test_support::board;
use millstream_tune::{BoardModel, ModelGuided, Oracle, Proposal, Score, TimeModel, Trial, TuneError};

fn table(graph: &Graph, board: &Board) -> CostTable {
    let mut table = millstream_test_support::table(graph, board, |operator, class| {
        let slowness = if class.cluster == "B" { 1.0 } else { 3.0 };
        // Eight cores are six times as fast as one.
        let seconds = (operator.work.macs as f64 * 1e-10 + 2e-6) * slowness / (1.0 + 0.8 * (class.count - 1) as f64);
        Some(Nanoseconds::from_seconds(seconds).0)
    });
    for processor in table.class_ids() {
        table.set_hand_over(processor, HandOver { seconds: 5e-6, seconds_per_byte: 1e-10 });
    }
    table
}

/// Runs schedules on the true costs, on cores that are slower than profiled.
struct Machine<'a> {
    graph: &'a Graph,
    board: &'a Board,
    table: &'a CostTable,
    slow: Vec<(CoreId, f64)>,
}

impl Machine<'_> {
    fn slowdown(&self, processor: &Processor) -> f64 {
        let of = |core: &CoreId| self.slow.iter().find(|(slow, _)| slow == core).map_or(1.0, |(_, factor)| *factor);
        processor.cores.iter().map(of).fold(1.0, f64::max)
    }

    fn run(&self, schedule: &Schedule) -> (Vec<Nanoseconds>, Nanoseconds) {
        schedule.validate(self.graph, self.board).unwrap();
        let evaluation = schedule.evaluate(self.graph, self.table).unwrap();
        let mut times = Vec::new();
        let mut period = Nanoseconds::ZERO;
        for (stage, evaluated) in schedule.stages.iter().zip(&evaluation.stages) {
            let own: Vec<Nanoseconds> = stage
                .replicas
                .iter()
                .zip(&evaluated.replica_times)
                .map(|(replica, time)| {
                    let factor = self.slowdown(&replica.assignments[0].processor);
                    Nanoseconds::from_seconds(time.seconds() * factor)
                })
                .collect();
            period = period.max(millstream_schedule::replicated_period(&own));
            times.extend(own);
        }
        (times, period)
    }
}

impl Oracle<Schedule> for Machine<'_> {
    fn measure(&mut self, schedule: &Schedule) -> Result<Trial, TuneError> {
        let (stage_times, period) = self.run(schedule);
        let used: Vec<CoreId> = schedule.processors().flat_map(|processor| processor.cores.clone()).collect();
        // Others use two thirds of a core next to us, and all of a core that we leave alone.
        let left = |&(core, factor): &(CoreId, f64)| (core, if used.contains(&core) { 1.0 / factor } else { 0.5 });
        let available = self.slow.iter().map(left).collect();
        Ok(Trial { stage_times, period, available, ..Trial::default() })
    }
}

/// The shortest period under the true conditions.
fn optimum(machine: &Machine<'_>, graph: &Arc<Graph>, chain: &Chain) -> f64 {
    let mut informed = BoardModel::new(graph, chain, machine.board, machine.table);
    let nothing = Trial {
        available: machine.slow.iter().map(|&(core, factor)| (core, 1.0 / factor)).collect(),
        ..Trial::default()
    };
    informed.learn(&Schedule { stages: Vec::new() }, &nothing);
    machine.run(&proposed(&mut informed)).1.seconds()
}

/// What the model finds best.
fn proposed(model: &mut BoardModel) -> Schedule {
    let (Proposal::Gain(schedule, _) | Proposal::InAnyCase(schedule)) = model.best().unwrap();
    schedule
}

fn network() -> (Arc<Graph>, Chain) {
    let model = millstream_zoo::build("squeezenet").unwrap();
    let graph = Arc::new((**model.graph()).clone());
    let chain = Chain::of(&graph);
    (graph, chain)
}

#[test]
fn nothing_changed_and_nothing_is_learnt() {
    let (graph, chain) = network();
    for board in [board("B2"), board("B4+s4:300")] {
        let table = table(&graph, &board);
        let mut machine = Machine { graph: &graph, board: &board, table: &table, slow: Vec::new() };
        let mut model = BoardModel::new(&graph, &chain, &board, &table);
        let Proposal::Gain(best, expected) = model.best().unwrap() else { panic!("it is best by what is known") };
        assert_eq!(model.score(&best), Some(expected));
        let found = ModelGuided::default().tune(&mut model, &mut machine).unwrap();
        assert_eq!((found.best, Score::from(found.trial.period), found.trials), (best, expected, 1));
        assert!(model.slowdowns().values().all(|factor| (factor - 1.0).abs() < 0.01), "{:?}", model.slowdowns());
    }
}

#[test]
fn a_busy_core_is_found_and_left_with_less() {
    let (graph, chain) = network();
    for (board, slow) in [(board("B2"), 1), (board("B4+s4:300"), 0), (board("B4+s4:300"), 6)] {
        let table = table(&graph, &board);
        let slow = vec![(CoreId(slow), 3.0)];
        let mut machine = Machine { graph: &graph, board: &board, table: &table, slow };
        let mut model = BoardModel::new(&graph, &chain, &board, &table);
        let before = machine.run(&proposed(&mut model)).1.seconds();
        let best = optimum(&machine, &graph, &chain);
        let found = ModelGuided { trials: 5, noise: 0.005 }.tune(&mut model, &mut machine).unwrap();
        let after = machine.run(&found.best).1.seconds();
        assert!(after <= before && after <= 1.05 * best, "{before} s, then {after} s of {best} s: {}", found.best);
        // When the load is gone, so is what was learnt of it.
        machine.slow.clear();
        model.forget();
        assert!(model.slowdowns().is_empty());
        let period = found.best.evaluate(&graph, &table).unwrap().period;
        assert_eq!(model.score(&found.best), Some(period.into()));
        let recovered = ModelGuided::default().tune(&mut model, &mut machine).unwrap();
        assert_eq!(recovered.trial.period.seconds(), optimum(&machine, &graph, &chain));
    }
}

#[test]
fn a_cluster_that_is_slower_as_a_whole_stays_together() {
    let (graph, chain) = network();
    let board = board("B4+s4:300");
    let table = table(&graph, &board);
    let slow = (0..4).map(|core| (CoreId(core), 2.0)).collect();
    let mut machine = Machine { graph: &graph, board: &board, table: &table, slow };
    let mut model = BoardModel::new(&graph, &chain, &board, &table);
    // A pipeline of both clusters shows how slow each is, without any word on what others leave.
    let half = chain.blocks().len() / 2;
    let stage = |cluster: &str, cores: std::ops::Range<u32>, blocks: std::ops::Range<usize>| Stage {
        replicas: vec![Replica::single(Processor::new(cluster, cores), chain.operators(blocks))],
    };
    let pipeline = Schedule { stages: vec![stage("B", 0..4, 0..half), stage("s", 4..8, half..chain.blocks().len())] };
    let mut trial = machine.measure(&pipeline).unwrap();
    trial.available.clear();
    model.learn(&pipeline, &trial);
    for core in 0..8 {
        let expected = if core < 4 { 2.0 } else { 1.0 };
        let found = model.slowdowns()[&CoreId(core)];
        assert!((found / expected - 1.0_f64).abs() < 0.02, "core {core}: {found}");
    }
    let schedule = proposed(&mut model);
    assert!(schedule.processors().all(|processor| ["B", "s"].contains(&processor.cluster.as_str())), "{schedule}");
    assert!(machine.run(&schedule).1 <= trial.period);
}
