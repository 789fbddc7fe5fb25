//! A device that two libraries drive, in what looks for schedules beside `schedule`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use millstream_api::{Control, CostSource, Machine, Network, ReadOptions, TuneAlgorithm, TuneOn, TuneOptions, tune};
use millstream_board::{Board, Processor};
use millstream_cost::CostTable;
use millstream_schedule::{Replica, Schedule, Stage};
use millstream_test_support::{board, uniform_table};

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
