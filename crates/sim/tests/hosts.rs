//! Frames over links between hosts.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{Processor, ProcessorClass, TransferPrecision};
use millstream_cost::{CostTable, FrameCost, HandOver, HostCrossing, LaneId, Nanoseconds, PowerOrigin, ProcessorPower};
use millstream_graph::{DataType, Graph, GraphBuilder, NewOperator, OperatorKind, Shape};
use millstream_schedule::{Replica, Schedule, ScheduleError, Stage};
use millstream_sim::{
    Conditions, Disturbance, DisturbanceKind, SimulatedNetwork, SimulationSettings, Unit, simulate, simulate_streams,
};
use proptest::prelude::*;

const HOSTS: [&str; 3] = ["a", "b", "c"];

/// A chain of operators whose values are of so many bytes.
fn graph(sizes: &[usize]) -> Graph {
    let mut builder = GraphBuilder::new("chain");
    let mut value = builder.value("input", Some(DataType::U8), Some(Shape::from([1]))).unwrap();
    builder.input(value);
    for (index, &size) in sizes.iter().enumerate() {
        let made = builder.value(format!("v{index}"), Some(DataType::U8), Some(Shape::from([size]))).unwrap();
        let operator = NewOperator::new(format!("o{index}"), "x", OperatorKind::Opaque);
        builder.operator(operator.reads([value]).makes([made])).unwrap();
        value = made;
    }
    builder.output(value);
    builder.build().unwrap()
}

/// Hosts of two cores, on which the operators take these times, with links between all of them.
fn table(times: &[u64], way: &HostCrossing, is_half_duplex: bool, of_frames: Vec<HostCrossing>) -> CostTable {
    let mut table = CostTable::new(times.len(), [ProcessorClass::new("B", 1), ProcessorClass::new("B", 2)]);
    for processor in table.class_ids() {
        for (operator, &time) in table.operator_ids().zip(times) {
            table.set_time(processor, operator, Nanoseconds(time));
        }
        let power = ProcessorPower { active_watts: 3.0, idle_watts: 1.0, origin: PowerOrigin::BoardFile };
        table.set_power(processor, power);
    }
    let mut ways = of_frames;
    for (lane, (from, to)) in HOSTS.iter().flat_map(|from| HOSTS.iter().map(move |to| (from, to))).enumerate() {
        let [low, high] = if from < to { [from, to] } else { [to, from] };
        let pair =
            HOSTS.iter().position(|host| host == low).unwrap() + HOSTS.iter().position(|host| host == high).unwrap();
        ways.push(HostCrossing {
            from: (*from).to_owned(),
            to: (*to).to_owned(),
            link: format!("{low}-{high}"),
            lane: LaneId::new(if is_half_duplex { pair } else { lane }),
            ..way.clone()
        });
    }
    CostTable::of_hosts(&HOSTS.map(|host| (host, &table)), ways)
}

/// The ways from outside to all hosts and back.
fn ways_of_frames(way: &HostCrossing) -> Vec<HostCrossing> {
    let outside = HostCrossing::OUTSIDE;
    let both = HOSTS.iter().flat_map(|&host| [(outside, host), (host, outside)]);
    let way = |(number, (from, to)): (usize, (&str, &str))| HostCrossing {
        from: from.to_owned(),
        to: to.to_owned(),
        link: format!("outside of {from} and {to}"),
        lane: LaneId::new(100 + number),
        sending: HandOver { seconds: 0.0, seconds_per_byte: 0.0 },
        receiving: HandOver { seconds: 0.0, seconds_per_byte: 0.0 },
        ..way.clone()
    };
    both.enumerate().map(way).collect()
}

fn way(latency: f64, per_byte: f64, sending: f64, receiving: f64) -> HostCrossing {
    HostCrossing {
        from: String::new(),
        to: String::new(),
        link: String::new(),
        lane: LaneId::new(0),
        latency_seconds: latency * 1e-9,
        seconds_per_byte: per_byte * 1e-9,
        sending: HandOver { seconds: sending * 1e-8, seconds_per_byte: sending * 1e-9 },
        receiving: HandOver { seconds: 0.0, seconds_per_byte: receiving * 1e-9 },
        precision: TransferPrecision::F32,
    }
}

/// A stage for each operator, on these hosts; of one that a host has twice, the second is on its second core.
fn schedule(graph: &Graph, hosts: &[usize]) -> Schedule {
    let mut used = [0; 3];
    let stage = |(&operator, &host): (&millstream_graph::OperatorId, &usize)| {
        used[host] += 1;
        let core = 10 * host as u32 + used[host];
        Stage { replicas: vec![Replica::single(Processor::new(format!("{}/B", HOSTS[host]), [core]), vec![operator])] }
    };
    Schedule { stages: graph.order().iter().zip(hosts).map(stage).collect() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Links that carry a frame at a time, whichever stage or link is the slowest, and however long frames are under
    /// way.
    #[test]
    fn the_simulation_shows_what_evaluation_says(
        (sizes, times, hosts) in (1_usize..6).prop_flat_map(|count| (
            prop::collection::vec(1_usize..200, count),
            prop::collection::vec(1_u64..1000, count),
            prop::collection::vec(0_usize..3, count),
        )),
        latency in prop::sample::select(vec![0.0, 10.0, 20_000.0]),
        per_byte in prop::sample::select(vec![0.001, 1.0, 20.0]),
        (sending, receiving) in (0.0..3.0, 0.0..3.0),
        per_frame_byte in 0.0..3.0,
        is_half_duplex in any::<bool>(),
        per_byte_from_outside in prop::sample::select(vec![None, Some(0.001), Some(5.0), Some(50.0)]),
    ) {
        let graph = graph(&sizes);
        let of_frames = per_byte_from_outside.map(|per_byte| ways_of_frames(&way(latency, per_byte, 0.0, 0.0)));
        let of_frames = of_frames.unwrap_or_default();
        let in_and_out = if of_frames.is_empty() { 0 } else { 2 };
        let table = table(&times, &way(latency, per_byte, sending, receiving), is_half_duplex, of_frames);
        let frame_cost = |host: &str| FrameCost {
            host: host.to_owned(),
            cost: HandOver { seconds: 1e-8, seconds_per_byte: 1e-9 * per_frame_byte },
        };
        let table = table.with_frame_costs(HOSTS.map(frame_cost).to_vec());
        let schedule = schedule(&graph, &hosts);
        let evaluation = schedule.evaluate(&graph, &table).unwrap();
        let alone = simulate(&schedule, &graph, &table, &SimulationSettings { frames: 1, ..SimulationSettings::default() }).unwrap();
        prop_assert_eq!(alone.worst_latency(), evaluation.latency);
        let settings = SimulationSettings { frames: 2000, ..SimulationSettings::default() };
        let simulation = simulate(&schedule, &graph, &table, &settings).unwrap();
        prop_assert_eq!((simulation.frames.len(), simulation.unfinished), (2000, 0));
        let expected = evaluation.period.seconds();
        let crossings = hosts.windows(2).filter(|pair| pair[0] != pair[1]).count();
        // Where frames use a link twice, they come in turns that need not be of equal length: a frame or two more or
        // less of 750.
        let tolerance = if evaluation.host_links.len() < crossings + in_and_out { 0.01 } else { 1e-6 };
        let simulated = simulation.period_seconds();
        prop_assert!((simulated / expected - 1.0).abs() < tolerance, "{simulated} {expected}");
        prop_assert_eq!(evaluation.host_links.is_empty(), crossings + in_and_out == 0);

        // Sending and receiving are work as well.
        let energy = schedule.energy(&graph, &table).unwrap().unwrap();
        let seen = simulation.steady_energy(&schedule, &table).unwrap();
        prop_assert!((seen.joules_per_frame / energy.joules_per_frame - 1.0).abs() < tolerance, "{seen:?} {energy:?}");
        prop_assert!((seen.watts / energy.watts - 1.0).abs() < 2.0 * tolerance, "{seen:?} {energy:?}");
    }
}

/// Two operators of 100 ns on two hosts, 50 bytes between them in 50 ns.
fn two_hosts() -> (Graph, CostTable, Schedule) {
    two_hosts_with(Vec::new())
}

/// The same with ways of frames from outside.
fn two_hosts_with(of_frames: Vec<HostCrossing>) -> (Graph, CostTable, Schedule) {
    let graph = graph(&[50, 1]);
    let table = table(&[100, 100], &way(10.0, 1.0, 0.0, 0.0), false, of_frames);
    let schedule = schedule(&graph, &[0, 1]);
    (graph, table, schedule)
}

fn at(at: u64, kind: DisturbanceKind) -> Disturbance {
    Disturbance { at: Nanoseconds(at), kind }
}

#[test]
fn a_link_that_slows_down_holds_up_everything_from_then_on() {
    let (graph, table, schedule) = two_hosts();
    let stream = SimulatedNetwork::new(&schedule, &graph, &table, 1000);
    let slower = DisturbanceKind::Link { link: "a-b".to_owned(), factor: 0.1 };
    let conditions = Conditions { disturbances: vec![at(10_000, slower)], ..Conditions::default() };
    let simulation = simulate_streams(&[stream], &conditions).unwrap().pop().unwrap();
    // A frame every 100 ns, and 500 when the link carries 50 bytes in 500 ns.
    assert!((simulation.period_seconds() - 500e-9).abs() < 1e-12, "{}", simulation.period_seconds());
    let early = simulation.frames.iter().filter(|frame| frame.end.0 <= 10_000).count();
    assert!((95..=100).contains(&early), "{early}");
    // Ends come in order.
    assert!(simulation.frames.windows(2).all(|pair| pair[0].end < pair[1].end));
    let none = Conditions {
        disturbances: vec![at(0, DisturbanceKind::Link { link: "a-b".to_owned(), factor: 0.0 })],
        ..Conditions::default()
    };
    assert!(simulate_streams(&[stream], &none).unwrap_err().to_string().contains("the link 'a-b'"));
}

#[test]
fn a_lost_host_takes_its_frames_along_unless_others_do_them_again() {
    for of_frames in
        [Vec::new(), ways_of_frames(&way(10.0, 1.0, 0.0, 0.0)), ways_of_frames(&way(2_000.0, 0.1, 0.0, 0.0))]
    {
        lose_a_host(of_frames);
    }
}

fn lose_a_host(of_frames: Vec<HostCrossing>) {
    let (graph, table, schedule) = two_hosts_with(of_frames);
    let lost = |host: &str| at(5_000, DisturbanceKind::Lost(Unit::Host(host.to_owned())));
    let run = |stream, disturbances| {
        let conditions = Conditions { disturbances, ..Conditions::default() };
        simulate_streams(&[stream], &conditions).unwrap().pop().unwrap()
    };
    let stream = SimulatedNetwork::new(&schedule, &graph, &table, 200);
    for host in ["a", "b"] {
        let stopped = run(stream, vec![lost(host)]);
        assert!(stopped.unfinished > 100, "{}", stopped.unfinished);
        assert_eq!(stopped.frames.len() + stopped.unfinished, 200);
        // Back again, it goes on where it was.
        let back = at(50_000, DisturbanceKind::Restored(Unit::Host(host.to_owned())));
        let whole = run(stream, vec![lost(host), back]);
        assert_eq!((whole.unfinished, whole.frames.len()), (0, 200));
        // What is done again comes before what follows it.
        assert!(whole.frames.windows(2).all(|pair| pair[0].end < pair[1].end), "{host}");
    }
    // A host that no stage is on changes nothing.
    assert_eq!(run(stream, vec![lost("c")]).frames, run(stream, Vec::new()).frames);

    let other = Schedule {
        stages: vec![Stage { replicas: vec![Replica::single(Processor::new("a/B", [9]), graph.order().to_vec())] }],
    };
    let saved = run(SimulatedNetwork { fallback: Some(&other), ..stream }, vec![lost("b")]);
    assert_eq!((saved.unfinished, saved.frames.len(), saved.fell_back), (0, 200, Some(Nanoseconds(5_000))));
    assert!((saved.period_seconds() - 200e-9).abs() < 1e-12);
    // With the last host, results wait that were on their way from there.
    let saved = run(SimulatedNetwork { fallback: Some(&other), ..stream }, vec![lost("a"), lost("b")]);
    assert_eq!(saved.frames.len() + saved.unfinished, 200);
}

/// A number that somebody gives is what it is, over several hosts too.
#[test]
fn a_single_frame_may_be_in_flight_over_several_hosts() {
    let (graph, table, schedule) = two_hosts();
    let settings = SimulationSettings { frames: 100, frames_in_flight: Some(1), ..SimulationSettings::default() };
    let simulation = simulate(&schedule, &graph, &table, &settings).unwrap();
    let latency = schedule.evaluate(&graph, &table).unwrap().latency;
    assert_eq!((simulation.period_seconds(), simulation.worst_latency()), (latency.seconds(), latency));
}

/// A frame every 100 ns that is on its way for 10 us: a hundred of them are between the hosts when one is lost.
#[test]
fn frames_on_a_link_are_done_again_when_its_end_is_lost() {
    for of_frames in [Vec::new(), ways_of_frames(&way(10_000.0, 1.0, 0.0, 0.0))] {
        lose_the_end_of_a_link(of_frames);
    }
}

fn lose_the_end_of_a_link(of_frames: Vec<HostCrossing>) {
    let graph = graph(&[50, 1]);
    let table = table(&[100, 100], &way(10_000.0, 1.0, 0.0, 0.0), false, of_frames);
    let schedule = schedule(&graph, &[0, 1]);
    let other = Schedule {
        stages: vec![Stage { replicas: vec![Replica::single(Processor::new("a/B", [9]), graph.order().to_vec())] }],
    };
    let stream = SimulatedNetwork { fallback: Some(&other), ..SimulatedNetwork::new(&schedule, &graph, &table, 400) };
    let lost = at(20_000, DisturbanceKind::Lost(Unit::Host("b".to_owned())));
    let conditions = Conditions { disturbances: vec![lost], ..Conditions::default() };
    let saved = simulate_streams(&[stream], &conditions).unwrap().pop().unwrap();
    assert_eq!((saved.unfinished, saved.frames.len(), saved.fell_back), (0, 400, Some(Nanoseconds(20_000))));
    assert_eq!(saved.ended, 400);
    let on_their_way = saved.frames.iter().filter(|frame| frame.start.0 < 20_000 && frame.end.0 > 20_000).count();
    assert!(on_their_way > 90, "{on_their_way}");
}

#[test]
fn noise_on_links_is_the_same_for_the_same_seed_and_no_frame_overtakes_another() {
    let graph = graph(&[50, 1]);
    // So long under way that the next frame could come before.
    let table = table(&[100, 100], &way(10_000.0, 1.0, 0.0, 0.0), false, Vec::new());
    let schedule = schedule(&graph, &[0, 1]);
    let run = |seed| {
        let settings = SimulationSettings { frames: 300, noise: 0.5, seed, ..SimulationSettings::default() };
        simulate(&schedule, &graph, &table, &settings).unwrap()
    };
    let simulation = run(7);
    assert_eq!(simulation, run(7));
    assert_ne!(simulation.frames, run(8).frames);
    assert!(simulation.frames.windows(2).all(|pair| pair[0].end <= pair[1].end));
}

#[test]
fn what_goes_where_there_is_no_link_is_refused() {
    let (graph, table, schedule) = two_hosts();
    let without = CostTable::of_hosts(&[("a", &CostTable::new(2, [])), ("b", &CostTable::new(2, []))], Vec::new());
    assert!(
        matches!(schedule.evaluate(&graph, &without), Err(ScheduleError::NoLink { stage, .. }) if stage.number() == 2)
    );
    let mut both = schedule.clone();
    let replica = Replica::single(Processor::new("c/B", [21]), vec![graph.order()[1]]);
    both.stages[1].replicas.push(replica);
    let error = both.evaluate(&graph, &table).unwrap_err();
    assert_eq!(error.to_string(), "stage 2 has processors of several hosts; all replicas of a stage live on one host");
}

/// A schedule that needs what was lost before it was taken up stands still as well.
#[test]
fn a_schedule_to_fall_back_on_does_not_bring_back_what_was_lost() {
    let (graph, table, schedule) = two_hosts();
    let stream =
        SimulatedNetwork { fallback: Some(&schedule), ..SimulatedNetwork::new(&schedule, &graph, &table, 200) };
    let lost = at(5_000, DisturbanceKind::Lost(Unit::Host("b".to_owned())));
    let run = |disturbances| {
        let conditions = Conditions { disturbances, ..Conditions::default() };
        simulate_streams(&[stream], &conditions).unwrap().pop().unwrap()
    };
    let stopped = run(vec![lost.clone()]);
    assert!(stopped.unfinished > 100 && stopped.fell_back == Some(Nanoseconds(5_000)), "{}", stopped.unfinished);
    // Back again, it goes on.
    let back = at(50_000, DisturbanceKind::Restored(Unit::Host("b".to_owned())));
    assert_eq!(run(vec![lost, back]).unfinished, 0);
}
