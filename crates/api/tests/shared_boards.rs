//! What several networks on one board divide among them beside its processors.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod fixtures;

use std::time::Duration;

use fixtures::{fixture, network};
use millstream_api::{Control, CostSource, Machine, Network, NetworkShare, PlanOn, Shared, plan_shared};
use millstream_schedule::{Schedule, SharedSchedule, held_bytes};
use serde_json::{Value, json};

/// A board of the fixtures with something about it changed.
fn changed(board: &str, change: impl Fn(&mut Value)) -> Machine {
    let text = std::fs::read_to_string(fixture("boards", board)).unwrap();
    let mut document: Value = serde_json::from_str(&text).unwrap();
    change(&mut document);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("board.json");
    std::fs::write(&path, document.to_string()).unwrap();
    Machine::read(&path).unwrap()
}

/// Plans by the costs of a board of the fixtures, as if they had been made for the changed one.
fn shared(machine: &Machine, board: &str, networks: &[Network], deadlines: &[Option<u64>]) -> Shared {
    let text = std::fs::read_to_string(fixture("costs", board)).unwrap();
    let mut document: Value = serde_json::from_str(&text).unwrap();
    document["board"] = serde_json::to_value(machine.board().to_document()).unwrap();
    document["board_fingerprint"] = json!(machine.board().fingerprint());
    let folder = tempfile::tempdir().unwrap();
    let costs = folder.path().join("cost.json");
    std::fs::write(&costs, document.to_string()).unwrap();
    let share = |own: &Option<u64>| NetworkShare { weight: 1.0, deadline: own.map(Duration::from_millis) };
    let shares: Vec<NetworkShare> = deadlines.iter().map(share).collect();
    plan_shared(machine, networks, &shares, PlanOn::Costs(CostSource::Models(&costs)), &Control::new()).unwrap()
}

/// Bytes that an accelerator's own memory holds of a network.
fn held_on(accelerator: &str, schedule: &Schedule, network: &Network) -> u64 {
    let replicas = schedule.stages.iter().flat_map(|stage| &stage.replicas);
    let there = replicas.flat_map(|replica| &replica.assignments).filter(|own| own.processor.cluster == accelerator);
    there.map(|own| held_bytes(network.graph(), &own.operators)).sum()
}

/// All networks are there while they take turns: a GPU's memory that has no room for both is divided between them, or one of them has it, and
/// more of it is never of less use.
#[test]
fn networks_that_take_turns_divide_the_memory_of_accelerators() {
    let networks = [network("squeezenet"), network("tiny-darknet")];
    let mut last = 0.0;
    for (mebibytes, users) in [(0, 0), (2, 1), (6, 1), (10, 2), (18, 2)] {
        let bytes = (mebibytes << 20).max(1);
        let machine = changed("khadas-vim3", |board| board["accelerators"][0]["memory_bytes"] = json!(bytes));
        let found = shared(&machine, "khadas-vim3", &networks, &[None, None]).document;
        let held = |(own, network): (&SharedSchedule, &Network)| {
            let schedule = own.schedule.resolve(network.graph(), network.digest(), machine.board()).unwrap();
            held_on("G", &schedule, network)
        };
        let held: Vec<u64> = found.networks.iter().zip(&networks).map(held).collect();
        assert!(found.takes_turns && held.iter().sum::<u64>() <= bytes, "{held:?} of {bytes}");
        assert_eq!(held.iter().filter(|bytes| **bytes > 0).count(), users, "{held:?} of {bytes}");
        assert!(found.rounds_per_second > last, "{mebibytes} MiB: {} after {last}", found.rounds_per_second);
        last = found.rounds_per_second;
    }
}

/// An engine that the costs have no times for makes no difference to what is found, also where only four processors together are in time.
#[test]
fn engines_without_times_change_nothing() {
    let networks = [network("squeezenet"), network("tiny-darknet")];
    let with_engines = |engines: Value| {
        let machine = changed("hikey-970", |board| {
            board["clusters"].as_array_mut().unwrap().iter_mut().for_each(|own| own["engines"] = engines.clone());
        });
        let set = shared(&machine, "hikey-970", &networks, &[Some(58), None]).document;
        let configurations: Vec<String> = set.networks.iter().map(|own| own.schedule.configuration.clone()).collect();
        (set.rounds_per_second, configurations)
    };
    let alone = with_engines(json!(["onnxruntime"]));
    assert_eq!(alone.1[0], "B4+s3");
    assert_eq!(with_engines(json!(["onnxruntime", "openvino"])), alone);
}
