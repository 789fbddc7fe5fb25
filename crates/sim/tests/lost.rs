//! Replicas are lost and come back while they compute, fetch and send: every frame still goes through once, by the
//! rules.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use millstream_board::{CoreId, Processor, ProcessorClass};
use millstream_cost::{BlockedEnd, CostTable, Nanoseconds, TransferModel};
use millstream_graph::{DataType, Graph, GraphBuilder, NewOperator, OperatorId, OperatorKind, Shape};
use millstream_schedule::{Assignment, Replica, Schedule, Stage};
use millstream_sim::{
    Conditions, Disturbance, DisturbanceKind, OperatorSpan, SimulatedNetwork, Unit, simulate_streams,
};
use millstream_test_support::chain;
use proptest::prelude::*;

const OPERATORS: usize = 8;
const FRAMES: usize = 40;
/// A later operator that reads what an earlier one makes.
type Edge = (usize, usize);

fn graph(edges: &[Edge]) -> Graph {
    let mut builder = GraphBuilder::new("random");
    let input = builder.value("input", Some(DataType::F32), Some(Shape::from([8]))).unwrap();
    builder.input(input);
    let values: Vec<_> = (0..OPERATORS)
        .map(|index| builder.value(format!("v{index}"), Some(DataType::F32), Some(Shape::from([1]))).unwrap())
        .collect();
    for (index, &makes) in values.iter().enumerate() {
        let mut reads: Vec<_> = edges.iter().filter(|edge| edge.1 == index).map(|edge| values[edge.0]).collect();
        if reads.is_empty() {
            reads.push(input);
        }
        let operator = NewOperator::new(format!("o{index}"), "x", OperatorKind::Opaque);
        builder.operator(operator.reads(reads).makes([makes])).unwrap();
    }
    builder.output(values[OPERATORS - 1]);
    builder.build().unwrap()
}

/// Times of the operators on B and on m, and what moving a value takes between the two.
fn table(times: &[u64], transfers: &[u64; 2], ends: &[Option<BlockedEnd>; 2]) -> CostTable {
    let mut table = CostTable::new(OPERATORS, ["B", "m"].map(|cluster| ProcessorClass::new(cluster, 1)));
    let processors: Vec<_> = table.class_ids().collect();
    for (&processor, times) in processors.iter().zip(times.chunks(OPERATORS)) {
        for (operator, &time) in table.operator_ids().zip(times) {
            table.set_time(processor, operator, Nanoseconds(time));
        }
    }
    for (from, to) in [(0, 1), (1, 0)] {
        let latency_seconds = transfers[from] as f64 * 1e-9;
        let model = TransferModel { latency_seconds, blocks: ends[from], ..TransferModel::default() };
        table.set_transfer(processors[from], processors[to], model);
    }
    table
}

/// A stage of two replicas, each of a core of B and one of m, with the operators at these places.
fn schedule(graph: &Graph, places: &[usize]) -> Schedule {
    let replica = |core: u32| {
        let assignment = |(place, cluster): (usize, &str)| {
            let is_own = |id: &OperatorId| places[id.index()] == place;
            let operators: Vec<OperatorId> = graph.order().iter().copied().filter(is_own).collect();
            let processor = Processor::new(cluster, [core + place as u32]);
            (!operators.is_empty()).then_some(Assignment { processor, operators })
        };
        Replica::new(["B", "m"].into_iter().enumerate().filter_map(assignment).collect())
    };
    Schedule { stages: vec![Stage { replicas: vec![replica(0), replica(2)] }] }
}

/// Every operator ran on every frame, the last time after all that it reads had arrived.
fn check_frames(spans: &[OperatorSpan], edges: &[Edge], places: &[usize], transfers: &[u64; 2]) {
    let last: BTreeMap<(usize, usize), &OperatorSpan> =
        spans.iter().map(|span| ((span.frame, span.operator.index()), span)).collect();
    assert_eq!(last.len(), FRAMES * OPERATORS);
    for (frame, &(from, to)) in (0..FRAMES).flat_map(|frame| edges.iter().map(move |edge| (frame, edge))) {
        let (maker, reader) = (last[&(frame, from)], last[&(frame, to)]);
        let way = if places[from] == places[to] { 0 } else { transfers[places[from]] };
        assert_eq!(maker.replica, reader.replica, "frame {frame}");
        assert!(reader.start.0 >= maker.end.0 + way, "frame {frame}: {maker:?} {reader:?}");
    }
}

/// No processor runs two operators at once, of whatever network.
fn check_processors<'a>(spans: impl Iterator<Item = &'a OperatorSpan>, places: &[usize]) {
    let mut of: BTreeMap<(usize, usize), Vec<(Nanoseconds, Nanoseconds)>> = BTreeMap::new();
    for span in spans {
        of.entry((span.replica, places[span.operator.index()])).or_default().push((span.start, span.end));
    }
    for mut spans in of.into_values() {
        spans.sort_unstable();
        assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{spans:?}");
    }
}

fn any_end() -> impl Strategy<Value = Option<BlockedEnd>> {
    prop::sample::select(vec![None, Some(BlockedEnd::Sender), Some(BlockedEnd::Receiver)])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn lost_replicas_lose_and_mix_up_nothing(
        edges in prop::collection::btree_set((0..OPERATORS, 0..OPERATORS), 0..20),
        times in prop::collection::vec(0_u64..60, 2 * OPERATORS),
        transfers in prop::array::uniform2(0_u64..60),
        ends in prop::array::uniform2(any_end()),
        places in prop::collection::vec(0_usize..2, OPERATORS),
        moments in prop::collection::vec((0_u64..2000, 0_u32..4, any::<bool>()), 0..6),
        (is_memory_scarce, has_rival, is_noisy) in any::<(bool, bool, bool)>(),
    ) {
        let edges: Vec<Edge> = edges.into_iter().filter(|(from, to)| from < to).collect();
        let graph = graph(&edges);
        let table = table(&times, &transfers, &ends);
        let schedule = schedule(&graph, &places);

        // In the end all are there.
        let back = (0..4).map(|core| (3000, core, false));
        let disturbance = |(at, core, is_lost): (u64, u32, bool)| {
            let unit = Unit::Core(CoreId(core));
            let kind = if is_lost { DisturbanceKind::Lost(unit) } else { DisturbanceKind::Restored(unit) };
            Disturbance { at: Nanoseconds(at), kind }
        };
        let conditions = Conditions {
            keeps_spans: true,
            disturbances: moments.into_iter().chain(back).map(disturbance).collect(),
            memory_bytes_per_second: is_memory_scarce.then_some(1e9),
            noise: if is_noisy { 0.3 } else { 0.0 },
            ..Conditions::default()
        };
        let stream = SimulatedNetwork::new(&schedule, &graph, &table, FRAMES);
        let simulations = simulate_streams(&vec![stream; if has_rival { 2 } else { 1 }], &conditions).unwrap();
        for simulation in &simulations {
            prop_assert_eq!((simulation.frames.len(), simulation.unfinished), (FRAMES, 0));
            check_frames(&simulation.spans, &edges, &places, &transfers);
        }
        check_processors(simulations.iter().flat_map(|simulation| &simulation.spans), &places);
    }
}

/// Two networks that have the same core take turns, operator by operator.
#[test]
fn networks_on_one_core_take_turns() {
    let graph = graph(&[]);
    let table = table(&[10; 2 * OPERATORS], &[0; 2], &[None; 2]);
    let single = Replica::single(Processor::new("B", [0]), graph.order().to_vec());
    let schedule = Schedule { stages: vec![Stage { replicas: vec![single] }] };
    let conditions = Conditions { keeps_spans: true, ..Conditions::default() };
    let stream = SimulatedNetwork::new(&schedule, &graph, &table, 3);
    let simulations = simulate_streams(&[stream, stream], &conditions).unwrap();
    let starts = |stream: usize| simulations[stream].spans.iter().map(|span| span.start.0).collect::<Vec<_>>();
    let every_other = |first: u64| (0..3 * OPERATORS as u64).map(|place| first + 20 * place).collect::<Vec<_>>();
    assert_eq!((starts(0), starts(1)), (every_other(0), every_other(10)));
}

/// What is lost while it computes neither works nor draws power any more, whether speeds can change or not.
#[test]
fn what_is_lost_no_longer_works() {
    let graph = graph(&[]);
    let table = table(&[100; 2 * OPERATORS], &[0; 2], &[None; 2]);
    let replica = |cluster: &str, core: u32| Replica::single(Processor::new(cluster, [core]), graph.order().to_vec());
    let schedule = Schedule { stages: vec![Stage { replicas: vec![replica("B", 0), replica("m", 1)] }] };
    for memory_bytes_per_second in [None, Some(1e12)] {
        let lost = Disturbance { at: Nanoseconds(950), kind: DisturbanceKind::Lost(Unit::Core(CoreId(1))) };
        let conditions = Conditions { disturbances: vec![lost], memory_bytes_per_second, ..Conditions::default() };
        let stream = SimulatedNetwork::new(&schedule, &graph, &table, 10);
        let simulation = simulate_streams(&[stream], &conditions).unwrap().remove(0);
        assert_eq!((simulation.frames.len(), simulation.unfinished), (10, 0));
        // An operator counts when it begins, or as far as it came where speeds can change; the other replica does the
        // other nine frames.
        let until = if memory_bytes_per_second.is_some() { 950 } else { 1000 };
        assert_eq!(simulation.busy, [[[Nanoseconds(9 * 800)], [Nanoseconds(until)]]]);
    }
}

/// A team whose one processor is lost gives the core of the other one to who waited for it.
#[test]
fn who_waited_for_a_core_of_a_lost_team_goes_on_at_once() {
    let costs = |graph: &Graph, times: &[[u64; 2]]| {
        let mut table =
            CostTable::new(graph.operators().len(), ["B", "m"].map(|cluster| ProcessorClass::new(cluster, 1)));
        let processors: Vec<_> = table.class_ids().collect();
        for (operator, times) in table.operator_ids().zip(times) {
            processors.iter().zip(times).for_each(|(&on, &time)| table.set_time(on, operator, Nanoseconds(time)));
        }
        table
    };
    let on = |cluster: &str, core: u32, operators: &[OperatorId]| Assignment {
        processor: Processor::new(cluster, [core]),
        operators: operators.to_vec(),
    };
    let alone = |assignments| Schedule { stages: vec![Stage { replicas: vec![Replica::new(assignments)] }] };

    let (large, small) = (chain(2), chain(1));
    let (of_large, of_small) = (costs(&large, &[[1000, 1000], [10, 100]]), costs(&small, &[[10, 10]]));
    let [first, second] = large.order() else { panic!("a chain of two operators") };
    let team = alone(vec![on("B", 0, &[*first]), on("m", 4, &[*second])]);
    let beside = alone(vec![on("B", 0, small.order())]);
    let streams =
        [SimulatedNetwork::new(&team, &large, &of_large, 1), SimulatedNetwork::new(&beside, &small, &of_small, 3)];

    let lost = DisturbanceKind::Lost(Unit::Core(CoreId(4)));
    let disturbances = vec![Disturbance { at: Nanoseconds(500), kind: lost }];
    let simulations = simulate_streams(&streams, &Conditions { disturbances, ..Conditions::default() }).unwrap();
    let ends: Vec<u64> = simulations[1].frames.iter().map(|frame| frame.end.0).collect();
    assert_eq!((simulations[0].unfinished, ends), (1, vec![510, 520, 530]));
}
