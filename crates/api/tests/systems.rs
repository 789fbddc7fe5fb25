//! What schedules over several boards promise, where stages of one board wait for each other.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod fixtures;

use std::path::Path;

use fixtures::{fixture, network};
use millstream_api::{Aim, Control, CostSource, Hosts, OnHosts, Scheduled, SimulateOptions, plan_system, simulate};
use millstream_sim::SteadyState;
use serde_json::{Value, json};

/// Two HiKey 970s whose clusters are joined by links of so many megabytes a second.
fn system(folder: &Path, megabytes_per_second: f64) -> Hosts {
    let mut board: Value =
        serde_json::from_str(&std::fs::read_to_string(fixture("boards", "hikey-970")).unwrap()).unwrap();
    board.as_object_mut().unwrap().remove("memory");
    let bytes_per_second = 1e6 * megabytes_per_second;
    let link = |from: &str, to: &str| json!({"from": from, "to": to, "bytes_per_second": bytes_per_second, "latency_seconds": 1e-5});
    board["links"] = json!([link("B", "s"), link("s", "B")]);
    let host = |id: &str| json!({"id": id, "board": board, "cost": fixture("costs", "hikey-970")});
    let document = json!({
        "format": "millstream-system", "version": 1, "name": "linked",
        "hosts": [host("one"), host("other")],
        "links": [{"hosts": ["one", "other"], "latency_seconds": 1e-4, "bytes_per_second": 1e8}],
    });
    let path = folder.join("system.json");
    std::fs::write(&path, document.to_string()).unwrap();
    Hosts::read(&path).unwrap()
}

/// Stages and replicas that take frames over the same link of a board wait for each other: what is promised is what a
/// simulation shows of that, and never what each would do if the link were its own.
#[test]
fn promises_over_several_boards_are_simulated_where_links_are_shared() {
    let mobilenet = network("mobilenet-v1");
    let (mut sharing, mut waiting) = (0, 0);
    for megabytes_per_second in [50.0, 1000.0] {
        let folder = tempfile::tempdir().unwrap();
        let hosts = system(folder.path(), megabytes_per_second);
        let found = plan_system(&hosts, &mobilenet, &Aim::default(), &OnHosts::default()).unwrap();
        for plan in &found.front {
            let schedule = found.schedule_of(plan);
            let alone = schedule.evaluate(mobilenet.graph(), &found.table).unwrap();
            let steady = SteadyState::of(&schedule, mobilenet.graph(), &found.table, None).unwrap().evaluation;
            assert_eq!((plan.period, plan.latency), (steady.period.max(alone.period), steady.latency));
            sharing += usize::from(alone.shares_board_links());
            waiting += usize::from(plan.period > alone.period);
        }

        let promised = &found.document.predicted;
        let of_stages = found.plan.stages.iter().map(|stage| stage.times());
        let times: Vec<Vec<f64>> = of_stages.map(|own| own.iter().map(|time| time.seconds()).collect()).collect();
        assert_eq!(promised.period_seconds, found.plan.period.seconds());
        assert_eq!((promised.latency_seconds, &promised.replica_seconds), (found.plan.latency.seconds(), &times));

        // As many frames as nobody counted on.
        let set = [Scheduled::alone(network("mobilenet-v1"), found.document, hosts.machine().board()).unwrap()];
        let options = SimulateOptions::new(CostSource::Table(&found.table), 777);
        let simulated = simulate(hosts.machine(), &set, &options, &Control::new()).unwrap();
        let ratio = simulated[0].simulation.period_seconds() / set[0].document.predicted.period_seconds;
        assert!((ratio - 1.0).abs() < 0.02, "{megabytes_per_second} MB/s: {ratio}");
    }
    assert!(sharing > 2 && waiting > 0, "{sharing} share a link, {waiting} wait there");
}
