//! Hosts as threads of one process: real stages, without dora-rs.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod support;

use std::thread;

use millstream_node::report::Report;
use millstream_node::{channels, front, host};
use support::{deployment, plan, system};

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
    let report = front::run(&loaded, &frames, transport).unwrap();
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
