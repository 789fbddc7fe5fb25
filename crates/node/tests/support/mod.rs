//! Systems whose hosts are cores of this computer.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "each test uses a part of it")]

use std::fs;
use std::path::Path;

use millstream_api::{Aim, Hosts, Machine, Network, ReadOptions, files, plan_system};
use millstream_node::deployment::Deployment;

/// Hosts with a core of this computer each, and links between all of them.
pub(crate) fn system(folder: &Path, hosts: &[&str]) {
    let cores: Vec<u32> = Machine::detect().unwrap().board().cores().map(|core| core.id.0).collect();
    let host = |(place, id): (usize, &&str)| {
        let core = cores[place % cores.len()];
        let board = format!(
            r#"{{"format": "millstream-board", "version": 1, "name": "one core", "clusters": [{{"label": "B",
                "core_type": "core", "capacity": 1024, "cores": [{{"id": {core}}}], "operating_points": []}}],
                "memory": {{"bytes_per_second": 8e9, "bytes": 4000000000}}}}"#
        );
        format!(r#"{{"id": "{id}", "board": {board}, "cost": "raspberry-pi-5"}}"#)
    };
    let link = |one: &str, other: &str| {
        format!(r#"{{"hosts": ["{one}", "{other}"], "latency_seconds": 1e-4, "bytes_per_second": 1e9}}"#)
    };
    let links =
        hosts.iter().enumerate().flat_map(|(place, one)| hosts[..place].iter().map(move |other| link(one, other)));
    let text = format!(
        r#"{{"format": "millstream-system", "version": 1, "name": "cores", "hosts": [{}], "links": [{}]}}"#,
        hosts.iter().enumerate().map(host).collect::<Vec<_>>().join(", "),
        links.collect::<Vec<_>>().join(", ")
    );
    fs::write(folder.join("system.json"), text).unwrap();
}

/// Plans a network over the system of a folder, without some hosts, and writes the schedule.
pub(crate) fn plan(folder: &Path, without: &[&str], name: &str) {
    let hosts = Hosts::read(&folder.join("system.json")).unwrap();
    let network = Network::open("zoo:squeezenet", ReadOptions::default()).unwrap();
    let without: Vec<String> = without.iter().map(|&own| own.to_owned()).collect();
    let plan = plan_system(&hosts, &network, &Aim::default(), &without).unwrap();
    fs::write(folder.join(name), files::to_json(&plan.document).unwrap()).unwrap();
}

/// So many frames through these schedules.
pub(crate) fn deployment(folder: &Path, schedules: &[&str], frames: u64) -> Deployment {
    Deployment {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        system: folder.join("system.json"),
        model: None,
        schedules: schedules.iter().map(|name| folder.join(name)).collect(),
        frames,
        in_flight: None,
        report: folder.join("report.json"),
    }
}
