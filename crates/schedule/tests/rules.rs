//! What schedules are refused for, and what the execution semantics give on small cases worked out by hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{Board, Processor, Provenance};
use millstream_cost::{CostTable, HandOver, Nanoseconds, PowerOrigin, ProcessorPower, TransferModel};
use millstream_graph::Graph;
use millstream_schedule::{
    Assignment, BoardReference, ModelReference, Prediction, Replica, SCHEDULE_FORMAT, SCHEDULE_VERSION, Schedule,
    ScheduleDocument, ScheduleError, SizesDocument, Stage, StatedConstraints, check_memory_together, held_bytes,
    replicated_period,
};
use millstream_test_support::{connect, diamond, find_operators};

fn board() -> Board {
    millstream_test_support::board("B2+s2:500")
}

/// Values of 100 bytes each.
fn graph_of(text: &str) -> Graph {
    millstream_test_support::graph(25, text)
}

/// Big cores take 10 ns for every operator, small ones 20; a hand-over takes 5 ns and 0.01 ns per byte.
fn table(graph: &Graph) -> CostTable {
    let mut table = millstream_test_support::table(graph, &board(), |_, class| {
        let time = if class.cluster == "B" { 10 } else { 20 };
        Some(time / class.count as u64)
    });
    connect(&mut table, TransferModel { latency_seconds: 5e-9, seconds_per_byte: 1e-11, ..TransferModel::default() });
    for processor in table.class_ids() {
        table.set_hand_over(processor, HandOver { seconds: 5e-9, seconds_per_byte: 1e-11 });
    }
    table
}

fn assignment(graph: &Graph, cluster: &str, core: u32, operators: &[&str]) -> Assignment {
    Assignment { processor: Processor::new(cluster, [core]), operators: find_operators(graph, operators) }
}

fn stage(replicas: Vec<Vec<Assignment>>) -> Stage {
    Stage { replicas: replicas.into_iter().map(Replica::new).collect() }
}

/// `stem left` on a big core, then `right join` on either of two small ones.
fn pipeline(graph: &Graph) -> Schedule {
    let second = |core| vec![assignment(graph, "s", core, &["right", "join"])];
    Schedule {
        stages: vec![
            stage(vec![vec![assignment(graph, "B", 0, &["stem", "left"])]]),
            stage(vec![second(2), second(3)]),
        ],
    }
}

#[test]
fn a_pipeline_with_replicas() {
    let graph = diamond();
    let schedule = pipeline(&graph);
    schedule.validate(&graph, &board()).unwrap();
    assert_eq!(schedule.to_string(), "B1-(s1|s1)");
    let evaluation = schedule.evaluate(&graph, &table(&graph)).unwrap();
    // The second stage takes over a and b: 5 + 0.01 * 200 ns, then works for 40.
    assert_eq!(evaluation.stages[1].replica_times, [Nanoseconds(47), Nanoseconds(47)]);
    assert_eq!(evaluation.stages[1].period, Nanoseconds(24), "23.5 rounded");
    assert_eq!((evaluation.period, evaluation.latency), (Nanoseconds(24), Nanoseconds(20 + 47)));
    assert_eq!(evaluation.bottleneck(), Some(1));

    let mut table = table(&graph);
    assert_eq!(schedule.energy(&graph, &table).unwrap(), None, "nobody knows what processors draw");
    for class in table.class_ids() {
        let is_big = table.classes()[class.index()].cluster == "B";
        let (active_watts, idle_watts) = if is_big { (3.0, 1.0) } else { (1.5, 0.5) };
        table.set_power(class, ProcessorPower { active_watts, idle_watts, origin: PowerOrigin::BoardFile });
    }
    let energy = schedule.energy(&graph, &table).unwrap().unwrap();
    // 2 W for 24 ns; 2 W more for 20 ns; and each small core 1 W more for 47 ns of every other frame.
    assert!((energy.joules_per_frame - (48.0 + 40.0 + 47.0) * 1e-9).abs() < 1e-15, "{energy:?}");
    assert!((energy.watts - 135.0 / 24.0).abs() < 1e-9, "{energy:?}");
}

#[test]
fn branches_on_two_processors_of_one_stage() {
    let graph = diamond();
    let replica = vec![assignment(&graph, "B", 0, &["stem", "left", "join"]), assignment(&graph, "B", 1, &["right"])];
    let schedule = Schedule { stages: vec![stage(vec![replica])] };
    schedule.validate(&graph, &board()).unwrap();
    assert_eq!(schedule.to_string(), "B1+B1");
    // stem 0-10; left 10-20; right starts when a has crossed (16) and ends at 26; its result crosses until 32; join
    // until 42.
    assert_eq!(schedule.evaluate(&graph, &table(&graph)).unwrap().period, Nanoseconds(42));
}

#[test]
fn replicas_share_the_work_by_their_speed() {
    let nanoseconds =
        |times: &[u64]| replicated_period(&times.iter().map(|&time| Nanoseconds(time)).collect::<Vec<_>>());
    assert_eq!(nanoseconds(&[30]), Nanoseconds(30));
    assert_eq!(nanoseconds(&[30, 30]), Nanoseconds(15));
    assert_eq!(nanoseconds(&[10, 30]), Nanoseconds(8), "7.5 rounded");
}

#[test]
fn impossible_schedules_are_refused() {
    type Damage = fn(&Graph, &mut Schedule);
    let cases: [(Damage, &str); 9] = [
        (|_, schedule| schedule.stages.clear(), "the schedule is empty"),
        (|_, schedule| schedule.stages[1].replicas.clear(), "stage 2 is empty"),
        (
            |_, schedule| schedule.stages[0].replicas[0].assignments[0].operators.clear(),
            "a processor of stage 1 is empty",
        ),
        (
            |graph, schedule| {
                schedule.stages[0].replicas[0].assignments[0] = assignment(graph, "B", 7, &["stem", "left"]);
            },
            "stage 1: core 7 does not belong to cluster 'B'",
        ),
        (
            |graph, schedule| {
                schedule.stages[0].replicas[0].assignments[0] = assignment(graph, "x", 0, &["stem", "left"]);
            },
            "no cluster or accelerator 'x'; it has B, s",
        ),
        (
            |graph, schedule| {
                schedule.stages[1].replicas[1].assignments[0] = assignment(graph, "s", 2, &["right", "join"]);
            },
            "core 2 is used twice, the second time in stage 2",
        ),
        (
            |graph, schedule| {
                schedule.stages[1].replicas[1].assignments[0] = assignment(graph, "s", 3, &["right"]);
            },
            "'join' is scheduled in stage 2 and elsewhere, or not in all replicas",
        ),
        (|_, schedule| drop(schedule.stages.pop()), "no stage runs the operator 'right'"),
        (
            |_, schedule| schedule.stages[0].replicas[0].assignments[0].operators.reverse(),
            "operator 'left' of stage 1 can never start: it needs the result of 'stem'",
        ),
    ];

    let graph = diamond();
    for (damage, expected) in cases {
        let mut schedule = pipeline(&graph);
        damage(&graph, &mut schedule);
        let message = schedule.validate(&graph, &board()).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

/// Right beside what left made and what both read, and join beside what it reads: three values at once in each of two
/// replicas.
#[test]
fn what_does_not_fit_into_the_memory_is_refused() {
    let graph = diamond();
    let all = ["stem", "left", "right", "join"];
    let replicas = vec![vec![assignment(&graph, "B", 0, &all)], vec![assignment(&graph, "B", 1, &all)]];
    let schedule = Schedule { stages: vec![stage(replicas)] };
    assert_eq!(schedule.memory_bytes(&graph, &board()), 600);
    let with = |bytes: u64| millstream_test_support::board(&format!("B2 !{bytes}"));
    schedule.validate(&graph, &with(600)).unwrap();
    let refused = schedule.validate(&graph, &with(599)).unwrap_err();
    assert!(matches!(refused, ScheduleError::Memory { needed_bytes: 600, most_bytes: 599 }), "{refused}");
    // Two networks are both there, whoever's turn it is.
    let both = [(&schedule, &graph), (&schedule, &graph)];
    check_memory_together(&both, &with(1200)).unwrap();
    let refused = check_memory_together(&both, &with(1199)).unwrap_err();
    assert!(matches!(refused, ScheduleError::Memory { needed_bytes: 1200, most_bytes: 1199 }), "{refused}");

    // What somebody else reads later is kept: a beside b and c while c is made, and both beside d.
    let kept = graph_of(
        "stem: input -> a
         left: a -> b
         more: b -> c
         later: a c -> d",
    );
    let stages = vec![
        stage(vec![vec![assignment(&kept, "B", 0, &["stem", "left", "more"])]]),
        stage(vec![vec![assignment(&kept, "B", 1, &["later"])]]),
    ];
    assert_eq!(Schedule { stages }.memory_bytes(&kept, &board()), 300 + 300);

    // On a GPU with memory of its own, they are there and not in the memory of the board.
    let with = |bytes: u64| millstream_test_support::board(&format!("B1+G[{bytes}] !1"));
    let operators = graph.order().to_vec();
    let held = held_bytes(&graph, &operators);
    assert_eq!(held, 500, "the input and four values");
    let alone = Replica::single(Processor::accelerator("G"), operators);
    let schedule = Schedule { stages: vec![Stage { replicas: vec![alone] }] };
    schedule.validate(&graph, &with(held)).unwrap();
    let refused = schedule.validate(&graph, &with(held - 1)).unwrap_err();
    assert!(matches!(refused, ScheduleError::AcceleratorMemory { .. }), "{refused}");
    // Who has only a part of the operators there works in the memory of the board as well.
    let gpu = Assignment { processor: Processor::accelerator("G"), operators: vec![graph.order()[0]] };
    let shared = stage(vec![vec![gpu, assignment(&graph, "B", 0, &["left", "right", "join"])]]);
    assert_eq!(Schedule { stages: vec![shared] }.memory_bytes(&graph, &with(held)), 300);
    assert_eq!(schedule.memory_bytes(&graph, &with(held)), 0);
    let both = [(&schedule, &graph), (&schedule, &graph)];
    check_memory_together(&both, &with(2 * held)).unwrap();
    let refused = check_memory_together(&both, &with(2 * held - 1)).unwrap_err();
    assert!(matches!(refused, ScheduleError::AcceleratorMemory { .. }), "{refused}");
}

#[test]
fn unsupported_operators_and_waiting_in_a_circle_have_no_evaluation() {
    let graph = diamond();
    let empty = CostTable::new(graph.operators().len(), board().processor_classes());
    assert!(matches!(pipeline(&graph).evaluate(&graph, &empty), Err(ScheduleError::Unsupported { .. })));
    let replica = vec![assignment(&graph, "B", 0, &["join", "stem"]), assignment(&graph, "B", 1, &["left", "right"])];
    let schedule = Schedule { stages: vec![stage(vec![replica])] };
    assert!(matches!(schedule.evaluate(&graph, &table(&graph)), Err(ScheduleError::Order { .. })));
    assert!(matches!(schedule.validate(&graph, &board()), Err(ScheduleError::Order { .. })));
}

#[test]
fn a_document_survives_a_round_trip_and_knows_what_it_is_for() {
    let graph = diamond();
    let schedule = pipeline(&graph);
    let evaluation = schedule.evaluate(&graph, &table(&graph)).unwrap();
    let document = ScheduleDocument {
        clocks: [("B".to_owned(), 1_000_000_000)].into(),
        format: SCHEDULE_FORMAT.into(),
        version: SCHEDULE_VERSION,
        provenance: Provenance { tool_version: "0.1.0".into(), created: "2026-01-01T00:00:00Z".into() },
        model: ModelReference {
            name: "diamond".into(),
            source: "diamond.onnx".into(),
            digest: "d1".into(),
            dimensions: vec![("height".into(), 224)],
            batch: 1,
        },
        board: BoardReference { name: "test".into(), fingerprint: "a fingerprint".into(), engines: Default::default() },
        algorithm: "exact".into(),
        objective: millstream_schedule::Objective::Throughput,
        configuration: schedule.to_string(),
        constraints: StatedConstraints { max_watts: Some(2.0), margin: 0.1, ..StatedConstraints::default() },
        predicted: Prediction::new(&evaluation, 20e-9),
        stages: schedule.to_stages(&graph),
    };
    insta::assert_json_snapshot!(document);
    let mut again = ScheduleDocument::from_json(&serde_json::to_string(&document).unwrap()).unwrap();
    assert_eq!(again, document);

    again.board.fingerprint = board().fingerprint();
    assert_eq!(again.resolve(&graph, "d1", &board()).unwrap(), schedule);
    assert!(matches!(again.resolve(&graph, "d2", &board()), Err(ScheduleError::OtherModel { .. })));
    assert!(matches!(document.resolve(&graph, "d1", &board()), Err(ScheduleError::OtherBoard { lacks: None, .. })));
    let mut gone = document.clone();
    gone.stages[0].replicas[0].assignments[0].processor = Processor::accelerator("N");
    let message = gone.resolve(&graph, "d1", &board()).unwrap_err().to_string();
    assert!(
        message.contains("no cluster or accelerator 'N'") && message.contains("make a schedule for this board"),
        "{message}"
    );

    gone.board.engines = [("B".to_owned(), "xnnpack".parse().unwrap())].into();
    let message = gone.resolve(&graph, "d1", &board()).unwrap_err().to_string();
    assert!(message.contains("no engine 'xnnpack', only onnxruntime, openvino"), "{message}");
    again.version = 2;
    let newer = serde_json::to_string(&again).unwrap();
    assert!(ScheduleDocument::from_json(&newer).unwrap_err().to_string().contains("version: is 2"));

    let mut larger = document.clone();
    let sizes = |plans: &[&ScheduleDocument]| {
        let file = SizesDocument::new(plans.iter().map(|&plan| plan.clone()).collect());
        SizesDocument::from_json(&serde_json::to_string(&file).unwrap()).map_err(|error| error.to_string())
    };
    assert!(sizes(&[&document, &larger]).unwrap_err().contains("is a second plan for"));
    assert!(sizes(&[]).unwrap_err().contains("is empty"));
    larger.model.digest = "d3".into();
    assert_eq!(sizes(&[&document, &larger]).unwrap().plans, [document, larger]);
}

#[test]
fn as_many_frames_are_in_flight_as_the_larger_of_two_stages_has_replicas_between_them() {
    let of = |stages: &[usize]| {
        let replica = |core| Replica::single(Processor::new("B", [core as u32]), Vec::new());
        let stage = |&count: &usize| Stage { replicas: (0..count).map(replica).collect() };
        Schedule { stages: stages.iter().map(stage).collect() }.frames_in_flight()
    };
    for (stages, expected) in
        [(&[][..], 0), (&[3], 3), (&[1, 1], 3), (&[4, 2], 10), (&[2, 4], 10), (&[1, 4, 1], 14), (&[1, 1, 1, 1], 7)]
    {
        assert_eq!(of(stages), expected, "{stages:?}");
    }
}
