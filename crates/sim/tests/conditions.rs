//! Several streams, memory bandwidth, clocks, temperatures, and units that come and go.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{CoreId, OperatingPoint, Processor, ProcessorClass, Thermal};
use millstream_cost::{CostTable, Nanoseconds, PowerOrigin, ProcessorPower};
use millstream_graph::Graph;
use millstream_schedule::{Replica, Schedule, Stage};
use millstream_sim::{
    ClusterThermal, Conditions, Disturbance, DisturbanceKind, SimulatedNetwork, Simulation, SimulationError, Unit,
    simulate_streams, simulate_streams_until,
};
use millstream_test_support::{board, chain_of, uniform_table};

const OPERATORS: usize = 10;
/// Each operator reads and writes a megabyte, in a millisecond: 2 gigabytes per second.
/// In elements.
const MEGABYTE: usize = 250_000;
const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1000 * MILLISECOND;

fn graph() -> Graph {
    chain_of(OPERATORS, MEGABYTE)
}

fn table(has_power: bool) -> CostTable {
    let mut table = uniform_table(&graph(), &board("B1+s1"), [MILLISECOND; 2]);
    let power = ProcessorPower { active_watts: 4.0, idle_watts: 0.5, origin: PowerOrigin::BoardFile };
    if has_power {
        table.class_ids().for_each(|processor| table.set_power(processor, power));
    }
    table
}

/// One stage for each list of (cluster, core), whose entries are its replicas.
fn schedule(graph: &Graph, stages: &[&[(&str, u32)]]) -> Schedule {
    let parts = graph.order().chunks(OPERATORS.div_ceil(stages.len()));
    let stage = |(replicas, part): (&&[(&str, u32)], &[_])| Stage {
        replicas: replicas
            .iter()
            .map(|&(cluster, core)| Replica::single(Processor::new(cluster, [core]), part.to_vec()))
            .collect(),
    };
    Schedule { stages: stages.iter().zip(parts).map(stage).collect() }
}

fn period_milliseconds(simulation: &Simulation) -> f64 {
    (simulation.period_seconds() * 1e9).round() / 1e6
}

fn at(at: u64, kind: DisturbanceKind) -> Disturbance {
    Disturbance { at: Nanoseconds(at), kind }
}

#[test]
fn conditions_that_hold_nobody_up_change_nothing() {
    let (graph, table) = (graph(), table(true));
    let schedule = schedule(&graph, &[&[("B", 0), ("B", 2)], &[("s", 1)]]);
    let stream = SimulatedNetwork::new(&schedule, &graph, &table, 50);
    let plain = simulate_streams(&[stream], &Conditions::default()).unwrap();
    let thermal = Thermal {
        ambient_celsius: 25.0,
        limit_celsius: 90.0,
        resume_celsius: 80.0,
        kelvin_per_watt: 1.0,
        time_constant_seconds: 1.0,
    };
    let points = vec![OperatingPoint { hertz: 1, volts: None }, OperatingPoint { hertz: 2, volts: None }];
    let cluster = ClusterThermal { cluster: "B".into(), thermal, operating_points: points };
    let conditions =
        Conditions { memory_bytes_per_second: Some(1e12), thermals: vec![cluster], ..Conditions::default() };
    let ample = simulate_streams(&[stream], &conditions).unwrap();
    assert_eq!(plain[0].frames, ample[0].frames);
    assert_eq!(plain[0].busy, ample[0].busy);
    assert!(ample[0].speeds.is_empty());
}

/// Two replicas that wait for a slower stage: the frame that waits longest goes on first, however many frames there
/// are.
#[test]
fn no_replica_waits_for_ever() {
    let (graph, mut table) = (graph(), table(false));
    let slow = table.find(&ProcessorClass::new("s", 1)).unwrap();
    table.operator_ids().for_each(|operator| table.set_time(slow, operator, Nanoseconds(3 * MILLISECOND)));
    let schedule = schedule(&graph, &[&[("B", 0), ("B", 1)], &[("s", 2)]]);
    let slowest = schedule.evaluate(&graph, &table).unwrap().period.0;
    for frames_in_flight in [None, Some(9)] {
        let stream = SimulatedNetwork { frames_in_flight, ..SimulatedNetwork::new(&schedule, &graph, &table, 200) };
        let simulation = simulate_streams(&[stream], &Conditions::default()).unwrap().remove(0);
        assert!(simulation.frames.windows(2).all(|pair| pair[0].end <= pair[1].end), "frames leave in their order");
        // At the most a frame waits for all others, and for its own stages.
        let longest = simulation.frames.iter().map(|frame| frame.end.0 - frame.start.0).max().unwrap();
        let most = frames_in_flight.unwrap_or_else(|| schedule.frames_in_flight()) as u64;
        assert!(longest <= (most + 1) * slowest, "{longest} with {most} frames in flight");
    }
}

#[test]
fn processors_that_stream_at_once_share_the_memory() {
    let (graph, table) = (graph(), table(false));
    let schedules = [schedule(&graph, &[&[("B", 0)]]), schedule(&graph, &[&[("s", 1)]])];
    let streams = schedules.each_ref().map(|schedule| SimulatedNetwork::new(schedule, &graph, &table, 30));
    let with = |rate: f64| {
        let conditions = Conditions { memory_bytes_per_second: Some(rate), ..Conditions::default() };
        let both = simulate_streams(&streams, &conditions).unwrap();
        let alone = simulate_streams(&streams[..1], &conditions).unwrap();
        [period_milliseconds(&both[0]), period_milliseconds(&both[1]), period_milliseconds(&alone[0])]
    };
    // 2 gigabytes per second each.
    assert_eq!(with(4e9), [10.0; 3]);
    let tight = with(2.5e9);
    assert!((tight[0] - 16.0).abs() < 0.01 && (tight[1] - 16.0).abs() < 0.01, "{tight:?}");
    assert_eq!(tight[2], 10.0, "alone there is enough for it");
}

#[test]
fn streams_on_cores_of_their_own_do_not_notice_each_other_and_others_take_turns() {
    let (graph, table) = (graph(), table(false));
    let schedules =
        [schedule(&graph, &[&[("B", 0)]]), schedule(&graph, &[&[("s", 1)]]), schedule(&graph, &[&[("B", 0)]])];
    let stream = |index: usize| SimulatedNetwork::new(&schedules[index], &graph, &table, 40);
    let apart = simulate_streams(&[stream(0), stream(1)], &Conditions::default()).unwrap();
    for (index, together) in apart.iter().enumerate() {
        let alone = simulate_streams(&[stream(index)], &Conditions::default()).unwrap();
        assert_eq!(together.frames, alone[0].frames);
    }
    let shared = simulate_streams(&[stream(0), stream(2)], &Conditions::default()).unwrap();
    for simulation in &shared {
        assert!((period_milliseconds(simulation) - 20.0).abs() < 1.1, "{}", period_milliseconds(simulation));
    }
    let end = shared.iter().flat_map(|simulation| &simulation.frames).map(|frame| frame.end).max().unwrap();
    assert_eq!(end, Nanoseconds(2 * 40 * 10 * MILLISECOND), "the core never rests");
}

/// 10 ms a frame on the same core, three frames of the one for each of the other: 40 ms a round.
#[test]
fn streams_that_take_turns_keep_to_their_weights_and_are_measured_while_all_are_busy() {
    let (graph, table) = (graph(), table(false));
    let schedules = [schedule(&graph, &[&[("B", 0)]]), schedule(&graph, &[&[("B", 0)]])];
    let stream = |index: usize, weight: f64, frames: usize, takes_turns: bool| SimulatedNetwork {
        weight,
        takes_turns,
        ..SimulatedNetwork::new(&schedules[index], &graph, &table, frames)
    };
    let busy = Conditions { keeps_all_busy: true, ..Conditions::default() };
    let turns = simulate_streams(&[stream(0, 3.0, 90, true), stream(1, 1.0, 30, true)], &busy).unwrap();
    let periods = [period_milliseconds(&turns[0]), period_milliseconds(&turns[1])];
    assert!((periods[0] / (40.0 / 3.0) - 1.0).abs() < 0.02 && (periods[1] / 40.0 - 1.0).abs() < 0.02, "{periods:?}");

    // The one with few frames goes on, so that the other one never has the core for itself.
    let uneven = [stream(0, 1.0, 200, false), stream(1, 1.0, 10, false)];
    let together = simulate_streams(&uneven, &busy).unwrap();
    assert_eq!((together[0].unfinished, together[1].unfinished), (0, 0));
    assert!(together[0].frames.len() >= 200 && together[1].frames.len() >= 190, "{}", together[1].frames.len());
    for simulation in &together {
        assert!((period_milliseconds(simulation) - 20.0).abs() < 0.5, "{}", period_milliseconds(simulation));
    }
    let alone = simulate_streams(&uneven, &Conditions::default()).unwrap();
    assert_eq!(alone[1].frames.len(), 10);
    assert!(period_milliseconds(&alone[0]) < 11.0, "most of its frames have the core for themselves");
    assert!(simulate_streams(&[stream(0, 0.0, 1, true)], &busy).is_err());
    // Nobody waits any more for a stream that is through, whether it goes on or not.
    let turns = [stream(0, 1.0, 10, true), stream(1, 1.0, 100, true)];
    for conditions in [Conditions::default(), busy] {
        let both = simulate_streams(&turns, &conditions).unwrap();
        assert_eq!((both[0].unfinished, both[1].unfinished), (0, 0));
        assert!(both[1].frames.len() >= 100);
    }
}

/// Nobody waits for a stream that can't go on, and nobody goes on for its sake.
#[test]
fn a_stream_that_lost_its_core_holds_nobody_up() {
    let (graph, table) = (graph(), table(false));
    let schedules = [schedule(&graph, &[&[("B", 0)]]), schedule(&graph, &[&[("s", 1)]])];
    let stream = |index: usize| SimulatedNetwork {
        takes_turns: true,
        ..SimulatedNetwork::new(&schedules[index], &graph, &table, 20)
    };
    let lost = Disturbance { at: Nanoseconds(95 * MILLISECOND), kind: DisturbanceKind::Lost(Unit::Core(CoreId(1))) };
    let conditions = Conditions { keeps_all_busy: true, disturbances: vec![lost], ..Conditions::default() };
    let both = simulate_streams(&[stream(0), stream(1)], &conditions).unwrap();
    assert_eq!((both[0].frames.len(), both[0].unfinished), (20, 0));
    assert!(both[1].unfinished > 0);
}

#[test]
fn frames_of_a_camera_wait_for_nobody() {
    let (graph, table) = (graph(), table(false));
    let schedule = schedule(&graph, &[&[("B", 0)]]);
    let every = |milliseconds: u64| {
        let interval = Some(Nanoseconds(milliseconds * MILLISECOND));
        let stream = SimulatedNetwork { interval, ..SimulatedNetwork::new(&schedule, &graph, &table, 20) };
        simulate_streams(&[stream], &Conditions::default()).unwrap().remove(0)
    };
    let slow = every(25);
    assert_eq!(slow.frames.len(), 20);
    assert_eq!((period_milliseconds(&slow), slow.worst_latency()), (25.0, Nanoseconds(10 * MILLISECOND)));
    // Too fast for the board: frames queue up.
    let fast = every(5);
    assert_eq!(period_milliseconds(&fast), 10.0);
    assert_eq!(fast.worst_latency(), Nanoseconds(20 * 10 * MILLISECOND - 19 * 5 * MILLISECOND));
}

#[test]
fn a_slower_clock_lengthens_what_is_left() {
    let (graph, table) = (graph(), table(true));
    let schedule = schedule(&graph, &[&[("B", 0)]]);
    let half = DisturbanceKind::Speed { label: "B".into(), factor: 0.5 };
    // In the middle of the 16th operator: half of it takes twice as long, and so does everything after it.
    let conditions = Conditions {
        disturbances: vec![at(15 * MILLISECOND + MILLISECOND / 2, half)],
        keeps_spans: true,
        ..Conditions::default()
    };
    let simulation =
        simulate_streams(&[SimulatedNetwork::new(&schedule, &graph, &table, 3)], &conditions).unwrap().remove(0);
    let expected = 15 * MILLISECOND + MILLISECOND / 2 + MILLISECOND + 14 * 2 * MILLISECOND;
    assert_eq!(simulation.frames[2].end, Nanoseconds(expected));
    assert_eq!(simulation.spans.len(), 3 * OPERATORS);
    let longest = simulation.spans.iter().map(|span| span.end - span.start).max().unwrap();
    assert_eq!(longest, Nanoseconds(2 * MILLISECOND));
    // Half the clock at the same voltage: half the power for twice the time.
    let joules = simulation.active_joules[0][0][0];
    assert!((joules - 3.5 * 0.030).abs() < 1e-9, "{joules}");
    assert_eq!(simulation.speeds.len(), 1);
}

#[test]
fn a_hot_cluster_is_throttled() {
    let (graph, table) = (graph(), table(true));
    let schedule = schedule(&graph, &[&[("B", 0)], &[("s", 1)]]);
    let thermal = Thermal {
        ambient_celsius: 25.0,
        limit_celsius: 75.0,
        resume_celsius: 70.0,
        kelvin_per_watt: 20.0,
        time_constant_seconds: 0.5,
    };
    let points = [0.6, 0.8, 1.0].map(|volts| OperatingPoint { hertz: (2e9 * volts) as u64, volts: Some(volts) });
    let cluster = ClusterThermal { cluster: "B".into(), thermal, operating_points: points.to_vec() };
    let conditions = Conditions { thermals: vec![cluster], ..Conditions::default() };
    let stream = SimulatedNetwork::new(&schedule, &graph, &table, 800);
    let simulation = simulate_streams(&[stream], &conditions).unwrap().remove(0);
    // 4 watts would end at 105 degrees.
    assert!(!simulation.speeds.is_empty());
    assert!(simulation.speeds.iter().all(|change| change.label == "B" && (0.6..=1.0).contains(&change.factor)));
    let early = simulation.frames[30].end - simulation.frames[20].end;
    assert_eq!(early, Nanoseconds(10 * 5 * MILLISECOND), "cold at first");
    assert!(period_milliseconds(&simulation) > 5.2, "{}", period_milliseconds(&simulation));
    assert_eq!(simulation.frames.len(), 800);
    let unknown = self::table(false);
    let error = simulate_streams(&[SimulatedNetwork::new(&schedule, &graph, &unknown, 5)], &conditions).unwrap_err();
    assert!(matches!(&error, SimulationError::UnknownPower { cluster } if cluster == "B"), "{error}");
}

#[test]
fn what_a_lost_core_worked_on_goes_to_the_other_replica() {
    let (graph, table) = (graph(), table(false));
    let schedule = schedule(&graph, &[&[("B", 0), ("B", 2)], &[("s", 1)]]);
    let lost = DisturbanceKind::Lost(Unit::Core(CoreId(2)));
    let back = DisturbanceKind::Restored(Unit::Core(CoreId(2)));
    let conditions =
        Conditions { disturbances: vec![at(52 * MILLISECOND, lost), at(SECOND, back)], ..Conditions::default() };
    let simulation =
        simulate_streams(&[SimulatedNetwork::new(&schedule, &graph, &table, 400)], &conditions).unwrap().remove(0);
    assert_eq!((simulation.frames.len(), simulation.unfinished), (400, 0));
    let busy = simulation.busy[0].iter().map(|replica| replica[0]).collect::<Vec<_>>();
    assert!(busy[1] < busy[0] && busy[1] > Nanoseconds(SECOND / 4), "it works again later: {busy:?}");
}

#[test]
fn without_a_replica_the_rest_waits_or_takes_the_fallback() {
    let (graph, table) = (graph(), table(false));
    let schedules = [schedule(&graph, &[&[("B", 0)], &[("s", 1)]]), schedule(&graph, &[&[("s", 1)]])];
    let lost = DisturbanceKind::Lost(Unit::Core(CoreId(0)));
    let conditions = Conditions { disturbances: vec![at(100 * MILLISECOND, lost)], ..Conditions::default() };
    let stream = SimulatedNetwork::new(&schedules[0], &graph, &table, 60);
    let stalled = simulate_streams(&[stream], &conditions).unwrap().remove(0);
    assert_eq!(stalled.frames.len() + stalled.unfinished, 60);
    assert!(stalled.unfinished > 30 && stalled.frames.len() > 10, "{}", stalled.unfinished);
    let stream = SimulatedNetwork { fallback: Some(&schedules[1]), ..stream };
    let simulation = simulate_streams(&[stream], &conditions).unwrap().remove(0);
    assert_eq!((simulation.frames.len(), simulation.unfinished), (60, 0));
    assert_eq!(simulation.fell_back, Some(Nanoseconds(100 * MILLISECOND)));
    assert_eq!(period_milliseconds(&simulation), 10.0, "one core at the end");
}

#[test]
fn the_same_seed_gives_the_same_events() {
    let (graph, table) = (graph(), table(true));
    let schedule = schedule(&graph, &[&[("B", 0)], &[("s", 1)]]);
    let with = |seed| {
        let conditions = Conditions { noise: 0.2, seed, memory_bytes_per_second: Some(3e9), ..Conditions::default() };
        simulate_streams(&[SimulatedNetwork::new(&schedule, &graph, &table, 100)], &conditions).unwrap()
    };
    assert_eq!(with(3), with(3));
    assert_ne!(with(3)[0].frames, with(4)[0].frames);
    let wrong = Conditions { memory_bytes_per_second: Some(0.0), ..Conditions::default() };
    let error = simulate_streams(&[SimulatedNetwork::new(&schedule, &graph, &table, 5)], &wrong).unwrap_err();
    assert!(error.to_string().contains("bandwidth"), "{error}");
}

/// What has no meaning is refused before anything happens, and so are frames that would arrive when nobody lives to see
/// it.
#[test]
fn conditions_without_a_meaning_are_refused() {
    let (graph, table) = (graph(), table(true));
    let schedule = schedule(&graph, &[&[("B", 0)], &[("s", 1)]]);
    let stream = SimulatedNetwork::new(&schedule, &graph, &table, 20_000);
    let refused = |stream: SimulatedNetwork<'_>, conditions: &Conditions| {
        let Err(error @ SimulationError::Condition { .. }) = simulate_streams(&[stream], conditions) else { panic!() };
        error.to_string()
    };
    for noise in [f64::NAN, f64::INFINITY, -0.1] {
        let said = refused(stream, &Conditions { noise, ..Conditions::default() });
        assert!(said.contains("the noise is"), "{said}");
    }
    let plain = Conditions::default();
    assert!(refused(SimulatedNetwork { frames_in_flight: Some(0), ..stream }, &plain).contains("1 frame or more"));
    assert!(refused(SimulatedNetwork { weight: f64::NAN, ..stream }, &plain).contains("weight"));
    let rare = Some(Nanoseconds(1_000_000_000_000_000));
    assert!(refused(SimulatedNetwork { interval: rare, ..stream }, &plain).contains("within a century"));
    // As rare as that, but few.
    let few = simulate_streams(&[SimulatedNetwork { interval: rare, frames: 3, ..stream }], &plain).unwrap();
    assert_eq!(few[0].frames.len(), 3);
}

#[test]
fn a_simulation_ends_when_it_is_asked_to() {
    let (graph, table) = (graph(), table(true));
    let schedule = schedule(&graph, &[&[("B", 0)], &[("s", 1)]]);
    let stream = SimulatedNetwork::new(&schedule, &graph, &table, 100_000);
    let asked = std::cell::Cell::new(0);
    let ended = simulate_streams_until(&[stream], &Conditions::default(), &|| {
        asked.set(asked.get() + 1);
        asked.get() == 3
    });
    assert!(matches!(ended, Err(SimulationError::Cancelled)));
    assert_eq!(asked.get(), 3);
    assert!(simulate_streams_until(&[stream], &Conditions::default(), &|| false).is_ok());
}
