//! Stages that several processors own together: what plans say of them is what evaluation says, and they only help.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod chain;

use chain::chain;
use millstream_board::{Board, Processor, ProcessorClass};
use millstream_cost::{
    CostTable, HandOver, LinkCost, Nanoseconds, PartCost, PowerOrigin, ProcessorPower, TransferModel,
};
use millstream_graph::{Along, DataType, Graph, GraphBuilder, NewOperator, OperatorKind, Shape};
use millstream_partition::Chain;
use millstream_pipeline::{
    Constraints, Nanojoules, ParaPipe, PeriodBound, PipelineError, Plan, PlannedStage, Problem, Search, Strategy,
    ThroughputBound, best_period, energy_front, pareto_front, teams_of,
};
use millstream_schedule::{Assignment, OperatorSplit, Replica, Schedule, Stage, held_bytes};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const BOARD: &str = r#"{"format": "millstream-board", "version": 1, "name": "two clusters and a GPU", "clusters": [
        {"label": "B", "capacity": 1024, "cores": [{"id": 0}, {"id": 1}]}, {"label": "s", "capacity": 300, "cores": [{"id": 2}]}],
        "accelerators": [{"label": "G", "kind": "gpu"}]}"#;

fn board() -> Board {
    Board::from_json(BOARD).unwrap()
}

/// Times by work with some noise; two cores are 1.7 times as fast as one, the GPU does not run everything.
fn table(graph: &Graph, seed: u64) -> CostTable {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut table = CostTable::new(graph.operators().len(), board().processor_classes());
    for processor in table.processors() {
        let class = table.classes()[processor.index()].clone();
        let speed = match (class.cluster.as_str(), class.count) {
            ("B", 1) => 1.0,
            ("B", _) => 1.7,
            ("s", _) => 0.4,
            _ => 0.9,
        };
        for id in graph.operator_ids() {
            let operator = graph.operator(id);
            if class.cluster == "G" && operator.op_type == "Softmax" {
                continue;
            }
            let work = operator.work.macs as f64 / 1e3 + 500.0;
            let time = work / speed * random.random_range(0.7..1.3);
            table.set_time(processor, id.index(), Nanoseconds(time as u64));
            table.set_part(processor, id.index(), PartCost { fixed_fraction: 0.1, wave: 1, apart: Nanoseconds(300) });
        }
        table.set_hand_over(processor, HandOver { seconds: 2e-6, seconds_per_byte: 1e-11 });
        let power = ProcessorPower { active_watts: 3.0 * speed, idle_watts: 0.2, origin: PowerOrigin::BoardFile };
        table.set_power(processor, power);
        for other in table.processors() {
            let model = TransferModel { latency_seconds: 1e-6, seconds_per_byte: 1e-10, ..TransferModel::default() };
            table.set_transfer(processor, other, model);
        }
    }

    table
}

#[test]
fn plans_with_teams_are_what_evaluation_says() {
    for (name, seed) in [("squeezenet", 1), ("googlenet", 2), ("tiny-darknet", 3), ("petr-like", 4)] {
        let model = millstream_zoo::build(name).unwrap();
        let graph = model.graph();
        let (board, table, chain) = (board(), table(graph, seed), Chain::of(graph));
        let alone = Problem::new(graph, &chain, &board, &table).unwrap();
        let teams: Vec<Vec<ProcessorClass>> = teams_of(&board).into_iter().filter(|team| team.len() == 2).collect();
        let together = Problem::with_teams(graph, &chain, &board, &table, &teams).unwrap();
        let front = pareto_front(&together).unwrap();

        for plan in front.iter().chain([&best_period(&together).unwrap()]) {
            let schedule = together.schedule(plan);
            schedule.validate(graph, &board).unwrap();
            let evaluation = schedule.evaluate(graph, &table).unwrap();
            assert_eq!((evaluation.period, evaluation.latency), (plan.period, plan.latency), "{name} {schedule}");
            let energy = schedule.energy(graph, &table).unwrap().unwrap();
            let ratio = energy.joules_per_frame / plan.energy.unwrap().joules();
            assert!((ratio - 1.0).abs() < 1e-3, "{name} {schedule}: {ratio}");
        }

        let latency = |front: &[millstream_pipeline::Plan]| front.iter().map(|plan| plan.latency).min().unwrap();
        assert!(latency(&front) <= latency(&pareto_front(&alone).unwrap()), "{name}");
        let bound = ThroughputBound::of(graph, &board, &table).period;
        assert!(bound <= best_period(&together).unwrap().period, "{name}: {bound}");
        assert!(
            bound.seconds() > 0.5 * best_period(&together).unwrap().period.seconds(),
            "{name}: {bound} says little"
        );
        assert!(best_period(&together).unwrap().period <= best_period(&alone).unwrap().period, "{name}");

        if name == "googlenet" {
            let fastest = front.first().unwrap();
            assert!(fastest.stages.iter().any(PlannedStage::has_teams), "branches and channels are there to be shared");
        }
    }
}

/// Two cores and two GPUs, and three operators of which the second runs on cores only: teams of a core and a GPU pass a frame in 230 us,
/// two of them every 115 us.
fn pairs() -> (Board, Graph, CostTable) {
    let text = r#"{"format": "millstream-board", "version": 1, "name": "pairs", "clusters": [
        {"label": "B", "capacity": 1024, "cores": [{"id": 0}, {"id": 1}]}],
        "accelerators": [{"label": "G", "kind": "gpu"}, {"label": "H", "kind": "gpu"}]}"#;
    let board = Board::from_json(text).unwrap();
    let graph = chain(3, 25);
    let mut table = CostTable::new(3, board.processor_classes());
    for processor in table.processors() {
        let is_core = table.classes()[processor.index()].cluster == "B";
        let microseconds = if is_core { [Some(2000), Some(10), Some(2000)] } else { [Some(200), None, Some(20)] };
        for (operator, time) in microseconds.into_iter().enumerate() {
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
    // What comes before is waited for on both processors, so that a team takes 200 + 10 + 20 us by its bound as well, whatever trials show.
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

/// GPUs that wait draw nothing, and cores hardly anything: the shortest period takes the least energy as well as anything else does.
#[test]
fn replicated_teams_are_found_by_energy() {
    let (board, graph, mut table) = pairs();
    for processor in table.processors() {
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
    let text = r#"{"format": "millstream-board", "version": 1, "name": "pairs", "clusters": [
        {"label": "B", "capacity": 1024, "cores": [{"id": 0}, {"id": 1}]},
        {"label": "c", "capacity": 100, "cores": [{"id": 2}]}],
        "accelerators": [{"label": "G", "kind": "gpu"}, {"label": "H", "kind": "gpu"}]}"#;
    let board = Board::from_json(text).unwrap();
    let graph = chain(4, 25);
    let mut table = CostTable::new(4, board.processor_classes());
    for processor in table.processors() {
        let microseconds = match table.classes()[processor.index()].cluster.as_str() {
            "B" => [None, Some(2000), Some(10), Some(2000)],
            "c" => [Some(20), None, None, None],
            _ => [None, Some(200), None, Some(20)],
        };
        for (operator, time) in microseconds.into_iter().enumerate() {
            if let Some(time) = time {
                table.set_time(processor, operator, Nanoseconds(1000 * time));
            }
        }
    }
    (board, graph, table)
}

/// What two teams take together over a link that is occupied, nobody knows: a team then has its stage for itself. What begins the network
/// occupies none.
#[test]
fn teams_do_not_share_occupied_links() {
    let occupied = |(board, graph, mut table): (Board, Graph, CostTable)| {
        let all: Vec<_> = table.processors().collect();
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
    // With a hand-over of 5 us, the second operator takes 205 us on a GPU and 2005 us on a core beside it, a team with all three 235 us.
    let period = 1.0 / (1.0 / 205_000.0 + 1.0 / 2_005_000.0_f64);
    assert_eq!(front.last().map(|plan| plan.period), Some(Nanoseconds(period.round() as u64)));
    assert!(stages().any(|stage| stage.has_teams()), "the lowest latency is that of a team");
}

/// A team that must have its stage for itself takes no single processor's place among replicas, in whatever order clusters stand.
#[test]
fn teams_do_not_push_out_replicas_over_links() {
    for labels in [["B", "s", "c"], ["s", "B", "c"]] {
        let cores = |label: &str| match label {
            "B" => r#"{"label": "B", "capacity": 1024, "cores": [{"id": 0}, {"id": 1}]}"#,
            "s" => r#"{"label": "s", "capacity": 500, "cores": [{"id": 2}]}"#,
            _ => r#"{"label": "c", "capacity": 100, "cores": [{"id": 3}]}"#,
        };
        let clusters = labels.map(cores).join(",");
        let text = format!(r#"{{"format": "millstream-board", "version": 1, "name": "n", "clusters": [{clusters}]}}"#);
        let board = Board::from_json(&text).unwrap();

        let graph = branches();
        let mut table = CostTable::new(4, board.processor_classes());
        for processor in table.processors() {
            let class = table.classes()[processor.index()].clone();
            // The first on c only; of the others one and two cores of B take 190 and 100 ns, one of s takes 100; a team of two B 95 + 0.
            let nanoseconds = match (class.cluster.as_str(), class.count) {
                ("B", 1) => [None, Some(95), Some(95), Some(0)],
                ("B", _) => [None, Some(50), Some(50), Some(0)],
                ("s", _) => [None, Some(50), Some(50), Some(0)],
                _ => [Some(1), None, None, None],
            };
            for (operator, time) in nanoseconds.into_iter().enumerate() {
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

        let all: Vec<_> = table.processors().collect();
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
            assert!(covers(front, 131, 65), "(B2|s1) behind c1, with 30 ns to take a frame over: {labels:?}");
            assert!(alone.iter().all(|plan| covers(front, plan.latency.0, plan.period.0)), "{labels:?}");
            assert!(
                front.iter().any(|plan| plan.latency == Nanoseconds(126)),
                "the team: {labels:?} {:?}",
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

/// A processor that makes 56 channels at once makes 56 of 64 in half the time of all: less than their share.
#[test]
fn the_bound_on_throughput_knows_waves_of_channels() {
    let model = millstream_zoo::build("squeezenet").unwrap();
    let graph = model.graph();
    let head = graph.order().iter().copied().find(|&id| graph.channel_units(id).is_some_and(|own| own.channels == 64));
    let head = head.unwrap();
    let mut table = CostTable::new(graph.operators().len(), board().processor_classes());
    for processor in table.processors() {
        let class = table.classes()[processor.index()].clone();
        let (time, wave) = if class.cluster == "G" { (12_000_000, 56) } else { (48_000_000, 1) };
        for id in graph.operator_ids() {
            table.set_time(processor, id.index(), Nanoseconds(if id == head { time } else { 0 }));
        }
        table.set_part(processor, head.index(), PartCost { wave, ..PartCost::default() });
    }
    let team = |cores: u32| {
        let whole = Assignment { processor: Processor::accelerator("G"), operators: graph.order().to_vec() };
        let part = Assignment { processor: Processor::new("B", [cores]), operators: vec![head] };
        let mut replica = Replica::new(vec![whole, part]);
        replica.splits.push(OperatorSplit { operators: vec![head], along: Along::Channels, shares: vec![56, 8] });
        replica
    };
    let schedule = Schedule { stages: vec![Stage { replicas: vec![team(0)] }] };
    schedule.validate(graph, &board()).unwrap();
    let found = schedule.evaluate(graph, &table).unwrap().period;
    assert_eq!(found, Nanoseconds(6_000_000));
    let bound = ThroughputBound::of(graph, &board(), &table).period;
    // 56 of 64 channels on G for 6 ms, and as much of the rest on two B and an s as they manage together.
    assert!(bound <= found && bound > Nanoseconds(4_000_000), "{bound}");
}

#[test]
fn a_team_that_disappoints_is_given_up() {
    let model = millstream_zoo::build("googlenet").unwrap();
    let graph = model.graph();
    let (board, table, chain) = (board(), table(graph, 2), Chain::of(graph));
    let class = |cluster: &str, count| ProcessorClass::new(cluster, count);
    let team = vec![class("B", 2), class("G", 1)];
    let mut problem = Problem::with_teams(graph, &chain, &board, &table, std::slice::from_ref(&team)).unwrap();
    let before = pareto_front(&problem).unwrap()[0].latency;
    problem.scale_team(&team, 100.0);
    let front = pareto_front(&problem).unwrap();
    assert!(front[0].latency > before);
    assert!(front.iter().all(|plan| plan.stages.iter().all(|stage| !stage.has_teams())));
}

#[test]
fn teams_are_of_two_to_four_processors_that_the_board_has() {
    let names: Vec<String> = teams_of(&board())
        .iter()
        .map(|team| team.iter().map(ToString::to_string).collect::<Vec<_>>().join("+"))
        .collect();
    let expected = [
        "s1+G1",
        "B1+s1",
        "B1+G1",
        "B1+s1+G1",
        "B2+s1",
        "B2+G1",
        "B2+s1+G1",
        "B1+B1",
        "B1+B1+s1",
        "B1+B1+G1",
        "B1+B1+s1+G1",
    ];
    let mut sorted = names.clone();
    sorted.sort_unstable();
    let mut wanted = expected.map(str::to_owned).to_vec();
    wanted.sort_unstable();
    assert_eq!(sorted, wanted);
}

/// A GPU with little memory gets no more than fits.
#[test]
fn memory_limits_what_an_accelerator_runs() {
    let model = millstream_zoo::build("squeezenet").unwrap();
    let graph = model.graph();
    let chain = Chain::of(graph);
    let mut free = table(graph, 5);
    // So fast that everything would go there.
    let gpu = free.processors().last().unwrap();
    for id in graph.operator_ids() {
        free.set_time(gpu, id.index(), Nanoseconds(10));
    }

    let with_memory = |bytes: Option<u64>| {
        let memory = bytes.map_or(String::new(), |bytes| format!(r#", "memory_bytes": {bytes}"#));
        Board::from_json(&BOARD.replace(r#""kind": "gpu""#, &format!(r#""kind": "gpu"{memory}"#))).unwrap()
    };
    let on_gpu = |schedule: &millstream_schedule::Schedule| -> u64 {
        let replicas = schedule.stages.iter().flat_map(|stage| &stage.replicas);
        let own = replicas.flat_map(|replica| &replica.assignments).filter(|own| own.processor.is_accelerator());
        own.map(|own| held_bytes(graph, &own.operators)).sum()
    };

    let whole = held_bytes(graph, graph.order());
    for limit in [None, Some(whole), Some(whole - 1), Some(8 << 20), Some(1 << 20)] {
        let board = with_memory(limit);
        let teams: Vec<Vec<ProcessorClass>> = teams_of(&board).into_iter().filter(|team| team.len() == 2).collect();
        let problem = Problem::with_teams(graph, &chain, &board, &free, &teams).unwrap();
        let front = pareto_front(&problem).unwrap();
        for plan in &front {
            let schedule = problem.schedule(plan);
            schedule.validate(graph, &board).unwrap();
            let used = on_gpu(&schedule);
            assert!(used <= limit.unwrap_or(u64::MAX), "{used} bytes of {limit:?}");
        }
        let fits = limit.is_none_or(|limit| limit >= whole);
        let is_whole = |plan: &Plan| on_gpu(&problem.schedule(plan)) == whole;
        assert_eq!(front.iter().any(is_whole), fits, "{limit:?} bytes for {whole}");
        // With a little, getting there may take longer than it saves.
        if limit != Some(1 << 20) {
            let fastest = on_gpu(&problem.schedule(&front[0]));
            assert!(fastest > 1 << 20, "the GPU is used where it can be: {fastest}");
        }
    }
}

/// Replicas have weights of their own, so that there are no more of them than the board's memory has room for.
#[test]
fn memory_limits_how_often_weights_are_there() {
    let model = millstream_zoo::build("squeezenet").unwrap();
    let graph = model.graph();
    let (chain, mut table) = (Chain::of(graph), table(graph, 5));
    // Frames are handed over so slowly that only replicas of the whole pay.
    for processor in table.processors() {
        table.set_hand_over(processor, HandOver { seconds: 10.0, seconds_per_byte: 0.0 });
    }
    let weights: u64 = graph.operator_ids().map(|id| graph.operator(id).work.weight_bytes).sum();
    let problem = |bytes: Option<u64>| {
        let memory = bytes
            .map_or(String::new(), |bytes| format!(r#", "memory": {{"bytes_per_second": 1e12, "bytes": {bytes}}}"#));
        let board = BOARD.trim_end().strip_suffix('}').unwrap().to_owned() + &memory + "}";
        Problem::new(graph, &chain, &Board::from_json(&board).unwrap(), &table).unwrap()
    };
    let held = |problem: &Problem, plan: &Plan| -> u64 {
        let stages = problem.schedule(plan).stages;
        let operators =
            stages.iter().flat_map(|stage| &stage.replicas).flat_map(millstream_schedule::Replica::operators);
        operators.map(|id| graph.operator(id).work.weight_bytes).sum()
    };
    let free = problem(None);
    let fastest = best_period(&free).unwrap();
    assert!(held(&free, &fastest) > 2 * weights, "replicas pay");

    let limit = 2 * weights + (8 << 20);
    let limited = problem(Some(limit));
    let front = pareto_front(&limited).unwrap();
    assert!(front.iter().all(|plan| held(&limited, plan) <= limit));
    let best = best_period(&limited).unwrap();
    assert!(best.period > fastest.period && front.iter().all(|plan| best.period <= plan.period));
    let Err(PipelineError::Memory { least_bytes, most_bytes }) = pareto_front(&problem(Some(1 << 20))) else {
        panic!()
    };
    assert!(least_bytes > weights && most_bytes == 1 << 20, "{least_bytes}");

    // Enough for everything changes nothing.
    assert_eq!(best_period(&problem(Some(1 << 40))).unwrap(), fastest);
}

/// A team takes longer behind a slow link than behind none, as evaluation says.
#[test]
fn teams_pay_for_links() {
    let model = millstream_zoo::build("squeezenet").unwrap();
    let graph = model.graph();
    let (board, chain, mut table) = (board(), Chain::of(graph), table(graph, 5));
    let [big, small] = ["B", "s"].map(|label| table.find(&ProcessorClass::new(label, 1)).unwrap());
    for (from, to, seconds) in [(big, small, 3e-5), (small, big, 7e-5), (big, big, 1e-5)] {
        let hand_over = HandOver { seconds, seconds_per_byte: 1e-10 };
        table.set_link(from, to, LinkCost { hand_over, occupied_seconds_per_byte: 0.0 });
    }
    let problem = Problem::with_teams(graph, &chain, &board, &table, &teams_of(&board)).unwrap();
    let mut behind_links = 0;
    for plan in pareto_front(&problem).unwrap() {
        let evaluation = problem.schedule(&plan).evaluate(graph, &table).unwrap();
        assert_eq!((evaluation.period, evaluation.latency), (plan.period, plan.latency), "{}", plan.configuration());
        behind_links += plan.stages.iter().skip(1).filter(|stage| stage.has_teams()).count();
    }
    assert!(behind_links > 0, "some team should take frames over from another stage");
}

/// Para-Pipe's pipelines are among those of the exact search, and each strategy is the best of its kind.
#[test]
fn para_pipe_is_never_better() {
    for (name, seed) in [("googlenet", 7), ("petr-like", 8)] {
        let model = millstream_zoo::build(name).unwrap();
        let graph = model.graph();
        let (board, table, chain) = (board(), table(graph, seed), Chain::of(graph));
        let class = |cluster: &str, count| ProcessorClass::new(cluster, count);
        let processors = vec![class("B", 2), class("s", 1), class("G", 1)];
        let teams = ParaPipe::teams(&processors);
        assert_eq!(teams.len(), 4);

        let problem = Problem::with_teams(graph, &chain, &board, &table, &teams).unwrap();
        let before = pareto_front(&problem).unwrap();
        let plan = |strategy| ParaPipe { processors: processors.clone(), strategy }.search(&problem).unwrap();
        let all = Strategy::ALL.map(plan);
        // Para-Pipe looks at everything that its teams could run, which the search does not before it knows that it is worth it.
        let front = pareto_front(&problem).unwrap();

        for (strategy, found) in Strategy::ALL.into_iter().zip(all) {
            let is_close = |own: u64, found: u64| own as f64 <= found as f64 * 1.02;
            let is_as_good =
                |own: &Plan| is_close(own.period.0, found.period.0) && is_close(own.latency.0, found.latency.0);
            assert!(before.iter().any(is_as_good), "{name} {strategy:?}: the search should have looked at more teams");
            let schedule = problem.schedule(&found);
            schedule.validate(graph, &board).unwrap();
            let evaluation = schedule.evaluate(graph, &table).unwrap();
            assert_eq!((evaluation.period, evaluation.latency), (found.period, found.latency), "{name} {schedule}");
            let dominates = |own: &Plan| own.period <= found.period && own.latency <= found.latency;
            assert!(front.iter().any(dominates), "{name} {strategy:?}: the exact front has nothing as good");
        }

        let [pipe, para, low, high, balanced] = Strategy::ALL.map(plan);
        assert_eq!((pipe.stages.len(), para.stages.len()), (3, 1));
        assert!(low.latency <= high.latency && high.period <= low.period);
        let product = |plan: &Plan| plan.period.seconds() * plan.latency.seconds();
        assert!(product(&balanced) <= product(&low).min(product(&high)) * (1.0 + 1e-12));
    }
}
