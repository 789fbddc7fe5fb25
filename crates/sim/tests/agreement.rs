//! Simulation and analytic evaluation give the same numbers.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{Processor, ProcessorClass};
use millstream_cost::{
    BlockedEnd, CostTable, HandOver, LinkCost, Nanoseconds, PowerOrigin, ProcessorPower, TransferModel,
};
use millstream_graph::{DataType, Graph, GraphBuilder, NewOperator, OperatorId, OperatorKind, Shape};
use millstream_schedule::{Assignment, Replica, Schedule, Stage};
use millstream_sim::{SimulationSettings, SteadyState, simulate};
use proptest::prelude::*;

const OPERATORS: usize = 12;
const CLUSTERS: [&str; 3] = ["B", "m", "s"];

fn graph(edges: &[(usize, usize)]) -> Graph {
    let mut builder = GraphBuilder::new("random");
    let input = builder.value("input", Some(DataType::F32), Some(Shape::from([8]))).unwrap();
    builder.input(input);
    let values: Vec<_> = (0..OPERATORS)
        .map(|index| builder.value(format!("v{index}"), Some(DataType::F32), Some(Shape::from([index + 1]))).unwrap())
        .collect();
    for index in 0..OPERATORS {
        let mut reads: Vec<_> =
            edges.iter().filter(|&&(from, to)| to == index && from < to).map(|&(from, _)| values[from]).collect();
        reads.sort_unstable();
        reads.dedup();
        if reads.is_empty() {
            reads.push(input);
        }
        let operator = NewOperator::new(format!("o{index}"), "x", OperatorKind::Opaque);
        builder.operator(operator.reads(reads).makes([values[index]])).unwrap();
    }
    builder.output(values[OPERATORS - 1]);
    builder.build().unwrap()
}

fn table(times: &[u64], transfers: &[u64], ends: &[Option<BlockedEnd>]) -> CostTable {
    let classes = CLUSTERS.map(|cluster| ProcessorClass::new(cluster, 1));
    let mut table = CostTable::new(OPERATORS, classes);
    for processor in table.class_ids() {
        for operator in table.operator_ids() {
            let time = times[processor.index() * OPERATORS + operator.index()];
            table.set_time(processor, operator, Nanoseconds(time));
        }
        table.set_hand_over(processor, HandOver { seconds: 7e-9, seconds_per_byte: 1e-9 });
        for other in table.class_ids() {
            let latency_seconds = transfers[processor.index() * 3 + other.index()] as f64 * 1e-9;
            let blocks = ends.get(processor.index() * 3 + other.index()).copied().flatten();
            let model = TransferModel { latency_seconds, seconds_per_byte: 1e-9, blocks, ..TransferModel::default() };
            table.set_transfer(processor, other, model);
        }
    }
    table
}

/// A link that takes so many nanoseconds, and five for each byte, in which it carries nothing else.
fn set_link(table: &mut CostTable, pair: usize, nanoseconds: Option<u64>) {
    let [from, to] = [pair / 3, pair % 3].map(|index| table.class_ids().nth(index).unwrap());
    let hand_over = |nanoseconds| HandOver { seconds: nanoseconds as f64 * 1e-9, seconds_per_byte: 5e-9 };
    if let Some(nanoseconds) = nanoseconds {
        table.set_link(from, to, LinkCost { hand_over: hand_over(nanoseconds), occupied_seconds_per_byte: 5e-9 });
    }
}

/// Contiguous stages, each on one to three processors of the given clusters, operators placed as `places` says.
fn schedule(graph: &Graph, cuts: [usize; 2], places: &[usize]) -> Schedule {
    let mut bounds = [0, cuts[0].min(cuts[1]), cuts[0].max(cuts[1]), OPERATORS].to_vec();
    bounds.dedup();
    let mut core = 0;
    let stage = |range: &[usize]| {
        let operators: Vec<OperatorId> = graph.order()[range[0]..range[1]].to_vec();
        let assignments = CLUSTERS.iter().enumerate().filter_map(|(place, cluster)| {
            let operators: Vec<OperatorId> =
                operators.iter().copied().filter(|id| places[id.index()] == place).collect();
            core += 1;
            (!operators.is_empty()).then(|| Assignment { processor: Processor::new(*cluster, [core]), operators })
        });
        Stage { replicas: vec![Replica::new(assignments.collect())] }
    };
    Schedule { stages: bounds.windows(2).map(stage).collect() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn periods_and_latencies_are_the_same(
        edges in prop::collection::vec((0..OPERATORS, 0..OPERATORS), 0..30),
        times in prop::collection::vec(0_u64..500, 3 * OPERATORS),
        transfers in prop::collection::vec(0_u64..100, 9),
        ends in prop::collection::vec(prop::sample::select(vec![None, Some(BlockedEnd::Sender), Some(BlockedEnd::Receiver)]), 9),
        places in prop::collection::vec(0_usize..3, OPERATORS),
        cuts in prop::array::uniform2(1..OPERATORS),
        ways in prop::collection::vec(prop::option::of(0_u64..300), 9),
        frames_in_flight in prop::option::of(5_usize..9),
    ) {
        let graph = graph(&edges);
        let mut table = table(&times, &transfers, &ends);
        ways.iter().enumerate().for_each(|(pair, way)| set_link(&mut table, pair, *way));
        let schedule = schedule(&graph, cuts, &places);
        let expected = schedule.evaluate(&graph, &table).unwrap();
        let settings = SimulationSettings { frames: 41, frames_in_flight, keeps_spans: true, ..SimulationSettings::default() };
        let alone = simulate(&schedule, &graph, &table, &SimulationSettings { frames: 1, ..settings }).unwrap();
        prop_assert_eq!(alone.worst_latency(), expected.latency);
        let many = simulate(&schedule, &graph, &table, &settings).unwrap();

        // What stages wait for each other before a link depends on when they do; the link carries all frames in any case.
        let may_wait = expected.shares_board_links();
        let waits = many.period_seconds() - expected.period.seconds();
        prop_assert!(may_wait || waits.abs() < 1e-15, "{} {}", many.period_seconds(), expected.period);
        let last = many.frames.iter().map(|frame| frame.end.0).max();
        prop_assert!(last >= Some(41 * expected.board_link_period().0), "{last:?} {expected:?}");
        // Processors work as long as evaluation says, and so cost as much energy.
        for ((id, stage), busy) in schedule.numbered_stages().zip(&many.busy) {
            let per_frame = stage.replicas[0].busy(&schedule.entry(id), &graph, &table).unwrap();
            let expected: Vec<Nanoseconds> = per_frame.into_iter().map(|time| Nanoseconds(41 * time.0)).collect();
            prop_assert_eq!(&busy[0], &expected);
        }
        let energy = schedule.energy(&graph, &table).unwrap();
        prop_assert_eq!(energy, None, "nobody knows the power of these processors");
        let mut powered = table.clone();
        for processor in table.class_ids() {
            let idle_watts = 0.5 * (1 + processor.index()) as f64;
            let power = ProcessorPower { active_watts: 4.0 * idle_watts, idle_watts, origin: PowerOrigin::BoardFile };
            powered.set_power(processor, power);
        }

        let joules = schedule.energy(&graph, &powered).unwrap().unwrap().joules_per_frame;
        prop_assert_eq!(many.joules_per_frame(&schedule, &table), None);
        let many = simulate(&schedule, &graph, &powered, &settings).unwrap();
        let simulated = many.joules_per_frame(&schedule, &powered).unwrap();
        // Filling and draining cost idle power on top: at most the latency once, for all processors.
        let idle: f64 = schedule.processors().filter_map(|processor| powered.power(powered.find(&processor.class())?)).map(|processor| processor.idle_watts).sum();
        let most = if may_wait { f64::INFINITY } else { joules + idle * expected.latency.seconds() / 41.0 };
        prop_assert!(simulated >= joules * (1.0 - 1e-9) && simulated <= most * (1.0 + 1e-9), "{joules} {simulated} {most}");
        // Every operator of every frame once, and no processor does two things at a time.
        prop_assert_eq!(many.spans.len(), 41 * OPERATORS);
        let mut tracks = std::collections::BTreeMap::<_, Vec<_>>::new();
        for span in &many.spans {
            tracks.entry((span.stage, span.processor)).or_default().push((span.start, span.end));
        }
        for mut spans in tracks.into_values() {
            spans.sort_unstable();
            prop_assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        }
    }
}

/// How far a simulation's period may be off, relative to the period, where so many replicas or links set a pace, each
/// with the same time between any two frames. Until any moment, a pace has made its share of frames and less than one
/// frame more: the ends of all frames lie between two parallel lines, as many periods apart as there are paces. The
/// period is the slope of a line through the middle of the ends. Between two lines, it is off the most where the first
/// half of the ends is on the one and the second half on the other: with n ends, by n²/8 over n(n²-1)/12 of what is
/// between them.
fn most_off(frames: usize, paces: usize) -> f64 {
    // Without the first half, in which a pipeline fills, and the last eighth.
    let ends = (frames - frames / 2 - frames / 8) as f64;
    1.5 * paces as f64 * ends / (ends * ends - 1.0)
}

fn replicated(graph: &Graph) -> Schedule {
    let replica = |cluster: &str, core: u32| Replica::single(Processor::new(cluster, [core]), graph.order().to_vec());
    Schedule { stages: vec![Stage { replicas: vec![replica("B", 0), replica("s", 1)] }] }
}

#[test]
fn uneven_replicas_reach_the_sum_of_their_rates() {
    let graph = graph(&[(0, 3), (3, 7)]);
    let times: Vec<u64> = (0..3 * OPERATORS).map(|index| 100 + 170 * (index / OPERATORS) as u64).collect();
    let table = table(&times, &[0; 9], &[]);
    let schedule = replicated(&graph);
    let expected = schedule.evaluate(&graph, &table).unwrap();
    let settings = SimulationSettings { frames: 2000, ..SimulationSettings::default() };
    let simulation = simulate(&schedule, &graph, &table, &settings).unwrap();
    let (simulated, evaluated) = (simulation.period_seconds() * 1e9, expected.period.0 as f64);
    // Evaluation rounds to nanoseconds.
    let most = most_off(2000, 2) + 0.5 / evaluated;
    assert!((simulated / evaluated - 1.0).abs() <= most, "{simulated} {evaluated} {most}");
    assert_eq!(simulation.worst_latency(), expected.latency);
}

/// A stage of four equal replicas behind a link takes frames as often as the link carries them, and others beside it
/// are not held up.
#[test]
fn replicas_behind_a_link_share_it() {
    let graph = graph(&(1..OPERATORS).map(|index| (index - 1, index)).collect::<Vec<_>>());
    let mut table = table(&[4; 3 * OPERATORS], &[0; 9], &[]);
    set_link(&mut table, 2, Some(10));
    let (first, rest) = graph.order().split_at(1);
    let replica = |cluster: &str, core: u32| Replica::single(Processor::new(cluster, [core]), rest.to_vec());
    let schedule = |replicas: Vec<Replica>| Schedule {
        stages: vec![
            Stage { replicas: vec![Replica::single(Processor::new("B", [0]), first.to_vec())] },
            Stage { replicas },
        ],
    };
    let check = |schedule: &Schedule, period: f64, latency: u64| {
        let expected = schedule.evaluate(&graph, &table).unwrap();
        let rounded = Nanoseconds(period.round() as u64);
        assert_eq!((expected.stages[1].period, expected.latency), (rounded, Nanoseconds(latency)));
        let settings = SimulationSettings { frames: 4000, ..SimulationSettings::default() };
        let simulated = simulate(schedule, &graph, &table, &settings).unwrap().period_seconds() * 1e9;
        // Two replicas, or the link, or the link and the replica beside it.
        let most = most_off(4000, 2);
        assert!((simulated / period - 1.0).abs() <= most, "{simulated} {period} {most}");
    };

    // The value of 4 bytes occupies the link for 20 ns. A replica takes 7 + 4 for taking over, 10 + 20 for the way and
    // 44 for its operators: two of them take a frame every 42.5 ns, five every 17 ns, of which the link carries one
    // every 20 ns.
    let many = |count: u32| (1..=count).map(|core| replica("s", core)).collect::<Vec<_>>();
    check(&schedule(many(2)), 42.5, 4 + 85);
    check(&schedule(many(5)), 20.0, 4 + 85);
    // One on m, which has no link before it, takes 55 ns beside them: 1 / (1 / 20 + 1 / 55).
    let mut mixed = many(5);
    mixed.push(replica("m", 9));
    check(&schedule(mixed), 1.0 / (1.0 / 20.0 + 1.0 / 55.0), 4 + 85);
}

/// What goes to one stage does not wait for what goes to another, nor what goes to one cluster for what goes to
/// another.
#[test]
fn stages_and_clusters_do_not_wait_for_each_others_links() {
    let graph = graph(&(1..OPERATORS).map(|index| (index - 1, index)).collect::<Vec<_>>());
    let mut table = table(&[4; 3 * OPERATORS], &[0; 9], &[]);
    // From B to s, from s to s and from B to m.
    [2, 8, 1].into_iter().for_each(|pair| set_link(&mut table, pair, Some(0)));
    let order = graph.order();
    let replica = |cluster: &str, core: u32, range: std::ops::Range<usize>| {
        Replica::single(Processor::new(cluster, [core]), order[range].to_vec())
    };
    let stages = |stages: Vec<Vec<Replica>>| Schedule {
        stages: stages.into_iter().map(|replicas| Stage { replicas }).collect(),
    };
    // The links carry 20 and 60 bytes of a frame in 100 and 300 ns, and are what both stages wait for most of their
    // time.
    let chain = stages(vec![
        vec![replica("B", 0, 0..5)],
        vec![replica("s", 1, 5..10), replica("s", 2, 5..10)],
        vec![replica("s", 3, 10..12), replica("s", 4, 10..12)],
    ]);
    let beside = stages(vec![
        vec![replica("B", 0, 0..5)],
        vec![replica("s", 1, 5..12), replica("s", 2, 5..12), replica("m", 3, 5..12), replica("m", 4, 5..12)],
    ]);

    for schedule in [chain, beside] {
        let expected = schedule.evaluate(&graph, &table).unwrap().period.0 as f64;
        let settings = SimulationSettings { frames: 4000, ..SimulationSettings::default() };
        let simulated = simulate(&schedule, &graph, &table, &settings).unwrap().period_seconds() * 1e9;
        // The links to the last stage set its pace: one, or two beside each other. Periods are whole nanoseconds.
        let most = most_off(4000, 2);
        assert!((simulated / expected - 1.0).abs() <= most, "{schedule}: {simulated} {expected} {most}");
    }
}

/// Two stages take their frames over the same link, from B to s: 20 and 140 ns of their 150. By hand: if the second
/// stage takes a frame at 0, it has the link until 20, and again from 150 to 170; the last stage gets its first frame
/// at 151, and has the link from 170 to 310, until which the second stage waits from 300 on. From then on one has the
/// link right after the other, so that a frame passes every 160 ns.
#[test]
fn stages_wait_for_each_other_before_the_same_link() {
    let graph = graph(&(1..OPERATORS).map(|index| (index - 1, index)).collect::<Vec<_>>());
    let mut times = vec![0; 3 * OPERATORS];
    // On B the operators 0 and 6 take a nanosecond, on s those of 1 to 5 together 130 and those of 7 to 11 together 10.
    [(0, 1), (6, 1), (2 * OPERATORS + 5, 130), (2 * OPERATORS + 11, 10)]
        .into_iter()
        .for_each(|(place, time)| times[place] = time);
    let mut table = table(&times, &[0; 9], &[]);
    table.class_ids().for_each(|processor| table.set_hand_over(processor, HandOver::FREE));
    set_link(&mut table, 2, Some(0));
    let stage = |cluster: &str, core: u32, range: std::ops::Range<usize>| Stage {
        replicas: vec![Replica::single(Processor::new(cluster, [core]), graph.order()[range].to_vec())],
    };
    // What goes over the link has 4 and 28 bytes.
    let stages = vec![stage("B", 0, 0..1), stage("s", 1, 1..6), stage("B", 2, 6..7), stage("s", 3, 7..12)];
    let schedule = Schedule { stages };
    let expected = schedule.evaluate(&graph, &table).unwrap();
    assert_eq!(expected.stages.iter().map(|stage| stage.period.0).collect::<Vec<_>>(), [1, 150, 1, 150]);
    let links: Vec<(usize, u64)> = expected.board_links.iter().map(|link| (link.stages, link.period.0)).collect();
    assert_eq!((links, expected.period, expected.latency), (vec![(2, 160)], Nanoseconds(160), Nanoseconds(302)));

    let many =
        simulate(&schedule, &graph, &table, &SimulationSettings { frames: 400, ..SimulationSettings::default() })
            .unwrap();
    let ends: Vec<u64> = many.frames.iter().map(|frame| frame.end.0).collect();
    assert_eq!(ends[0], 1 + 320, "the first frame waits as the second one comes before it at the link");
    // Nobody comes before the last frame.
    assert!(ends[..399].windows(2).all(|pair| pair[1] - pair[0] == 160), "{ends:?}");
    let steady = SteadyState::of(&schedule, &graph, &table, None).unwrap().evaluation;
    assert_eq!(steady.period, Nanoseconds(160));
}

#[test]
fn noise_slows_a_pipeline_down_and_is_the_same_for_the_same_seed() {
    let graph = graph(&[(0, 1), (1, 2)]);
    let table = table(&[300; 3 * OPERATORS], &[0; 9], &[]);
    let places: Vec<usize> = (0..OPERATORS).map(|index| index / 4).collect();
    let schedule = schedule(&graph, [4, 8], &places);
    let expected = schedule.evaluate(&graph, &table).unwrap().period.seconds();
    let noisy_with = |frames_in_flight, seed| {
        let settings =
            SimulationSettings { frames: 3000, frames_in_flight, noise: 0.3, seed, ..SimulationSettings::default() };
        simulate(&schedule, &graph, &table, &settings).unwrap()
    };
    let noisy = |seed| noisy_with(None, seed);
    // The more frames there are between stages, the less one stage waits for another.
    let periods = [Some(3), Some(4), None, Some(8)].map(|count| noisy_with(count, 1).period_seconds());
    assert!(periods[0] < 1.5 * expected && periods[3] > expected, "{periods:?} {expected}");
    assert!(periods.windows(2).all(|pair| pair[0] > 1.001 * pair[1]), "{periods:?}");
    assert_eq!(noisy(1), noisy(1));
    assert_ne!(noisy(1).frames, noisy(2).frames);
    assert!(noisy(1).frames.iter().all(|frame| frame.start < frame.end));
}

#[test]
fn what_can_not_run_is_refused() {
    let graph = graph(&[]);
    let empty = CostTable::new(OPERATORS, [ProcessorClass::new("B", 1)]);
    let error = simulate(&replicated(&graph), &graph, &empty, &SimulationSettings::default()).unwrap_err();
    assert!(error.to_string().contains("o0"), "{error}");
}
