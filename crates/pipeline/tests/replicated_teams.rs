//! Teams as replicas of each other and beside single processors: they are found, and over occupied links they have
//! their stage alone.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod chain;

use chain::chain;
use millstream_board::{Board, Processor, ProcessorClass};
use millstream_cost::{CostTable, HandOver, LinkCost, Nanoseconds, PowerOrigin, ProcessorPower};
use millstream_graph::{DataType, Graph, GraphBuilder, NewOperator, OperatorKind, Shape};
use millstream_partition::Chain;
use millstream_pipeline::{
    Constraints, Nanojoules, PeriodBound, Plan, Problem, ThroughputBound, best_period, energy_front, pareto_front,
    teams_of,
};
use millstream_schedule::{Assignment, Replica, Schedule, Stage};
use millstream_test_support::board;

/// Two cores and two GPUs, and three operators of which the second runs on cores only: teams of a core and a GPU pass a
/// frame in 230 us, two of them every 115 us.
fn pairs() -> (Board, Graph, CostTable) {
    let board = board("B2+G+H=gpu");
    let graph = chain(3, 25);
    let mut table = CostTable::new(3, board.processor_classes());
    for processor in table.class_ids() {
        let is_core = table.classes()[processor.index()].cluster == "B";
        let microseconds = if is_core { [Some(2000), Some(10), Some(2000)] } else { [Some(200), None, Some(20)] };
        for (operator, time) in table.operator_ids().zip(microseconds) {
            if let Some(time) = time {
                table.set_time(processor, operator, Nanoseconds(1000 * time));
            }
        }
    }
    (board, graph, table)
}

#[test]
fn replicated_teams_are_found() {
    let (board, graph, table) = pairs();
    let team = |core: u32, accelerator: &str| {
        let order = graph.order();
        let core = Assignment { processor: Processor::new("B", [core]), operators: vec![order[1]] };
        let operators = vec![order[0], order[2]];
        Replica::new(vec![core, Assignment { processor: Processor::accelerator(accelerator), operators }])
    };

    let schedule = Schedule { stages: vec![Stage { replicas: vec![team(0, "G"), team(1, "H")] }] };
    schedule.validate(&graph, &board).unwrap();
    let found = schedule.evaluate(&graph, &table).unwrap().period;
    assert_eq!(found, Nanoseconds(115_000));

    let problem = Problem::with_teams(&graph, &Chain::of(&graph), &board, &table, &teams_of(&board)).unwrap();
    let plan = best_period(&problem).unwrap();
    assert_eq!((plan.stages[0].replicas.len(), plan.period), (2, found), "{}", plan.configuration());
    // What comes before is waited for on both processors, so that a team takes 200 + 10 + 20 us by its bound as well,
    // whatever trials show.
    let bound = PeriodBound::of(&problem).unwrap();
    assert!(bound.0 <= found && bound.0 > Nanoseconds(114_900), "{bound:?}");

    let mut tried = problem.clone();
    plan.stages[0].replicas.iter().for_each(|replica| tried.scale_team(&replica.processors, 3.0));
    assert!(best_period(&tried).unwrap().period > found);
    assert_eq!(PeriodBound::of(&tried), Ok(bound));

    let front = pareto_front(&problem).unwrap();
    assert_eq!(front.last().map(|plan| plan.period), Some(found));
    for plan in front.iter().chain([&plan]) {
        let evaluation = problem.schedule(plan).evaluate(&graph, &table).unwrap();
        assert_eq!((evaluation.period, evaluation.latency), (plan.period, plan.latency), "{}", plan.configuration());
    }
    let bound = ThroughputBound::of(&graph, &board, &table).period;
    // A core is worth a tenth of a GPU, which are 1/22 and 10/22 of all: (2000 + 10 + 200) us / 22.
    assert!(bound <= Nanoseconds(100_454) && bound >= Nanoseconds(100_400), "{bound}");
}

/// GPUs that wait draw nothing, and cores hardly anything: the shortest period takes the least energy as well as
/// anything else does.
#[test]
fn replicated_teams_are_found_by_energy() {
    let (board, graph, mut table) = pairs();
    for processor in table.class_ids() {
        let is_core = table.classes()[processor.index()].cluster == "B";
        let (active_watts, idle_watts) = if is_core { (2.0, 0.1) } else { (5.0, 0.0) };
        table.set_power(processor, ProcessorPower { active_watts, idle_watts, origin: PowerOrigin::BoardFile });
    }
    let problem = Problem::with_teams(&graph, &Chain::of(&graph), &board, &table, &teams_of(&board)).unwrap();
    let front = energy_front(&problem, &Constraints::default(), 0.0).unwrap();
    for plan in &front {
        let schedule = problem.schedule(plan);
        let energy = schedule.energy(&graph, &table).unwrap().unwrap();
        assert_eq!(plan.energy, Some(Nanojoules::from_joules(energy.joules_per_frame)), "{}", plan.configuration());
    }
    let quickest = front.iter().min_by_key(|plan| plan.period).unwrap();
    assert_eq!((quickest.stages[0].replicas.len(), quickest.period), (2, Nanoseconds(115_000)));
    // Per frame a GPU works for 220 us and a core for 10 us at 1.9 W more than idle; both cores wait for 115 us.
    assert_eq!(quickest.energy, Some(Nanojoules(1_100_000 + 19_000 + 23_000)));
}

/// The same behind an operator that only another core runs, over links that stages occupy from there on.
fn pairs_behind_a_link() -> (Board, Graph, CostTable) {
    let board = board("B2+c1:100+G+H=gpu");
    let graph = chain(4, 25);
    let mut table = CostTable::new(4, board.processor_classes());
    for processor in table.class_ids() {
        let microseconds = match table.classes()[processor.index()].cluster.as_str() {
            "B" => [None, Some(2000), Some(10), Some(2000)],
            "c" => [Some(20), None, None, None],
            _ => [None, Some(200), None, Some(20)],
        };
        for (operator, time) in table.operator_ids().zip(microseconds) {
            if let Some(time) = time {
                table.set_time(processor, operator, Nanoseconds(1000 * time));
            }
        }
    }
    (board, graph, table)
}

/// What two teams take together over a link that is occupied, nobody knows: a team then has its stage for itself. What
/// begins the network occupies none.
#[test]
fn teams_do_not_share_occupied_links() {
    let occupied = |(board, graph, mut table): (Board, Graph, CostTable)| {
        let all: Vec<_> = table.class_ids().collect();
        for (&from, &to) in all.iter().flat_map(|from| all.iter().map(move |to| (from, to))) {
            let hand_over = HandOver { seconds: 5e-6, seconds_per_byte: 0.0 };
            table.set_link(from, to, LinkCost { hand_over, occupied_seconds_per_byte: 1e-9 });
        }
        let problem = Problem::with_teams(&graph, &Chain::of(&graph), &board, &table, &teams_of(&board)).unwrap();
        let bound = PeriodBound::of(&problem).unwrap().0;
        let front = pareto_front(&problem).unwrap();
        assert_eq!(front.last().map(|plan| plan.period), Some(best_period(&problem).unwrap().period));
        assert!(front.iter().all(|plan| plan.period >= bound));
        front
    };
    let first = occupied(pairs());
    assert_eq!(first.last().map(|plan| plan.period), Some(Nanoseconds(115_000)));

    let front = occupied(pairs_behind_a_link());
    let stages = || front.iter().flat_map(|plan| &plan.stages);
    assert!(stages().all(|stage| !stage.has_teams() || stage.replicas.len() == 1));
    // With a hand-over of 5 us, the second operator takes 205 us on a GPU and 2005 us on a core beside it, a team with
    // all three 235 us.
    let period = 1.0 / (1.0 / 205_000.0 + 1.0 / 2_005_000.0_f64);
    assert_eq!(front.last().map(|plan| plan.period), Some(Nanoseconds(period.round() as u64)));
    assert!(stages().any(|stage| stage.has_teams()), "the lowest latency is that of a team");
}

/// A team that must have its stage for itself takes no single processor's place among replicas, in whatever order
/// clusters stand.
#[test]
fn teams_do_not_push_out_replicas_over_links() {
    for text in ["B2+s1:500+c1:100", "s1:500+B2:1024+c1:100"] {
        let board = board(text);
        let graph = branches();
        let mut table = CostTable::new(4, board.processor_classes());
        for processor in table.class_ids() {
            let class = table.classes()[processor.index()].clone();
            // The first on c only; of the others one and two cores of B take 190 and 100 ns, one of s takes 100; a team
            // of two B 95 + 0.
            let nanoseconds = match (class.cluster.as_str(), class.count) {
                ("B", 1) => [None, Some(95), Some(95), Some(0)],
                ("B", _) => [None, Some(50), Some(50), Some(0)],
                ("s", _) => [None, Some(50), Some(50), Some(0)],
                _ => [Some(1), None, None, None],
            };
            for (operator, time) in table.operator_ids().zip(nanoseconds) {
                if let Some(time) = time {
                    table.set_time(processor, operator, Nanoseconds(time));
                }
            }
            let power = ProcessorPower {
                active_watts: 2.0 * class.count as f64,
                idle_watts: 0.0,
                origin: PowerOrigin::BoardFile,
            };
            table.set_power(processor, power);
        }

        let all: Vec<_> = table.class_ids().collect();
        for (&from, &to) in all.iter().flat_map(|from| all.iter().map(move |to| (from, to))) {
            let hand_over = HandOver { seconds: 30e-9, seconds_per_byte: 0.0 };
            table.set_link(from, to, LinkCost { hand_over, occupied_seconds_per_byte: 1e-10 });
        }

        let core = ProcessorClass::new("B".to_owned(), 1);
        let team = [vec![core.clone(), core]];
        let problem = Problem::with_teams(&graph, &Chain::of(&graph), &board, &table, &team).unwrap();
        let covers = |plans: &[Plan], latency: u64, period: u64| {
            plans.iter().any(|plan| plan.latency.0 <= latency && plan.period.0 <= period)
        };
        let alone = pareto_front(&problem.clone().without_teams()).unwrap();
        let fronts = [pareto_front(&problem).unwrap(), energy_front(&problem, &Constraints::default(), 0.0).unwrap()];
        for front in &fronts {
            assert!(covers(front, 131, 65), "(B2|s1) behind c1, with 30 ns to take a frame over: {text}");
            assert!(alone.iter().all(|plan| covers(front, plan.latency.0, plan.period.0)), "{text}");
            assert!(
                front.iter().any(|plan| plan.latency == Nanoseconds(126)),
                "the team: {text} {:?}",
                front.iter().map(|plan| (plan.configuration(), plan.latency.0, plan.period.0)).collect::<Vec<_>>()
            );
        }
    }
}

/// One operator, two that read what it made, and one that reads both.
fn branches() -> Graph {
    let mut builder = GraphBuilder::new("branches");
    let [input, a, b, c, d] = ["in", "a", "b", "c", "d"]
        .map(|name| builder.value(name, Some(DataType::F32), Some(Shape::from([25]))).unwrap());
    builder.input(input);
    for (name, reads, makes) in [("A", vec![input], a), ("B", vec![a], b), ("C", vec![a], c), ("D", vec![b, c], d)] {
        builder.operator(NewOperator::new(name, "x", OperatorKind::Opaque).reads(reads).makes([makes])).unwrap();
    }
    builder.output(d);
    builder.build().unwrap()
}
