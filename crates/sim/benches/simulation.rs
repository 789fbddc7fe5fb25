//! Events per second.

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

use millstream_board::Processor;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_schedule::{Replica, Schedule, Stage};
use millstream_sim::{Settings, simulate};

fn main() {
    divan::main();
}

/// 200 frames of the largest network in four stages: the item counter shows operators per second.
#[divan::bench]
fn operators_of_inception_resnet_v2(bencher: divan::Bencher<'_, '_>) {
    let model = millstream_zoo::build("inception-resnet-v2").unwrap();
    let graph = model.graph();
    let operators = graph.order();
    let stage = |(core, part): (usize, &[_])| Stage {
        replicas: vec![Replica::single(Processor::new("B", [core as u32]), part.to_vec())],
    };
    let schedule = Schedule { stages: operators.chunks(operators.len().div_ceil(4)).enumerate().map(stage).collect() };
    let mut table = CostTable::new(operators.len(), [Processor::new("B", [0]).class()]);
    for processor in table.processors() {
        (0..operators.len()).for_each(|index| table.set_time(processor, index, Nanoseconds(1000 + index as u64)));
    }
    let settings = Settings { frames: 200, ..Settings::default() };
    bencher
        .counter(divan::counter::ItemsCount::new(200 * operators.len()))
        .bench(|| simulate(&schedule, graph, &table, &settings).unwrap());
}
