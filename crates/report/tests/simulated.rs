//! What a simulation did, as a trace and as bars.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use millstream_board::Processor;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_report::{processor_lanes, simulated_bars, simulation_trace};
use millstream_schedule::{Replica, Schedule, Stage};
use millstream_sim::{Simulation, SimulationSettings, SpeedChange, simulate};
use serde_json::Value;

const FRAMES: usize = 12;

/// Two cores in turn, then a slower pair of cores that work as one processor.
fn pipeline(graph: &Graph) -> Schedule {
    let (front, back) = graph.order().split_at(8);
    let front = |core| Replica::single(Processor::new("B", [core]), front.to_vec());
    let back = Replica::single(Processor::new("s", [0, 1]), back.to_vec());
    Schedule { stages: vec![Stage { replicas: vec![front(4), front(5)] }, Stage { replicas: vec![back] }] }
}

fn simulated(schedule: &Schedule, graph: &Graph) -> Simulation {
    let mut table = CostTable::new(graph.operators().len(), schedule.processors().map(Processor::class));
    for processor in table.class_ids() {
        table.operator_ids().for_each(|operator| table.set_time(processor, operator, Nanoseconds(1_000_000)));
    }
    let settings = SimulationSettings { frames: FRAMES, keeps_spans: true, ..SimulationSettings::default() };
    simulate(schedule, graph, &table, &settings).unwrap()
}

fn of_phase<'a>(events: &'a [Value], phase: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |event| event["ph"] == phase)
}

#[test]
fn every_core_has_a_track_and_every_frame_its_arrow() {
    let model = millstream_zoo::build("alexnet").unwrap();
    let graph = model.graph();
    let schedule = pipeline(graph);
    let simulation = simulated(&schedule, graph);
    let trace: Value = serde_json::from_str(&simulation_trace(&[(&schedule, graph, &simulation)])).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();

    let names: Vec<&str> = of_phase(events, "M").filter_map(|event| event["args"]["name"].as_str()).collect();
    assert_eq!(names, ["counters", "cluster s", "cluster B", "core 0", "core 1", "core 4", "core 5"]);
    // Each frame is on one core of the first stage and on both of the second, with the operators there in it.
    let tracks = |event: &Value| (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
    let is_frame = |event: &&Value| event["name"].as_str().unwrap().starts_with("frame ");
    assert_eq!(of_phase(events, "X").filter(is_frame).count(), 3 * FRAMES);
    let operators = 8 + 2 * (graph.operators().len() - 8);
    assert_eq!(of_phase(events, "X").filter(|event| !is_frame(event)).count(), operators * FRAMES);
    let end = |event: &Value| event["ts"].as_f64().unwrap() + event["dur"].as_f64().unwrap();
    for operator in of_phase(events, "X").filter(|event| !is_frame(event)) {
        let around = of_phase(events, "X")
            .filter(is_frame)
            .filter(|frame| tracks(frame) == tracks(operator))
            .filter(|frame| frame["ts"].as_f64() <= operator["ts"].as_f64() && end(frame) >= end(operator) - 1e-6);
        let frames: Vec<&Value> = around.collect();
        assert!(frames.iter().any(|frame| frame["args"]["frame"] == operator["args"]["frame"]), "{operator}");
    }
    // An arrow leaves the first stage and reaches the second, at moments when its frame is there.
    for phase in ["s", "f"] {
        assert_eq!(of_phase(events, phase).count(), FRAMES);
        for step in of_phase(events, phase) {
            let mut frames = of_phase(events, "X").filter(is_frame);
            let is_there = |frame: &Value| {
                tracks(frame) == tracks(step) && frame["args"]["frame"] == step["id"] && frame["ts"] == step["ts"]
            };
            assert!(frames.any(is_there), "{step}");
        }
    }
}

/// Values of a counter with their times, in microseconds.
fn counter(trace: &Value, name: &str) -> Vec<(f64, f64)> {
    let events = trace["traceEvents"].as_array().unwrap();
    let own = of_phase(events, "C").filter(|event| event["name"] == name);
    own.map(|event| (event["ts"].as_f64().unwrap(), event["args"]["value"].as_f64().unwrap())).collect()
}

#[test]
fn counters_are_in_the_units_of_their_names() {
    let model = millstream_zoo::build("alexnet").unwrap();
    let (graph, schedule) = (model.graph(), pipeline(model.graph()));
    let mut simulation = simulated(&schedule, graph);
    simulation.speeds = vec![SpeedChange { at: Nanoseconds(5_000_000), label: "B".to_owned(), factor: 0.5 }];
    // Each core of the first stage draws two watts while it works.
    let joules = |busy: &Vec<Vec<Nanoseconds>>| {
        busy.iter().map(|own| own.iter().map(|own| 2.0 * own.seconds()).collect()).collect()
    };
    simulation.active_joules = simulation.busy.iter().map(joules).collect();
    simulation.active_joules[1].iter_mut().flatten().for_each(|own| *own = 0.0);
    let trace: Value = serde_json::from_str(&simulation_trace(&[(&schedule, graph, &simulation)])).unwrap();
    assert_eq!(counter(&trace, "speed of B, %"), [(5000.0, 50.0)]);
    let power = counter(&trace, "power beyond idle, W");
    let levels = [0.0, 2.0, 4.0];
    assert!(power.iter().all(|(_, own)| levels.iter().any(|level| (own - level).abs() < 1e-9)), "{power:?}");
    assert!(power.iter().any(|(_, own)| *own > 3.9), "{power:?}");
}

#[test]
fn arrows_of_two_networks_are_apart() {
    let model = millstream_zoo::build("alexnet").unwrap();
    let (graph, schedule) = (model.graph(), pipeline(model.graph()));
    let simulation = simulated(&schedule, graph);
    let own = (&schedule, &**graph, &simulation);
    let trace: Value = serde_json::from_str(&simulation_trace(&[own, own])).unwrap();
    let begins = of_phase(trace["traceEvents"].as_array().unwrap(), "s");
    let ids: std::collections::BTreeSet<u64> = begins.map(|event| event["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), 2 * FRAMES);
}

#[test]
fn as_many_frames_leave_queues_as_come() {
    let model = millstream_zoo::build("alexnet").unwrap();
    let (graph, schedule) = (model.graph(), pipeline(model.graph()));
    let simulation = simulated(&schedule, graph);
    let trace: Value = serde_json::from_str(&simulation_trace(&[(&schedule, graph, &simulation)])).unwrap();
    let mut last: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for event in of_phase(trace["traceEvents"].as_array().unwrap(), "C") {
        let (at, value) = (event["ts"].as_f64().unwrap(), event["args"]["value"].as_f64().unwrap());
        let before = last.insert(event["name"].as_str().unwrap().to_owned(), (at, value));
        assert!(value >= 0.0 && before.is_none_or(|(before, _)| before <= at), "{event}");
    }
    // The second stage is the slower one, so frames wait before it, and in the end none does.
    assert_eq!(last.get("waiting before stage 2").map(|(_, value)| *value), Some(0.0), "{last:?}");
}

#[test]
fn bars_are_the_frames_of_each_processor() {
    let model = millstream_zoo::build("alexnet").unwrap();
    let (graph, schedule) = (model.graph(), pipeline(model.graph()));
    let simulation = simulated(&schedule, graph);
    assert_eq!(processor_lanes(&schedule), ["stage 1: B1 (core 4)", "stage 1: B1 (core 5)", "stage 2: s2 (cores 0 1)"]);
    let bars = simulated_bars(&schedule, &simulation);
    // Operators that follow each other are one bar.
    assert_eq!(bars.len(), 2 * FRAMES);
    for (lane, bar) in bars.iter().map(|bar| (bar.lane, bar)) {
        let milliseconds = 1e3 * (bar.end_seconds - bar.start_seconds);
        let operators = if lane < 2 { 8 } else { graph.operators().len() - 8 };
        assert!((milliseconds - operators as f64).abs() < 1e-6, "{bar:?}");
    }
}
