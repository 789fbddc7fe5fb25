//! Replicas that occupy the same link for different times, or are not done at the same time, by hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{Processor, ProcessorClass};
use millstream_cost::{CostTable, HandOver, LinkCost, Nanoseconds};
use millstream_graph::{DataType, Graph, GraphBuilder, NewOperator, OperatorId, OperatorKind, Shape};
use millstream_schedule::{Assignment, Replica, Schedule, Stage};
use millstream_sim::{SimulationSettings, SteadyState, simulate};

/// `first` makes 100 bytes for `left` and 1000 for `right`.
fn graph() -> Graph {
    let mut builder = GraphBuilder::new("fork");
    let mut value = |name: &str, size| builder.value(name, Some(DataType::F32), Some(Shape::from([size]))).unwrap();
    let (input, small, large) = (value("input", 1), value("small", 25), value("large", 250));
    let (left, right) = (value("of left", 1), value("of right", 1));
    builder.input(input);
    let mut operator = |name: &str, reads, makes: &[_]| {
        let operator = NewOperator::new(name, "x", OperatorKind::Opaque);
        builder.operator(operator.reads([reads]).makes(makes.iter().copied())).unwrap()
    };
    operator("first", input, &[small, large]);
    operator("left", small, &[left]);
    operator("right", large, &[right]);
    builder.output(left);
    builder.output(right);
    builder.build().unwrap()
}

/// A replica of 50 ns that occupies the link for 1100 ns a frame, and one of 200 ns beside it that occupies it for 100
/// ns.
///
/// In proportion to how often each would take a frame, four would go to the first for each that goes to the second, and
/// the link would be occupied for (4 * 1100 + 100) / 5 = 900 ns a frame. But who is free waits for the link, one after
/// the other. Say that it comes to the second at 0 and to the first, which waited, at 100. The first is done at 150 and
/// waits again, the second at 200: the link comes to the first once more at 1200, and to the second at 2300. So three
/// frames pass in 2300 ns.
#[test]
fn unlike_replicas_behind_a_link_are_promised_what_they_show() {
    let graph = graph();
    let classes = ["A", "B", "C"].map(|cluster| ProcessorClass::new(cluster, 1));
    let mut table = CostTable::new(3, classes.clone());
    let [from, to, beside] = classes.map(|class| table.find(&class).unwrap());
    table.set_time(from, OperatorId::new(0), Nanoseconds(10));
    table.operator_ids().skip(1).for_each(|operator| table.set_time(to, operator, Nanoseconds(25)));
    table.set_time(beside, OperatorId::new(2), Nanoseconds(200));
    table.set_link(from, to, LinkCost { hand_over: HandOver::FREE, occupied_seconds_per_byte: 1e-9 });

    let [first, left, right] = graph.order() else { panic!("there are three operators") };
    let on = |cluster: &str, core, operators: &[_]| Assignment {
        processor: Processor::new(cluster, [core]),
        operators: operators.to_vec(),
    };
    let alone = Replica::new(vec![on("B", 1, &[*left, *right])]);
    let team = Replica::new(vec![on("B", 2, &[*left]), on("C", 3, &[*right])]);
    let stages = [vec![Replica::new(vec![on("A", 0, &[*first])])], vec![alone, team]];
    let schedule = Schedule { stages: stages.map(|replicas| Stage { replicas }).to_vec() };

    let evaluated = schedule.evaluate(&graph, &table).unwrap();
    assert_eq!(evaluated.stages[1].replica_times, [Nanoseconds(50), Nanoseconds(200)]);
    assert!(evaluated.shares_board_links());
    assert_eq!((evaluated.period, evaluated.least_period()), (Nanoseconds(900), Nanoseconds(100)));

    let promised = SteadyState::of(&schedule, &graph, &table, None).unwrap().evaluation.period;
    let settings = SimulationSettings { frames: 5000, ..SimulationSettings::default() };
    let shown = simulate(&schedule, &graph, &table, &settings).unwrap().period_seconds();
    assert!((shown / (2300e-9 / 3.0) - 1.0).abs() < 0.001, "{shown}");
    assert!((promised.seconds() / shown - 1.0).abs() < 0.001, "{promised} {shown}");

    // However few frames are looked at: not all of them meet the slower replica, and the last ones may leave the link
    // alone.
    for frames in 1..8 {
        let few = SteadyState::over(frames, &schedule, &graph, &table, None).unwrap().evaluation;
        assert!(few.latency >= evaluated.latency, "{frames}: {}", few.latency);
        assert!(few.period >= evaluated.least_period(), "{frames}: {}", few.period);
    }
}

/// A replica of 130 ns and one of 100 ns behind a link that each occupies for 50 of them: the link could pass a frame
/// every 50 ns, and together they would take one every 1 / (1/130 + 1/100) = 57 ns. But they come to the link at the
/// same moment again and again, and one of the two waits.
#[test]
fn replicas_that_meet_at_a_link_are_promised_what_they_show() {
    let graph = graph();
    let classes = ["A", "B"].map(|cluster| ProcessorClass::new(cluster, 1));
    let pair = ProcessorClass::new("B", 2);
    let mut table = CostTable::new(3, classes.into_iter().chain([pair]));
    let [from, one, two] = [0, 1, 2].map(|place| table.class_ids().nth(place).unwrap());
    table.set_time(from, OperatorId::new(0), Nanoseconds(10));
    for (processor, times) in [(one, [30, 50]), (two, [20, 30])] {
        for (operator, time) in table.operator_ids().skip(1).zip(times) {
            table.set_time(processor, operator, Nanoseconds(time));
        }
        let hand_over = HandOver { seconds: 50e-9, seconds_per_byte: 0.0 };
        table.set_link(from, processor, LinkCost { hand_over, occupied_seconds_per_byte: 50e-9 / 1100.0 });
    }

    let [first, rest @ ..] = graph.order() else { panic!("there are three operators") };
    let on = |cluster: &str, cores: &[u32], operators: &[_]| {
        let processor = Processor::new(cluster, cores.iter().copied());
        Replica::new(vec![Assignment { processor, operators: operators.to_vec() }])
    };
    let stages = [vec![on("A", &[0], &[*first])], vec![on("B", &[1], rest), on("B", &[2, 3], rest)]];
    let schedule = Schedule { stages: stages.map(|replicas| Stage { replicas }).to_vec() };
    let evaluated = schedule.evaluate(&graph, &table).unwrap();
    assert_eq!(evaluated.stages[1].replica_times, [Nanoseconds(130), Nanoseconds(100)]);
    assert_eq!((evaluated.period, evaluated.board_link_period()), (Nanoseconds(57), Nanoseconds(50)));
    assert!(evaluated.shares_board_links());

    let promised = SteadyState::of(&schedule, &graph, &table, None).unwrap().evaluation.period;
    let settings = SimulationSettings { frames: 5000, ..SimulationSettings::default() };
    let shown = simulate(&schedule, &graph, &table, &settings).unwrap().period_seconds();
    assert!(shown > 1.02 * evaluated.period.seconds(), "{shown}");
    assert!((promised.seconds() / shown - 1.0).abs() < 0.001, "{promised} {shown}");
}
