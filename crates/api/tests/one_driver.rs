//! A device that two libraries drive, in what looks for schedules beside `schedule`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use millstream_api::{
    Aim, Control, CostSource, Hosts, Machine, Network, OnHosts, ReadOptions, TuneAlgorithm, TuneOn, TuneOptions,
    plan_system, tune,
};
use millstream_board::{Board, Processor};
use millstream_cost::CostTable;
use millstream_schedule::{BoardReference, Replica, Schedule, Stage};
use millstream_test_support::{board, uniform_table};
use serde_json::{Value, json};

/// One core and a device that two libraries drive, `V` a little quicker than `G`. A pipeline of both drivers would pass
/// the most frames.
fn instance() -> (Network, Board, CostTable) {
    let network = Network::open("zoo:tiny-darknet", ReadOptions::default()).unwrap();
    let apart = board("B1+G+V=gpu");
    let mut accelerators = apart.accelerators().to_vec();
    accelerators[1].same_device_as = Some("G".to_owned());
    let board = apart.with_accelerators(accelerators).unwrap();
    let table = uniform_table(network.graph(), &board, [200_000, 100_000, 90_000]);
    (network, board, table)
}

/// The quicker driver, or the one that the schedule at the start has.
#[test]
fn tuning_keeps_to_one_driver() {
    let (network, board, table) = instance();
    let on_device = |label: &str| {
        let replica = Replica::single(Processor::accelerator(label), network.graph().order().to_vec());
        Schedule { stages: vec![Stage { replicas: vec![replica] }] }
    };
    for (start, driver) in [(None, "V"), (Some("G"), "G"), (Some("V"), "V")] {
        let on = TuneOn::Simulation { costs: CostSource::Table(&table), slow_cores: &[], noise: 0.0 };
        let options = TuneOptions::new(TuneAlgorithm::ModelGuided, 6);
        let machine = Machine::of_board(board.clone());
        let tuned = tune(&machine, &network, start.map(on_device), on, &options, &Control::new()).unwrap();
        let used: BTreeSet<&str> = tuned.trials.iter().flat_map(|(schedule, _)| schedule.accelerators()).collect();
        assert_eq!(used, BTreeSet::from([driver]), "from {start:?}");
        tuned.best.0.validate(network.graph(), &board).unwrap();
        assert_eq!(tuned.best.0.processors().count(), 2, "{}", tuned.best.0);
    }
}

/// A host of a system uses one driver of the device as well, the quicker one, and which is left out is said.
#[test]
fn hosts_use_one_driver_and_name_the_other() {
    let (network, board, _) = instance();
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, document: &Value| {
        let path = folder.path().join(name);
        std::fs::write(&path, document.to_string()).unwrap();
        path
    };
    let terms = |seconds: f64| {
        json!({
            "terms": [{"name": "macs", "seconds": seconds}], "samples": 0, "r_squared": 0.0,
            "training_range": {"macs": [0, 0], "bytes": [0, 0]},
        })
    };
    let core = json!({"cluster": "B", "count": 1});
    let accelerator = |label: &str, seconds: f64| json!({"label": label, "model": {"terms": terms(seconds)}});
    let costs = json!({
        "format": "millstream-cost", "version": 1,
        "provenance": {"tool_version": "0.1.0", "created": "2026-11-30T00:00:00Z"},
        "board": board.to_document(), "board_fingerprint": BoardReference::of(&board).fingerprint,
        "processors": [{"processor": core, "cache_bytes": 1_u64 << 40, "families": [], "pooled": terms(2e-10)}],
        "accelerators": [accelerator("G", 1e-10), accelerator("V", 9e-11)],
        "fusions": [], "transfers": [], "power": [],
    });
    write("costs.json", &costs);
    let host = |id: &str| json!({"id": id, "board": board.to_document(), "cost": "costs.json"});
    let link = json!({"hosts": ["a", "b"], "latency_seconds": 1e-3, "bytes_per_second": 1e6});
    let system = json!({
        "format": "millstream-system", "version": 1, "name": "two", "hosts": [host("a"), host("b")], "links": [link],
    });
    let hosts = Hosts::read(&write("system.json", &system)).unwrap();

    let planned = plan_system(&hosts, &network, &Aim::default(), &OnHosts::default()).unwrap();
    let said = |host: &str| {
        let why = "with which the network's operators take no longer";
        format!("{host}/G is not used: it is the same device as {host}/V, {why}")
    };
    assert_eq!(planned.other_drivers, [said("a"), said("b")]);
    let used: BTreeSet<&str> = planned.schedule.accelerators().into_iter().collect();
    assert!(!used.is_empty() && used.iter().all(|label| label.ends_with("/V")), "{used:?}");
    assert!(planned.is_exact && planned.certificate().hosts.is_some());
}
