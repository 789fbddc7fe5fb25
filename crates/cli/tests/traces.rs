//! Traces as Perfetto reads them: it counts in nanoseconds, takes events in the order of time and, at one time, of the
//! file, and shows no slice that overlaps another one of its track without being within it. An arrow is at the slice
//! that is open when it comes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use millstream_report::{TraceEvent, TraceTrack, chrome_trace};
use millstream_test_support::not_tested;
use serde_json::{Value, json};
use support::{Workplace, small_model, text};

/// Microseconds of a file in nanoseconds; what is behind the point is left out.
fn nanoseconds(value: &Value) -> i64 {
    (value.as_f64().unwrap() * 1000.0) as i64
}

/// A slice that has begun: when it ends, and the frame that it says it is of.
struct Open {
    end: i64,
    frame: Value,
}

/// A trace on its way into a viewer.
#[derive(Default)]
struct Viewer {
    names: BTreeSet<(u64, u64)>,
    open: BTreeMap<(u64, u64), Vec<Open>>,
    arrows: BTreeMap<u64, Vec<(char, Value)>>,
    slices: usize,
    frames: BTreeSet<u64>,
    counters: BTreeSet<String>,
}

impl Viewer {
    /// Reads a whole trace, and fails at what a viewer would not show.
    fn read(trace: &Value) -> Self {
        let mut events: Vec<&Value> =
            trace.as_array().or_else(|| trace["traceEvents"].as_array()).unwrap().iter().collect();
        let mut viewer = Self::default();
        for event in events.extract_if(.., |event| event["ph"] == "M") {
            if event["name"] == "process_name" || event["name"] == "thread_name" {
                assert!(!event["args"]["name"].as_str().unwrap().is_empty(), "{event}");
                viewer.names.insert(place(event));
            }
        }
        events.sort_by_key(|event| nanoseconds(&event["ts"]));
        events.iter().for_each(|event| viewer.see(event));
        for (id, steps) in &viewer.arrows {
            let phases: String = steps.iter().map(|(phase, _)| *phase).collect();
            let inner = phases.strip_prefix('s').and_then(|rest| rest.strip_suffix('f'));
            assert!(inner.is_some_and(|inner| inner.chars().all(|phase| phase == 't')), "arrow {id}: {phases}");
            assert!(steps.iter().all(|(_, frame)| *frame == steps[0].1), "arrow {id} is of one frame: {steps:?}");
        }
        viewer
    }

    fn see(&mut self, event: &Value) {
        let (at, place) = (nanoseconds(&event["ts"]), place(event));
        assert!(at >= 0, "{event}");
        assert!(self.names.contains(&(place.0, 0)), "its process has a name: {event}");
        let open = self.open.entry(place).or_default();

        match event["ph"].as_str().unwrap() {
            "X" => {
                let end = at + nanoseconds(&event["dur"]);
                open.retain(|slice| slice.end > at);
                assert!(end >= at && open.iter().all(|slice| end <= slice.end), "overlaps what it is not in: {event}");
                assert!(self.names.contains(&place), "its track has a name: {event}");
                open.push(Open { end, frame: event["args"]["frame"].clone() });
                self.frames.extend(event["args"]["frame"].as_u64());
                self.slices += 1;
            }
            phase @ ("s" | "t" | "f") => {
                assert!(phase != "f" || event["bp"] == "e", "else it ends at the next slice: {event}");
                let slice = open.last().filter(|slice| at <= slice.end);
                let frame = slice.map(|slice| slice.frame.clone());
                assert!(frame.is_some(), "an arrow is at a slice: {event}");
                let step = (phase.chars().next().unwrap(), frame.unwrap());
                self.arrows.entry(event["id"].as_u64().unwrap()).or_default().push(step);
            }
            "C" => {
                let values = event["args"].as_object().unwrap();
                assert!(values.values().all(|value| value.as_f64().is_some_and(f64::is_finite)), "{event}");
                self.counters.insert(event["name"].as_str().unwrap().to_owned());
            }
            other => panic!("'{other}' is no phase that is written: {event}"),
        }
    }
}

fn place(event: &Value) -> (u64, u64) {
    (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap())
}

#[test]
fn slices_that_touch_or_enclose_each_other_do_so_in_nanoseconds() {
    let tracks = [TraceTrack { group: "cluster B".into(), name: "core 0".into() }];
    let slice = |start: u64, end: u64| {
        // As times come: in seconds, of which microseconds are made.
        let [start, end] = [start, end].map(|nanoseconds| nanoseconds as f64 * 1e-9 * 1e6);
        let arguments = vec![("frame", json!(0))];
        TraceEvent::Slice { name: "frame 0".into(), track: 0, start, duration: end - start, arguments }
    };
    let (mut at, mut random, mut events) = (0, 1_u64, Vec::new());
    let mut length = || {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        1 + (random >> 33) % 3_000_000
    };
    for _ in 0..2_000 {
        let cuts = [at, at + length(), at + 3_000_000 + length()];
        events.extend([slice(cuts[0], cuts[2]), slice(cuts[0], cuts[1]), slice(cuts[1], cuts[2])]);
        at = cuts[2];
    }
    let trace = serde_json::from_str(&chrome_trace(&tracks, &events)).unwrap();
    assert_eq!(Viewer::read(&trace).slices, 6_000);
}

fn trace(workplace: &Workplace) -> Viewer {
    Viewer::read(&serde_json::from_str(&text(&workplace.path("trace.json"))).unwrap())
}

/// A stage of one replica, whose processors are cores of a cluster with their operators.
fn stage(cluster: &Value, assignments: &[(&Value, &[Value])], splits: &Value) -> Value {
    let assignment = |(core, operators): &(&Value, &[Value])| json!({"processor": {"cluster": cluster["label"], "cores": [core]}, "operators": operators});
    let assignments: Vec<Value> = assignments.iter().map(assignment).collect();
    json!({"replicas": [{"assignments": assignments, "splits": splits}]})
}

/// Writes `pipeline.json`, with a stage on each of two cores, and `team.json`, in which both share each frame; false
/// where there are not two.
fn schedules(workplace: &Workplace) -> bool {
    small_model(workplace);
    workplace.succeed(&["profile", "--model", "small.onnx", "--budget", "500ms", "--no-sweep"]);
    workplace.succeed(&["schedule", "--model", "small.onnx", "--profile", "profile.json"]);
    let board: Value = serde_json::from_str(&workplace.succeed(&["board", "--json"])).unwrap();
    let cluster = &board["clusters"][0];
    let [first, second, ..] = cluster["cores"].as_array().unwrap().as_slice() else { return false };
    let (first, second) = (&first["id"], &second["id"]);
    let mut document: Value = serde_json::from_str(&text(&workplace.path("schedule.json"))).unwrap();
    let stages = document["stages"].as_array().unwrap().iter();
    let operators = |stage: &Value| stage["replicas"][0]["assignments"][0]["operators"].as_array().unwrap().clone();
    let all: Vec<Value> = stages.flat_map(operators).collect();
    let (front, back) = all.split_at(all.len() / 2);

    let one = |core, operators| stage(cluster, &[(core, operators)], &json!([]));
    document["stages"] = json!([one(first, front), one(second, back)]);
    document["predicted"]["replica_seconds"] = json!([[0.001], [0.001]]);
    workplace.write("pipeline.json", document.to_string());
    let splits = json!([{"operators": &all[..2], "channels": [3, 5]}]);
    document["stages"] = json!([stage(cluster, &[(first, &all), (second, &all[..2])], &splits)]);
    document["predicted"]["replica_seconds"] = json!([[0.001]]);
    workplace.write("team.json", document.to_string());
    true
}

#[test]
fn runs_and_simulations_are_shown_whole() {
    let workplace = Workplace::new();
    if !schedules(&workplace) {
        return not_tested("CORES", "there is only one core");
    }
    let frames = 40;
    for command in ["run", "simulate"] {
        for (schedule, is_pipeline) in [("pipeline.json", true), ("team.json", false)] {
            let wanted = ["--schedule", schedule, "--frames", "40", "--trace", "trace.json"];
            workplace.succeed(&[&[command], &wanted[..]].concat());
            let viewer = trace(&workplace);
            assert!(viewer.slices >= 2 * frames, "{command} {schedule}: {}", viewer.slices);
            // As everywhere else, the first frame that is measured is number 0.
            assert!(viewer.frames.iter().copied().eq(0..frames as u64), "{command} {schedule}: {:?}", viewer.frames);
            assert_eq!(viewer.arrows.len(), if is_pipeline { frames } else { 0 }, "{command} {schedule}");
            // Frames wait between stages; what the machine does is looked at less often than these frames take.
            assert!(
                !is_pipeline || viewer.counters.contains("waiting before stage 2"),
                "{command}: {:?}",
                viewer.counters
            );
        }
    }
}

#[test]
fn networks_that_take_turns_are_shown_whole() {
    let workplace = Workplace::new();
    if !schedules(&workplace) {
        return not_tested("CORES", "there is only one core");
    }
    let both = ["schedule", "--model", "small.onnx", "--model", "small.onnx", "--profile", "profile.json"];
    for more in [&[][..], &["--deadline", "small.onnx=10s"]] {
        workplace.succeed(&[&both[..], more].concat());
        workplace.succeed(&["simulate", "--profile", "profile.json", "--frames", "40", "--trace", "trace.json"]);
        assert!(trace(&workplace).slices >= 80);
    }
}
