//! The parts of a schedule for several boards, each a network of its own, make together what the whole network makes.

#![cfg(feature = "ort")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use millstream_api::{
    CheckedFrames, EngineOptions, Error, HostPart, Hosts, Inputs, Machine, Network, Objective, ReadOptions, Stream,
    Tensor, document,
};
use millstream_board::{Processor, TransferPrecision};
use millstream_graph::{OperatorId, ValueId};
use millstream_onnx::{Attributes, ModelBuilder, Weight};
use millstream_schedule::{Prediction, Replica, Schedule, ScheduleDocument, Stage};
use millstream_test_support::board;

/// Convolutions, the last of which also reads what the first one and the frame itself were: values that cross hosts
/// which do not need them.
fn network() -> Network {
    let mut builder = ModelBuilder::new("crossing");
    let image = builder.input("image", [1, 4, 8, 8]);
    let mut maps = vec![image];
    for layer in 0..4 {
        let values = (0..4 * 4 * 9).map(|index| ((index * 7 + layer) % 13) as f32 / 40.0 - 0.1).collect();
        let filter = builder.weight("filter", &Weight::from_f32([4, 4, 3, 3], values));
        let pads = Attributes::new().ints("pads", &[1, 1, 1, 1]);
        maps.push(builder.node_with("Conv", &[&maps[layer], &filter], pads));
    }
    let sum = builder.node("Add", &[&maps[4], &maps[1]]);
    let sum = builder.node("Add", &[&sum, &maps[0]]);
    builder.output(&maps[2]);
    builder.output(&sum);
    Network::of_model(Arc::new(builder.build().unwrap()), "crossing", ReadOptions::default())
}

/// Two hosts that are both this machine's first core.
fn hosts(folder: &Path) -> Hosts {
    hosts_that_send(folder, "f32")
}

/// The same with what floats are sent as between them.
fn hosts_that_send(folder: &Path, precision: &str) -> Hosts {
    let core = Machine::detect().unwrap().board().cores().next().unwrap().id.0;
    let board = serde_json::to_string(&board(&format!("B1#{core}")).to_document()).unwrap();
    let host = |id: &str| format!(r#"{{"id": "{id}", "board": {board}, "cost": "none"}}"#);
    let link = format!(
        r#"{{"hosts": ["a", "b"], "latency_seconds": 1e-4, "bytes_per_second": 1e8, "precision": "{precision}"}}"#
    );
    let (a, b) = (host("a"), host("b"));
    let text = format!(
        r#"{{"format": "millstream-system", "version": 1, "name": "two", "hosts": [{a}, {b}], "links": [{link}]}}"#
    );
    fs::write(folder.join("two.json"), text).unwrap();
    Hosts::read(&folder.join("two.json")).unwrap()
}

/// Stages of so many operators on the hosts.
fn schedule(hosts: &Hosts, network: &Network, stages: &[(usize, &str)]) -> (Schedule, ScheduleDocument) {
    let cores: Vec<Processor> = hosts
        .machine()
        .board()
        .clusters()
        .iter()
        .map(|cluster| Processor::new(&cluster.label, cluster.cores.iter().map(|core| core.id.0)))
        .collect();
    let mut operators = network.graph().order().iter().copied();
    let stage = |&(count, host): &(usize, &str)| {
        let processor = cores.iter().find(|own| own.cluster.starts_with(host)).unwrap().clone();
        let operators: Vec<OperatorId> = operators.by_ref().take(count).collect();
        Stage { replicas: vec![Replica::single(processor, operators)] }
    };
    let schedule = Schedule { stages: stages.iter().map(stage).collect() };
    let predicted = Prediction {
        period_seconds: 1.0,
        latency_seconds: 1.0,
        is_measured: false,
        lower_bound_period_seconds: 1.0,
        searched: None,
        replica_seconds: vec![vec![1.0]; stages.len()],
        joules_per_frame: None,
        watts: None,
    };
    let board = hosts.machine().board();
    let document = document(&schedule, predicted, "by hand", Objective::Throughput, network, board);
    (schedule, document)
}

/// What comes of a frame that goes through all parts.
fn results(
    (hosts, network): (&Hosts, &Network),
    parts: &[HostPart],
    document: &ScheduleDocument,
    frame: Vec<(ValueId, Tensor)>,
) -> Vec<(ValueId, Tensor)> {
    let mut frame: HashMap<ValueId, Tensor> = frame.into_iter().collect();
    for part in parts {
        let loaded = part.load(hosts, network, document).unwrap();
        let given = loaded.inputs.iter().map(|id| frame.get(id).unwrap().clone()).collect();
        let stream = Stream::start(&loaded.machine, &loaded.scheduled, &EngineOptions::default()).unwrap();
        stream.submit(given).unwrap();
        frame.extend(loaded.outputs.iter().copied().zip(stream.recv().unwrap().outcome.unwrap()));
        // Nothing else goes on.
        frame.retain(|id, _| part.needed_after().contains(id));
    }
    frame.into_iter().collect()
}

#[test]
fn parts_in_their_order_make_what_the_whole_network_makes() {
    let folder = tempfile::tempdir().unwrap();
    let (hosts, network) = (hosts(folder.path()), network());
    let whole = CheckedFrames::new(&network, &Machine::detect().unwrap()).unwrap();
    for stages in [&[(6, "a")][..], &[(2, "a"), (4, "b")], &[(1, "b"), (2, "a"), (1, "b"), (2, "a")]] {
        let (schedule, document) = schedule(&hosts, &network, stages);
        let parts = HostPart::all(&hosts, network.graph(), &schedule).unwrap();
        assert_eq!(parts.len(), stages.len());
        let results = results((&hosts, &network), &parts, &document, whole.frame(1));
        assert!(whole.check(1, &results).unwrap() < 1e-5);
        assert!(whole.check(0, &results).is_err(), "another frame has other results");
    }
}

/// So far from zero that nothing hides it, and of so few bits that results show it.
fn coarse(value: &Tensor, precision: TransferPrecision) -> Tensor {
    let floats = value.as_f32().unwrap().iter();
    match precision {
        TransferPrecision::F32 => value.clone(),
        _ => Tensor::from_f32(value.shape().clone(), floats.map(|float| (float * 32.0).round() / 32.0).collect()),
    }
}

/// A frame's results, off by so much of their largest elements.
fn off_by(exact: &[(ValueId, Tensor)], relative: f64) -> Vec<(ValueId, Tensor)> {
    let shifted = |(id, tensor): &(ValueId, Tensor)| {
        let floats = tensor.as_f32().unwrap();
        let largest = floats.iter().fold(0.0_f32, |largest, float| largest.max(float.abs()));
        let shift = (f64::from(largest) * relative) as f32;
        (*id, Tensor::from_f32(tensor.shape().clone(), floats.iter().map(|float| float + shift).collect()))
    };
    exact.iter().map(shifted).collect()
}

#[test]
fn results_may_differ_by_what_is_sent_in_fewer_bits_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let (hosts, machine) = (hosts_that_send(folder.path(), "int8"), Machine::detect().unwrap());
    let plain = CheckedFrames::new(&network(), &machine).unwrap();
    let file = |label: &str, tensors: &[(ValueId, Tensor)]| {
        let network = network();
        let name = |id: &ValueId| network.graph().value(*id).name.clone();
        let named: Vec<_> = tensors.iter().map(|(id, tensor)| (name(id), tensor.clone())).collect();
        millstream_frames::write_results(folder.path(), label, &named).unwrap()
    };
    let frame = file("frame", &plain.frame(1)).display().to_string();
    let network = network().with_inputs(&Inputs { files: vec![frame], ..Inputs::default() }).unwrap();
    let (schedule, document) = schedule(&hosts, &network, &[(2, "a"), (4, "b")]);
    let parts = HostPart::all(&hosts, network.graph(), &schedule).unwrap();
    let of = || CheckedFrames::new(&network, &machine).unwrap();
    let (plain, whole) = (of(), of().sending((&network, &hosts, &parts), &machine, &coarse).unwrap());

    let changes = whole.sending_changes();
    assert!(changes > 1e-3 && plain.sending_changes() == 0.0, "{changes}");
    let exact = results((&hosts, &network), &parts, &document, plain.frame(0));
    assert!(plain.check(0, &exact).unwrap() < 1e-5);
    assert!(whole.check(0, &off_by(&exact, 0.9 * changes)).unwrap() > 0.5 * changes);
    assert!(matches!(plain.check(0, &off_by(&exact, 0.9 * changes)), Err(Error::Different { .. })));
    assert!(matches!(whole.check(0, &off_by(&exact, 20.0 * changes)), Err(Error::Different { .. })));

    // Somebody may expect more of them.
    let expected = file("expected", &exact);
    let check = |tolerance: f64| {
        let expecting = of().sending((&network, &hosts, &parts), &machine, &coarse).unwrap();
        let expecting = expecting.expecting(&network, &expected, Some(tolerance)).unwrap();
        expecting.check(0, &off_by(&exact, 0.9 * changes))
    };
    assert!(check(changes).is_ok());
    assert!(matches!(check(0.5 * changes), Err(Error::Unexpected { .. })));
}

#[test]
fn a_stage_on_several_hosts_or_none_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (hosts, network) = (hosts(folder.path()), network());
    let (mut both, _) = schedule(&hosts, &network, &[(6, "a")]);
    let mut other = both.stages[0].replicas[0].clone();
    other.assignments[0].processor = Processor::new("b/B", [1]);
    both.stages[0].replicas.push(other);
    assert!(matches!(HostPart::all(&hosts, network.graph(), &both), Err(Error::Schedule(_))));
    let strange = both.with_processors(|_| Processor::new("c/B", [0]));
    let message = HostPart::all(&hosts, network.graph(), &strange).unwrap_err().to_string();
    assert_eq!(message, "stage 1 is on no host of the system 'two'");
}
