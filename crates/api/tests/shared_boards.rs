//! What several networks on one board divide among them beside its processors.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod fixtures;

use std::time::Duration;

use fixtures::{fixture, network};
use millstream_api::{
    Aim, Control, CostSource, Error, Machine, Network, NetworkShare, PlanOn, Scheduled, Shared, SimulateOptions,
    Simulated, plan, plan_shared, simulate,
};
use millstream_schedule::{Constrained, Schedule, SharedSchedule, held_bytes};
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
    tried(machine, board, networks, deadlines).unwrap()
}

/// The same where there may be no such plan.
fn tried(machine: &Machine, board: &str, networks: &[Network], deadlines: &[Option<u64>]) -> Result<Shared, Error> {
    let text = std::fs::read_to_string(fixture("costs", board)).unwrap();
    let mut document: Value = serde_json::from_str(&text).unwrap();
    document["board"] = serde_json::to_value(machine.board().to_document()).unwrap();
    document["board_fingerprint"] = json!(machine.board().fingerprint());
    let folder = tempfile::tempdir().unwrap();
    let costs = folder.path().join("cost.json");
    std::fs::write(&costs, document.to_string()).unwrap();
    let share =
        |own: &Option<u64>| NetworkShare { deadline: own.map(Duration::from_millis), ..NetworkShare::default() };
    let shares: Vec<NetworkShare> = deadlines.iter().map(share).collect();
    plan_shared(machine, networks, &shares, PlanOn::Costs(CostSource::Models(&costs)), &Control::new())
}

/// Bytes that an accelerator's own memory holds of a network.
fn held_on(accelerator: &str, schedule: &Schedule, network: &Network) -> u64 {
    let replicas = schedule.stages.iter().flat_map(|stage| &stage.replicas);
    let there = replicas.flat_map(|replica| &replica.assignments).filter(|own| own.processor.cluster == accelerator);
    there.map(|own| held_bytes(network.graph(), &own.operators)).sum()
}

/// All networks are there while they take turns: a GPU's memory that has no room for both is divided between them, or
/// one of them has it, and more of it is never of less use.
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

/// An engine that the costs have no times for makes no difference to what is found, also where only four processors
/// together are in time.
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

/// Where memory is too small for one of them, that is what is said, not that processors are missing.
#[test]
fn memory_that_one_network_exceeds_is_named() {
    let networks = [network("squeezenet"), network("mobilenet-v1")];
    let machine = changed("rk3588", |board| board["memory"]["bytes"] = json!(14_200_000));
    let refused = tried(&machine, "rk3588", &networks, &[None, None]).err().unwrap().to_string();
    assert!(refused.contains("board's memory of 14200000 bytes"), "{refused}");
}

/// A simulation tells by how much frames are later than their network's deadline.
#[test]
fn missed_deadlines_are_told() {
    let networks = [network("squeezenet"), network("tiny-darknet")];
    let machine = Machine::read(&fixture("boards", "hikey-970")).unwrap();
    let set = shared(&machine, "hikey-970", &networks, &[Some(200), None]).document;
    let costs = fixture("costs", "hikey-970");
    let options = SimulateOptions::new(CostSource::Models(&costs), 50);
    let mut loaded: Vec<Scheduled> = set
        .networks
        .iter()
        .zip(networks)
        .map(|(own, network)| Scheduled {
            deadline_seconds: own.deadline_seconds,
            takes_turns: set.takes_turns,
            ..Scheduled::alone(network, own.schedule.clone(), machine.board()).unwrap()
        })
        .collect();

    let missed = |loaded: &[Scheduled]| -> Vec<Vec<String>> {
        let simulated = simulate(&machine, loaded, &options, &Control::new()).unwrap();
        let of_one = |(own, simulated): (&Scheduled, &Simulated)| {
            own.missed(&simulated.simulation, &simulated.table, &options).iter().map(ToString::to_string).collect()
        };
        loaded.iter().zip(&simulated).map(of_one).collect()
    };
    loaded[0].deadline_seconds = Some(10.0);
    assert_eq!(missed(&loaded), [Vec::<String>::new(), Vec::new()]);
    loaded[0].deadline_seconds = Some(0.001);
    let told = missed(&loaded);
    assert!(told[0][0].contains("over its deadline of 1.000 ms") && told[1].is_empty(), "{told:?}");
}

/// A deadline that frames keep among the turns of others is kept by as many frames as anybody simulates, not only by
/// the first few.
#[test]
fn deadlines_in_turn_are_kept_for_long() {
    let networks = [network("squeezenet"), network("mobilenet-v1")];
    let machine = Machine::read(&fixture("boards", "khadas-vim3")).unwrap();
    let costs = fixture("costs", "khadas-vim3");
    let options = SimulateOptions::new(CostSource::Models(&costs), 1500);
    for deadlines in [[Some(500), Some(400)], [Some(300), Some(390)]] {
        let set = shared(&machine, "khadas-vim3", &networks, &deadlines).document;
        let own = |(own, source): (SharedSchedule, &str)| Scheduled {
            deadline_seconds: own.deadline_seconds,
            takes_turns: set.takes_turns,
            ..Scheduled::alone(network(source), own.schedule, machine.board()).unwrap()
        };
        let loaded: Vec<Scheduled> =
            set.networks.clone().into_iter().zip(["squeezenet", "mobilenet-v1"]).map(own).collect();
        let simulated = simulate(&machine, &loaded, &options, &Control::new()).unwrap();
        for (own, Simulated { simulation, table, .. }) in loaded.iter().zip(&simulated) {
            let missed = own.missed(simulation, table, &options);
            assert!(missed.iter().all(|own| own.what != Constrained::Deadline), "{deadlines:?}: {missed:?}");
        }
    }
}

/// With processors of its own, a network's frames may wait in queues as long as they like: that is told, and is no
/// miss.
#[test]
fn waiting_in_queues_is_late_only_where_networks_take_turns() {
    let machine = Machine::read(&fixture("boards", "hikey-970")).unwrap();
    let costs = fixture("costs", "hikey-970");
    let on = PlanOn::Costs(CostSource::Models(&costs));
    let planned = plan(&machine, &network("squeezenet"), &Aim::default(), on, &Control::new()).unwrap();
    let mut own = [Scheduled::alone(network("squeezenet"), planned.document, machine.board()).unwrap()];
    // Without noise, frames come just when the next stage takes them.
    let mut options = SimulateOptions::new(CostSource::Models(&costs), 50);
    options.noise = 0.05;
    let simulated = simulate(&machine, &own, &options, &Control::new()).unwrap();
    let Simulated { simulation, table, .. } = &simulated[0];
    let [in_stages, longest] =
        [simulation.worst_time_in_stages(), simulation.worst_latency()].map(|time| time.seconds());
    assert!(in_stages < longest, "{in_stages} {longest}");

    own[0].deadline_seconds = Some((in_stages + longest) / 2.0);
    for takes_turns in [false, true] {
        own[0].takes_turns = takes_turns;
        let late = own[0].missed(simulation, table, &options);
        assert_eq!(late.iter().any(|own| own.what == Constrained::Deadline), takes_turns);
        let beyond = own[0].beyond_with_queues(longest).map(|own| own.what);
        assert_eq!(beyond, (!takes_turns).then_some(Constrained::DeadlineWithQueues));
    }
}
