//! Hosts that reach each other only through cables: as network namespaces, which need root and the program `ip`.
//! `MILLSTREAM_DORA` names the program of dora-rs, as `cargo xtask node-test` does.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

#[path = "support/cable.rs"]
mod cable;
#[path = "support/namespaces.rs"]
mod namespaces;
mod support;

use std::fs;
use std::path::Path;
use std::time::Duration;

use cable::Cable;
use millstream_node::report::Report;
use namespaces::{Cables, Namespaces};
use serde_json::Value;
use support::{command, plan, system};

/// A system of two hosts with addresses, and a schedule for them.
fn prepare(folder: &Path, addresses: &[String]) {
    system(folder, &["a", "b"]);
    plan(folder, &[], "schedule.json");
    let mut document: Value = serde_json::from_str(&fs::read_to_string(folder.join("system.json")).unwrap()).unwrap();
    for (host, address) in document["hosts"].as_array_mut().unwrap().iter_mut().zip(addresses) {
        host["address"] = Value::from(address.clone());
    }
    fs::write(folder.join("system.json"), document.to_string()).unwrap();
}

/// What the command printed, which must be right.
fn succeed(folder: &Path, arguments: &[&str], more: &[String]) -> String {
    let more = more.iter().map(String::as_str);
    let (is_right, shown, said) = command(folder, &arguments.iter().copied().chain(more).collect::<Vec<_>>());
    assert!(is_right, "{shown}\n{said}");
    shown
}

fn check(report: &str) {
    let report: Report = serde_json::from_str(report).unwrap();
    assert!(report.is_right() && report.checked == 30, "{report:?}");
    assert!(!report.events.iter().any(|event| event.text.contains("sent again")), "{report:?}");
    assert_eq!(report.stages.iter().map(|stage| stage.host.as_str()).collect::<Vec<_>>(), ["a", "b"]);
}

/// Over cables of 100 Mbit/s, which no measurement finds faster than they are.
#[test]
fn frames_go_through_cables_and_these_are_measured() {
    let folder = tempfile::tempdir().unwrap();
    let Some(hosts) = Namespaces::new(&["a", "b"], Cables::Shaped("100mbit")) else { return };
    prepare(folder.path(), &[hosts.address(0), hosts.address(1)]);
    let gateway = hosts.gateway(0);
    let run = ["run", "--system", "system.json", "--frames", "30", "--json", "--address", &gateway];
    let via = hosts.via(folder.path());
    check(&succeed(folder.path(), &run, &via));

    let measure = ["measure-links", "--system", "system.json", "--json", "--address", &gateway];
    let links: Value = serde_json::from_str(&succeed(folder.path(), &measure, &via)).unwrap();
    let directions = links["links"][0]["directions"].as_array().unwrap();
    for direction in directions.iter().filter(|direction| direction["is_busy"] == false) {
        let rate = 1.0 / direction["among_others"]["seconds_per_byte"].as_f64().unwrap();
        assert!((5e6..13e6).contains(&rate), "{rate} bytes/s: {direction}");
    }
    assert!(directions.iter().all(|direction| direction["lost"] == 0), "{directions:?}");
}

/// A frame from one host to the other goes through two cables of 2.5 ms each, and so does every answer.
#[test]
fn long_cables_are_measured() {
    let folder = tempfile::tempdir().unwrap();
    let cable = Cable { bytes_per_second: 12.5e6, latency: Duration::from_micros(2500), loses_one_in: 0 };
    let Some(hosts) = Namespaces::new(&["a", "b"], Cables::Carried(cable)) else { return };
    prepare(folder.path(), &[hosts.address(0), hosts.address(1)]);
    let gateway = hosts.gateway(0);
    let measure = ["measure-links", "--system", "system.json", "--json", "--address", &gateway];
    let links: Value = serde_json::from_str(&succeed(folder.path(), &measure, &hosts.via(folder.path()))).unwrap();
    let directions = links["links"][0]["directions"].as_array().unwrap();
    for direction in directions.iter().filter(|direction| direction["is_busy"] == false) {
        let smallest = direction["samples"][0]["alone_seconds"].as_f64().unwrap();
        assert!((5e-3..9e-3).contains(&smallest), "{smallest} s: {direction}");
    }
}

/// What the cables lose is sent again below the engine: every frame is answered once, in order, and right.
#[test]
fn frames_go_through_cables_that_lose_packets() {
    let folder = tempfile::tempdir().unwrap();
    let cable = Cable { bytes_per_second: 12.5e6, latency: Duration::from_micros(200), loses_one_in: 1000 };
    let Some(hosts) = Namespaces::new(&["a", "b"], Cables::Carried(cable)) else { return };
    prepare(folder.path(), &[hosts.address(0), hosts.address(1)]);
    let gateway = hosts.gateway(0);
    let run = ["run", "--system", "system.json", "--frames", "30", "--json", "--address", &gateway];
    check(&succeed(folder.path(), &run, &hosts.via(folder.path())));
}

/// All that goes between the machines goes through ssh: nobody else can reach a daemon or the coordinator.
#[test]
fn frames_go_through_ssh() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut hosts) = Namespaces::new(&["a", "b"], Cables::Free) else { return };
    prepare(folder.path(), &[hosts.address(0), hosts.address(1)]);
    let Some(via) = hosts.via_ssh(folder.path()) else { return };
    let run = ["run", "--system", "system.json", "--frames", "30", "--json", "--tunnel"];
    check(&succeed(folder.path(), &run, &via));
}
