//! Stages that several processors own together: what plans say of them is what evaluation says, and they only help.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex};

use millstream_board::{Board, EngineName, Processor, ProcessorClass};
use millstream_cost::{
    CostTable, HandOver, LinkCost, Nanoseconds, PartCost, PowerOrigin, ProcessorPower, RowCost, TransferModel,
};
use millstream_graph::{Along, DataType, Graph, GraphBuilder, NewOperator, OperatorKind, Shape};
use millstream_partition::Chain;
use millstream_pipeline::{
    ParaPipe, ParaPipeStrategy, PipelineError, Plan, PlannedStage, Problem, Search, ThroughputBound, best_period,
    pareto_front, teams_of,
};
use millstream_schedule::{Assignment, OperatorSplit, Replica, Schedule, Stage, held_bytes};
use millstream_test_support::{board, connect, find_operators, table as table_of};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const TWO_CLUSTERS_AND_A_GPU: &str = "B2+s1:300+G";

fn two_clusters_and_a_gpu() -> Board {
    board(TWO_CLUSTERS_AND_A_GPU)
}

/// Times by work with some noise; two cores are 1.7 times as fast as one, the GPU does not run everything.
fn table(graph: &Graph, seed: u64) -> CostTable {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut table = CostTable::new(graph.operators().len(), two_clusters_and_a_gpu().processor_classes());
    for processor in table.class_ids() {
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
            table.set_time(processor, id, Nanoseconds(time as u64));
            table.set_part(processor, id, PartCost { fixed_fraction: 0.1, wave: 1, apart: Nanoseconds(300) });
        }
        table.set_hand_over(processor, HandOver { seconds: 2e-6, seconds_per_byte: 1e-11 });
        let power = ProcessorPower { active_watts: 3.0 * speed, idle_watts: 0.2, origin: PowerOrigin::BoardFile };
        table.set_power(processor, power);
        for other in table.class_ids() {
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
        let (board, table, chain) = (two_clusters_and_a_gpu(), table(graph, seed), Chain::of(graph));
        let alone = Problem::new(graph, &chain, &board, &table).unwrap();
        let teams: Vec<Vec<ProcessorClass>> = teams_of(&board).into_iter().filter(|team| team.len() == 2).collect();
        let together = Problem::with_teams(graph, &chain, &board, &table, &teams).unwrap();
        assert!(together.has_teams() && !alone.has_teams() && !together.clone().without_teams().has_teams());
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

/// A processor that makes 56 channels at once makes 56 of 64 in half the time of all: less than their share.
#[test]
fn the_bound_on_throughput_knows_waves_of_channels() {
    let model = millstream_zoo::build("squeezenet").unwrap();
    let graph = model.graph();
    let head =
        graph.order().iter().copied().find(|&id| graph.channel_units(id).is_some_and(|units| units.channels == 64));
    let head = head.unwrap();

    let mut table = CostTable::new(graph.operators().len(), two_clusters_and_a_gpu().processor_classes());
    for processor in table.class_ids() {
        let class = table.classes()[processor.index()].clone();
        let (time, wave) = if class.cluster == "G" { (12_000_000, 56) } else { (48_000_000, 1) };
        for id in graph.operator_ids() {
            table.set_time(processor, id, Nanoseconds(if id == head { time } else { 0 }));
        }
        table.set_part(processor, head, PartCost { wave, ..PartCost::default() });
    }

    let team = |cores: u32| {
        let whole = Assignment { processor: Processor::accelerator("G"), operators: graph.order().to_vec() };
        let part = Assignment { processor: Processor::new("B", [cores]), operators: vec![head] };
        let mut replica = Replica::new(vec![whole, part]);
        replica.splits.push(OperatorSplit { operators: vec![head], along: Along::Channels, shares: vec![56, 8] });
        replica
    };

    let schedule = Schedule { stages: vec![Stage { replicas: vec![team(0)] }] };
    schedule.validate(graph, &two_clusters_and_a_gpu()).unwrap();
    let found = schedule.evaluate(graph, &table).unwrap().period;
    assert_eq!(found, Nanoseconds(6_000_000));
    let bound = ThroughputBound::of(graph, &two_clusters_and_a_gpu(), &table).period;
    // 56 of 64 channels on G for 6 ms, and as much of the rest on two B and an s as they manage together.
    assert!(bound <= found && bound > Nanoseconds(4_000_000), "{bound}");
}

#[test]
fn a_team_that_disappoints_is_given_up() {
    let model = millstream_zoo::build("googlenet").unwrap();
    let graph = model.graph();
    let (board, table, chain) = (two_clusters_and_a_gpu(), table(graph, 2), Chain::of(graph));
    let class = |cluster: &str, count| ProcessorClass::new(cluster, count);
    let team = vec![class("B", 2), class("G", 1)];
    let mut problem = Problem::with_teams(graph, &chain, &board, &table, std::slice::from_ref(&team)).unwrap();
    let before = pareto_front(&problem).unwrap()[0].latency;
    problem.scale_team(&team, 100.0);
    let front = pareto_front(&problem).unwrap();
    assert!(front[0].latency > before);
    assert!(front.iter().all(|plan| plan.stages.iter().all(|stage| !stage.has_teams())));
}

/// The gap between the shortest period that is known and the one that is hoped for. It need not always shrink; that of
/// this network does.
#[test]
fn the_gap_shrinks_round_by_round() {
    let model = millstream_zoo::build("squeezenet").unwrap();
    let graph = model.graph();
    let (board, table, chain) = (two_clusters_and_a_gpu(), table(graph, 1), Chain::of(graph));
    let told = Arc::new(Mutex::new(Vec::new()));
    let teller = Arc::clone(&told);
    let together = Problem::with_teams(graph, &chain, &board, &table, &teams_of(&board)).unwrap();
    let together = together.without_replicas().with_progress(move |progress| {
        teller.lock().unwrap().push(*progress);
        true
    });
    best_period(&together).unwrap();

    let told = told.lock().unwrap();
    assert!(told.iter().map(|progress| progress.rounds).eq(0..told.len() as u64), "{told:?}");
    let gaps: Vec<f64> = told.iter().map(|progress| progress.gap).collect();
    assert!(gaps.len() > 2 && gaps.is_sorted_by(|one, next| one > next), "{gaps:?}");
    assert!(gaps[0] > 0.01 && gaps[0] < 0.5 && (0.0..0.01).contains(gaps.last().unwrap()), "{gaps:?}");
}

#[test]
fn teams_are_of_two_to_four_processors_that_the_board_has() {
    let names: Vec<String> = teams_of(&two_clusters_and_a_gpu())
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
    let gpu = free.class_ids().last().unwrap();
    for id in graph.operator_ids() {
        free.set_time(gpu, id, Nanoseconds(10));
    }

    let with_memory = |bytes: Option<u64>| {
        let memory = bytes.map(|bytes| format!("[{bytes}]")).unwrap_or_default();
        board(&format!("{TWO_CLUSTERS_AND_A_GPU}{memory}"))
    };
    let on_gpu = |schedule: &millstream_schedule::Schedule| -> u64 {
        let replicas = schedule.stages.iter().flat_map(|stage| &stage.replicas);
        let accelerators = replicas
            .flat_map(|replica| &replica.assignments)
            .filter(|assignment| assignment.processor.is_accelerator());
        accelerators.map(|assignment| held_bytes(graph, &assignment.operators)).sum()
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
    for processor in table.class_ids() {
        table.set_hand_over(processor, HandOver { seconds: 10.0, seconds_per_byte: 0.0 });
    }
    let weights: u64 = graph.operator_ids().map(|id| graph.operator(id).work.weight_bytes).sum();
    let problem = |bytes: Option<u64>| {
        let memory = bytes.map_or(String::new(), |bytes| format!("!{bytes}"));
        Problem::new(graph, &chain, &board(&format!("{TWO_CLUSTERS_AND_A_GPU}{memory}")), &table).unwrap()
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

/// Two processors that divide rows both have the weights of what they divide, so that a team may not fit where one
/// processor does.
#[test]
fn memory_limits_who_divides_rows() {
    let model = millstream_zoo::build("squeezenet").unwrap();
    let graph = model.graph();
    let (chain, mut table) = (Chain::of(graph), table(graph, 5));
    for processor in table.class_ids() {
        table.set_hand_over(processor, HandOver { seconds: 10.0, seconds_per_byte: 0.0 });
        for id in graph.operator_ids() {
            table.set_part(processor, id, PartCost { fixed_fraction: 1.0, wave: 1, apart: Nanoseconds(300) });
            let [start, read, write] = [10, 10, 10].map(Nanoseconds);
            table.set_rows(processor, id, RowCost { fixed_fraction: 0.0, start, read, write });
        }
    }
    let quickest = |memory: &str| {
        let board = board(&format!("{TWO_CLUSTERS_AND_A_GPU}{memory}"));
        let teams: Vec<Vec<ProcessorClass>> = teams_of(&board).into_iter().filter(|team| team.len() == 2).collect();
        let problem = Problem::with_teams(graph, &chain, &board, &table, &teams).unwrap();
        let front = pareto_front(&problem).unwrap();
        let plan = front.iter().min_by_key(|plan| plan.latency).unwrap();
        let schedule = problem.schedule(plan);
        schedule.validate(graph, &board).unwrap();
        (plan.latency, schedule.memory_bytes(graph, &board), schedule)
    };

    let (latency, held, schedule) = quickest("");
    let splits = schedule.stages.iter().flat_map(|stage| &stage.replicas).flat_map(|replica| &replica.splits);
    assert!(splits.into_iter().any(|split| split.along == Along::Rows), "rows are divided where there is room");
    assert_eq!(quickest(&format!(" !{held}")).0, latency);
    let (limited, less, _) = quickest(&format!(" !{}", held - 1));
    assert!(less < held && limited > latency, "{less} of {held} bytes");
}

/// A team takes longer behind a slow link than behind none, as evaluation says.
#[test]
fn teams_pay_for_links() {
    let model = millstream_zoo::build("squeezenet").unwrap();
    let graph = model.graph();
    let (board, chain, mut table) = (two_clusters_and_a_gpu(), Chain::of(graph), table(graph, 5));
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
        let (board, table, chain) = (two_clusters_and_a_gpu(), table(graph, seed), Chain::of(graph));
        let class = |cluster: &str, count| ProcessorClass::new(cluster, count);
        let processors = vec![class("B", 2), class("s", 1), class("G", 1)];
        let teams = ParaPipe::teams(&processors);
        assert_eq!(teams.len(), 4);

        let problem = Problem::with_teams(graph, &chain, &board, &table, &teams).unwrap();
        let before = pareto_front(&problem).unwrap();
        let plan = |strategy| ParaPipe { processors: processors.clone(), strategy }.search(&problem).unwrap();
        let all = ParaPipeStrategy::ALL.map(plan);
        // Para-Pipe looks at everything that its teams could run, which the search does not before it knows that it is
        // worth it.
        let front = pareto_front(&problem).unwrap();

        for (strategy, found) in ParaPipeStrategy::ALL.into_iter().zip(all) {
            let is_close = |value: u64, found: u64| value as f64 <= found as f64 * 1.02;
            let is_as_good =
                |plan: &Plan| is_close(plan.period.0, found.period.0) && is_close(plan.latency.0, found.latency.0);
            assert!(before.iter().any(is_as_good), "{name} {strategy:?}: the search should have looked at more teams");
            let schedule = problem.schedule(&found);
            schedule.validate(graph, &board).unwrap();
            let evaluation = schedule.evaluate(graph, &table).unwrap();
            assert_eq!((evaluation.period, evaluation.latency), (found.period, found.latency), "{name} {schedule}");
            let dominates = |plan: &Plan| plan.period <= found.period && plan.latency <= found.latency;
            assert!(front.iter().any(dominates), "{name} {strategy:?}: the exact front has nothing as good");
        }

        let [pipe, para, low, high, balanced] = ParaPipeStrategy::ALL.map(plan);
        assert_eq!((pipe.stages.len(), para.stages.len()), (3, 1));
        assert!(low.latency <= high.latency && high.period <= low.period);
        let product = |plan: &Plan| plan.period.seconds() * plan.latency.seconds();
        assert!(product(&balanced) <= product(&low).min(product(&high)) * (1.0 + 1e-12));
    }
}

/// Two branches, each quicker with another engine: the team has one core with either.
#[test]
fn processors_of_a_team_have_the_engines_that_are_quicker_for_their_operators() {
    let mut builder = GraphBuilder::new("branches");
    let names = ["x", "head", "left", "right", "join"];
    let values = names.map(|name| builder.value(name, Some(DataType::F32), Some(Shape::from([1, 8]))).unwrap());
    let [x, head, left, right, join] = values;
    builder.input(x);
    for (name, reads, made) in [
        ("head", vec![x], head),
        ("left", vec![head], left),
        ("right", vec![head], right),
        ("join", vec![left, right], join),
    ] {
        builder.operator(NewOperator::new(name, "Any", OperatorKind::Opaque).reads(reads).makes([made])).unwrap();
    }
    builder.output(join);
    let graph = builder.build().unwrap();

    let board = board("B2@onnxruntime,openvino");
    let mut table = table_of(&graph, &board, |operator, class| {
        let is_quick = match operator.name.as_str() {
            "left" => class.engine == EngineName::OnnxRuntime,
            "right" => class.engine == EngineName::OpenVino,
            _ => return Some(1_000),
        };
        Some(if is_quick { 1_000_000 } else { 3_000_000 })
    });
    connect(&mut table, TransferModel { latency_seconds: 1e-6, ..TransferModel::default() });

    let chain = Chain::of(&graph);
    let problem = Problem::with_teams(&graph, &chain, &board, &table, &teams_of(&board)).unwrap();
    let plan = pareto_front(&problem).unwrap().remove(0);
    let schedule = problem.schedule(&plan);
    schedule.validate(&graph, &board).unwrap();
    let evaluation = schedule.evaluate(&graph, &table).unwrap();
    assert_eq!((evaluation.period, evaluation.latency), (plan.period, plan.latency), "{schedule}");
    assert!(plan.latency < Nanoseconds(1_100_000), "{schedule}: {}", plan.latency);

    let assignments = &schedule.stages[0].replicas[0].assignments;
    let engine_of = |name: &str| {
        let [id] = find_operators(&graph, &[name])[..] else { panic!("{name} is there once") };
        let owner = assignments.iter().find(|assignment| assignment.operators.contains(&id)).unwrap();
        owner.processor.engine
    };
    assert_eq!([engine_of("left"), engine_of("right")], [EngineName::OnnxRuntime, EngineName::OpenVino]);
}
