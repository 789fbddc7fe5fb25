//! Hosts as threads of one process: real stages, without dora-rs.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod support;

use std::sync::atomic::AtomicBool;
use std::{fs, thread};

use millstream_api::Machine;
use millstream_node::deployment::Deployment;
use millstream_node::report::Report;
use millstream_node::{channels, front, host};
use millstream_test_support::not_tested;
use support::{deployment, plan, plan_with_a_team, system, system_that_sends, system_with_cores};

/// Runs frames through hosts of these names, each with what `of_host` makes of the deployment.
fn stream(
    names: &[&str],
    deployed: &millstream_node::deployment::Deployment,
    of_host: impl Fn(&str) -> millstream_node::deployment::Deployment,
) -> Report {
    let (transport, transports) = channels::transports(names.len());
    let hosts: Vec<_> = names
        .iter()
        .zip(transports)
        .map(|(name, transport)| {
            let (name, loaded) = ((*name).to_owned(), of_host(name).load().unwrap());
            thread::spawn(move || host::run(loaded, &name, transport))
        })
        .collect();
    let loaded = deployed.clone().load().unwrap();
    let frames = front::Frames::new(&loaded).unwrap();
    let report = front::run(&loaded, &frames, transport, &AtomicBool::new(false)).unwrap();
    hosts.into_iter().for_each(|host| host.join().unwrap().unwrap());
    report
}

#[test]
fn frames_through_two_hosts_are_as_in_sequential_inference() {
    let folder = tempfile::tempdir().unwrap();
    system(folder.path(), &["a", "b"]);
    plan(folder.path(), &[], "schedule.json");
    let deployed = deployment(folder.path(), &["schedule.json"], 40);
    let report = stream(&["a", "b"], &deployed, |_| deployed.clone());
    assert!(report.is_right(), "{report:?}");
    assert!(report.configuration.contains("a/B1") && report.configuration.contains("b/B1"), "{}", report.configuration);
    let frames: Vec<(&str, u64)> = report.stages.iter().map(|stage| (stage.host.as_str(), stage.frames)).collect();
    assert_eq!(frames.len(), 2);
    assert!(frames.iter().all(|stage| stage.1 == 40), "{frames:?}");
    assert!(report.text().contains("40 of 40 frames as in sequential inference"), "{}", report.text());
}

#[test]
fn the_cores_of_a_host_work_on_one_frame() {
    if Machine::detect().unwrap().board().cores().count() < 2 {
        return not_tested("a second core", "a team needs two");
    }
    let folder = tempfile::tempdir().unwrap();
    for network in ["zoo:squeezenet", "zoo:googlenet"] {
        system_with_cores(folder.path(), &["a", "b"], 2, "f32");
        plan_with_a_team(folder.path(), network, "schedule.json");
        let trace = folder.path().join("trace.json");
        let deployed = Deployment { trace: Some(trace.clone()), ..deployment(folder.path(), &["schedule.json"], 12) };
        let report = stream(&["a", "b"], &deployed, |_| deployed.clone());
        assert!(report.is_right(), "{report:?}");
        assert!(report.configuration.contains("a/B1+a/B1"), "{}", report.configuration);
        assert!(report.text().contains("12 of 12 frames as in sequential inference"), "{}", report.text());

        // Both cores of the first host have done something of every frame.
        let trace: serde_json::Value = serde_json::from_str(&fs::read_to_string(trace).unwrap()).unwrap();
        let slices = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
        let of_first = slices.filter(|slice| slice["args"]["frame"] == 3 && slice["args"]["stage"] == 1);
        assert!(of_first.count() > 1, "{network}");
    }
}

#[test]
fn values_are_sent_in_fewer_bits_and_results_differ_by_what_that_does() {
    let folder = tempfile::tempdir().unwrap();
    for (precision, least, most) in [("f16", 1e-7, 1e-3), ("int8", 1e-5, 0.2)] {
        system_that_sends(folder.path(), &["a", "b"], precision);
        plan(folder.path(), &[], "schedule.json");
        let deployed = deployment(folder.path(), &["schedule.json"], 12);
        let report = stream(&["a", "b"], &deployed, |_| deployed.clone());
        assert!(report.is_right(), "{report:?}");
        let changes = report.sending_changes;
        assert!((least..most).contains(&changes), "{precision}: {changes}");
        // What comes of it, and not more; the same elements are rounded.
        assert!((0.2 * changes..4.0 * changes).contains(&report.largest_difference), "{report:?}");
        assert!(report.text().contains("Sending:"), "{}", report.text());
    }
}

/// By the clocks of two hosts, no stage works on a frame before the one before it is done.
#[test]
fn one_trace_shows_what_all_hosts_did() {
    let folder = tempfile::tempdir().unwrap();
    system(folder.path(), &["a", "b"]);
    plan(folder.path(), &[], "schedule.json");
    let trace = folder.path().join("trace.json");
    let deployed = Deployment { trace: Some(trace.clone()), ..deployment(folder.path(), &["schedule.json"], 20) };
    assert!(stream(&["a", "b"], &deployed, |_| deployed.clone()).is_right());

    let trace: serde_json::Value = serde_json::from_str(&fs::read_to_string(trace).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let groups = events.iter().filter(|event| event["name"] == "process_name");
    let groups: Vec<&str> = groups.map(|event| event["args"]["name"].as_str().unwrap()).collect();
    assert_eq!(groups, ["counters", "cluster a/B", "cluster b/B"]);
    let slices: Vec<&serde_json::Value> = events.iter().filter(|event| event["ph"] == "X").collect();
    assert_eq!(slices.len(), 40);
    for frame in 0..20 {
        let of_stage = |stage: u64| {
            let is_it =
                |slice: &&&serde_json::Value| slice["args"]["frame"] == frame && slice["args"]["stage"] == stage;
            let slice = slices.iter().find(is_it).unwrap();
            let begin = slice["ts"].as_f64().unwrap();
            [begin, begin + slice["dur"].as_f64().unwrap()]
        };
        let ([_, done], [begin, _]) = (of_stage(1), of_stage(2));
        // The two clocks are known to within half the time of a question and its answer.
        assert!(begin > done - 1000.0, "frame {frame}: {done} {begin}");
    }
}

#[test]
fn a_host_with_another_schedule_is_refused_before_the_first_frame() {
    let folder = tempfile::tempdir().unwrap();
    system(folder.path(), &["a", "b"]);
    plan(folder.path(), &[], "schedule.json");
    plan(folder.path(), &["b"], "other.json");
    let deployed = deployment(folder.path(), &["schedule.json"], 4);
    let report = stream(&["a", "b"], &deployed, |name| match name {
        "b" => deployment(folder.path(), &["other.json"], 4),
        _ => deployed.clone(),
    });
    let error = report.error.unwrap();
    assert!(error.starts_with("host 'b' has another schedule: '"), "{error}");
    assert_eq!(report.checked, 0);
}
