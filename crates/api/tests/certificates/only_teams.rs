//! A network that only teams can run: its operators go back and forth between two processors that nothing else is
//! beside.

use millstream_api::{Aim, Control, Network, Plans};
use millstream_board::Board;
use millstream_certify::{Certificate, CertifyError, NetworkBlocks, check};
use millstream_cost::CostTable;
use millstream_partition::subgraphs;
use millstream_pipeline::Objective;
use millstream_test_support::{board, table, uniform_table};

use crate::fixtures::network;

/// Nodes of the network run on `B` and `s` by turns, each in 100 us.
fn by_turns(network: &Network, board: &Board) -> CostTable {
    let subgraphs = subgraphs(network.graph());
    let nodes: Vec<_> = subgraphs.iter().flat_map(|subgraph| &subgraph.nodes).collect();
    table(network.graph(), board, |operator, class| {
        let id = network.graph().find_operator(&operator.name)?;
        let node = nodes.iter().position(|node| node.contains(&id))?;
        ((node % 2 == 0) == (class.cluster == "B")).then_some(100_000)
    })
}

#[test]
fn what_only_teams_run_is_proven_by_them() {
    let (network, board) = (network("squeezenet"), board("B1+s1"));
    let table = by_turns(&network, &board);
    let plans = Plans::search(&network, &board, &table, Aim::default(), &Control::new()).unwrap();
    let plan = plans.chosen(Objective::Throughput).unwrap();
    assert!(plans.best_on_single_processors.is_none());
    assert_eq!(plan.stages.len(), 1);

    let (_, document) = plans.document(plan, Objective::Throughput, &network, &board).unwrap();
    let certificate = plans.certificate(&document, &network, &board).unwrap();
    assert!(certificate.single_processors.is_none() && certificate.searched.is_some());
    let blocks = NetworkBlocks { graph: network.graph(), chain: network.chain() };
    check(&certificate, &document, blocks, &board, &table).unwrap();

    // A promise is not proven by leaving its proof out, nor by saying that it has none.
    let promised = document.predicted.searched.clone();
    for unproven in [None, promised] {
        let without = Certificate { searched: None, unproven, ..certificate.clone() };
        let refused = check(&without, &document, blocks, &board, &table).unwrap_err();
        assert!(matches!(refused, CertifyError::Missing { .. }), "{refused}");
    }
}

#[test]
fn what_single_processors_run_is_proven_of_them() {
    let (network, board) = (network("squeezenet"), board("B1+s1"));
    let table = uniform_table(network.graph(), &board, [100_000, 200_000]);
    let plans = Plans::search(&network, &board, &table, Aim::default(), &Control::new()).unwrap();
    let plan = plans.chosen(Objective::Throughput).unwrap();
    let (_, document) = plans.document(plan, Objective::Throughput, &network, &board).unwrap();
    let certificate = plans.certificate(&document, &network, &board).unwrap();
    let blocks = NetworkBlocks { graph: network.graph(), chain: network.chain() };
    check(&certificate, &document, blocks, &board, &table).unwrap();
    assert!(certificate.searched.is_some());
    let without = Certificate { single_processors: None, ..certificate };
    let refused = check(&without, &document, blocks, &board, &table).unwrap_err();
    assert!(matches!(refused, CertifyError::Missing { .. }), "{refused}");
}

/// A device that two libraries drive is one processor of the space: the other driver makes no teams.
#[test]
fn what_one_driver_of_a_device_runs_is_proven_without_the_other() {
    let network = network("squeezenet");
    let apart = board("B1+s1+G+V=gpu");
    let mut accelerators = apart.accelerators().to_vec();
    accelerators[1].same_device_as = Some("G".to_owned());
    let board = apart.with_accelerators(accelerators).unwrap();
    let table = uniform_table(network.graph(), &board, [100_000, 200_000, 60_000, 50_000]);
    let plans = Plans::search(&network, &board, &table, Aim::default(), &Control::new()).unwrap();
    let plan = plans.chosen(Objective::Throughput).unwrap();
    let (schedule, document) = plans.document(plan, Objective::Throughput, &network, &board).unwrap();
    assert_eq!(schedule.accelerators(), ["V"]);

    let certificate = plans.certificate(&document, &network, &board).unwrap();
    let blocks = NetworkBlocks { graph: network.graph(), chain: network.chain() };
    let table = table.with_one_driver_of_each_device(&board, &schedule.accelerators());
    check(&certificate, &document, blocks, &board, &table).unwrap();
}
