//! Events per second.

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

use millstream_board::Processor;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_schedule::{Replica, Schedule, Stage};
use millstream_sim::{Conditions, SimulatedNetwork, SimulationSettings, simulate, simulate_streams};

fn main() {
    divan::main();
}

/// 200 frames with all processors short of memory bandwidth, so that speeds change with every event.
#[divan::bench]
fn operators_that_share_the_memory(bencher: divan::Bencher<'_, '_>) {
    let Case { model, schedule, table } = Case::new();
    let graph = model.graph();
    let streams = [SimulatedNetwork::new(&schedule, graph, &table, 200)];
    let conditions = Conditions { memory_bytes_per_second: Some(1e9), ..Conditions::default() };
    bencher
        .counter(divan::counter::ItemsCount::new(200 * graph.order().len()))
        .bench(|| simulate_streams(&streams, &conditions).unwrap());
}

/// Long streams cost no more per operator.
#[divan::bench(sample_count = 5)]
fn ten_thousand_frames(bencher: divan::Bencher<'_, '_>) {
    let Case { model, schedule, table } = Case::new();
    let graph = model.graph();
    let settings = SimulationSettings { frames: 10_000, ..SimulationSettings::default() };
    bencher
        .counter(divan::counter::ItemsCount::new(10_000 * graph.order().len()))
        .bench(|| simulate(&schedule, graph, &table, &settings).unwrap());
}

/// 200 frames of the largest network in four stages: the item counter shows operators per second.
#[divan::bench]
fn operators_of_inception_resnet_v2(bencher: divan::Bencher<'_, '_>) {
    let Case { model, schedule, table } = Case::new();
    let graph = model.graph();
    let settings = SimulationSettings { frames: 200, ..SimulationSettings::default() };
    bencher
        .counter(divan::counter::ItemsCount::new(200 * graph.order().len()))
        .bench(|| simulate(&schedule, graph, &table, &settings).unwrap());
}

/// The largest network in four stages of one core each.
struct Case {
    model: millstream_onnx::Model,
    schedule: Schedule,
    table: CostTable,
}

impl Case {
    fn new() -> Self {
        let model = millstream_zoo::build("inception-resnet-v2").unwrap();
        let operators = model.graph().order();
        let stage = |(core, part): (usize, &[_])| Stage {
            replicas: vec![Replica::single(Processor::new("B", [core as u32]), part.to_vec())],
        };
        let stages = operators.chunks(operators.len().div_ceil(4)).enumerate().map(stage).collect();
        let mut table = CostTable::new(operators.len(), [Processor::new("B", [0]).class()]);
        for processor in table.class_ids() {
            for (operator, nanoseconds) in table.operator_ids().zip(1000..) {
                table.set_time(processor, operator, Nanoseconds(nanoseconds));
            }
        }
        Self { schedule: Schedule { stages }, model, table }
    }
}
