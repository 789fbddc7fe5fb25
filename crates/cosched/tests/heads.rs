//! Attention divided by heads: as good as the best of all divisions, where that pays.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{Board, Processor};
use millstream_cosched::{Executed, divide, divide_where_close};
use millstream_cost::{CostTable, Nanoseconds, PartCost, RowCost, TransferModel};
use millstream_graph::{Along, Graph, OperatorId};
use millstream_schedule::{Assignment, OperatorSplit, Replica, Schedule, Stage};
use millstream_test_support::{attention, connect};
use proptest::prelude::*;

fn board() -> Board {
    millstream_test_support::board("B1+s1:300")
}

fn makespan(executed: Executed<'_>) -> Nanoseconds {
    executed.execution.makespan()
}

/// A nanosecond for ten multiply-accumulates, `slowness` on the second core. Parts by channels take so long to begin
/// that they never pay. `rows` are those of each core.
fn table(graph: &Graph, slowness: u64, rows: Option<[RowCost; 2]>, latency_seconds: f64) -> CostTable {
    let mut table = millstream_test_support::table(graph, &board(), |operator, class| {
        let factor = if class.cluster == "B" { 1 } else { slowness };
        Some((operator.work.macs / 10 + 20) * factor)
    });
    connect(&mut table, TransferModel { latency_seconds, seconds_per_byte: 1e-10, ..TransferModel::default() });
    for processor in table.class_ids() {
        for id in graph.operator_ids() {
            let apart = Nanoseconds(1_000_000);
            table.set_part(processor, id, PartCost { apart, ..PartCost::default() });
            if let Some(rows) = rows {
                table.set_rows(processor, id, rows[processor.index()]);
            }
        }
    }
    table
}

/// These on the first core, and a core with nothing to do.
fn undivided(operators: &[OperatorId]) -> Replica {
    Replica::new(vec![
        Assignment { processor: Processor::new("B", [0]), operators: operators.to_vec() },
        Assignment { processor: Processor::new("s", [1]), operators: Vec::new() },
    ])
}

/// With the attention in a row, and so many heads on the second core.
fn by_heads(graph: &Graph, on_second: usize) -> Replica {
    let group = graph.head_groups().remove(0);
    let heads = 6;
    let mut operators: Vec<OperatorId> = graph.order().iter().copied().filter(|id| !group.contains(id)).collect();
    operators.splice(1..1, group.iter().copied());
    let mut replica = undivided(&operators);
    if on_second > 0 {
        replica.assignments[1].operators.clone_from(&group);
        if on_second == heads {
            replica.assignments[0].operators.retain(|id| !group.contains(id));
        } else {
            let shares = vec![heads - on_second, on_second];
            replica.splits.push(OperatorSplit { operators: group, along: Along::Heads, shares });
        }
    }
    replica
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn the_best_division_by_heads_is_found(
        slowness in 1_u64..6,
        fixed_fraction in 0.0..0.5_f64,
        moves in [[0_u64..3000, 0_u64..3000, 0_u64..3000], [0_u64..3000, 0_u64..3000, 0_u64..3000]],
        latency in 0.0..5e-6_f64,
    ) {
        let graph = attention(24, 6, 8);
        let rows = moves.map(|moves| {
            let [start, read, write] = moves.map(Nanoseconds);
            RowCost { fixed_fraction, start, read, write }
        });
        let table = table(&graph, slowness, Some(rows), latency);
        let time = |replica: &Replica| replica.execute(&graph, &table).unwrap().makespan();
        let least = (0..6).map(|on_second| time(&by_heads(&graph, on_second))).min().unwrap();

        // Whole operators stay where they are, in whatever order they come.
        for order in [graph.order().to_vec(), by_heads(&graph, 0).assignments[0].operators.clone()] {
            let divided = divide(undivided(&order), &graph, &table, |_| true, makespan);
            prop_assert_eq!(time(&divided), least);
            let is_divided = divided.splits.iter().any(|split| split.along == Along::Heads);
            if is_divided {
                Schedule { stages: vec![Stage { replicas: vec![divided] }] }.validate(&graph, &board()).unwrap();
            }
            prop_assert_eq!(is_divided, least < time(&by_heads(&graph, 0)));
            let close = divide_where_close(undivided(&order), &graph, &table, 1.02, |_| true, makespan);
            prop_assert!(time(&close) >= least && time(&close) <= time(&by_heads(&graph, 0)));
        }
    }
}

#[test]
fn what_makes_no_tiles_or_is_not_free_divides_no_heads() {
    let graph = attention(24, 6, 8);
    let whole = undivided(graph.order());
    assert_eq!(divide(whole.clone(), &graph, &table(&graph, 2, None, 0.0), |_| true, makespan), whole);
    let rows = RowCost { fixed_fraction: 0.0, start: Nanoseconds(1), read: Nanoseconds(1), write: Nanoseconds(1) };
    let table = table(&graph, 2, Some([rows; 2]), 0.0);
    let keys = graph.find_operator("keys").unwrap();
    assert_eq!(divide(whole.clone(), &graph, &table, |id| id != keys, makespan), whole);
    assert_ne!(divide(whole.clone(), &graph, &table, |_| true, makespan), whole);
}

/// Heads that are joined together with what follows, by rows, stay as they are: that is divided already.
#[test]
fn what_is_divided_together_with_others_is_not_divided_by_heads() {
    let graph = attention(24, 6, 8);
    let rows = RowCost { fixed_fraction: 0.0, start: Nanoseconds(1), read: Nanoseconds(1), write: Nanoseconds(1) };
    let table = table(&graph, 1, Some([rows; 2]), 0.0);
    let schedule = |replica: Replica| Schedule { stages: vec![Stage { replicas: vec![replica] }] };
    for (together, are_divided) in [(["joined", "projection"], false), (["projection", "sum"], true)] {
        let operators = together.map(|name| graph.find_operator(name).unwrap()).to_vec();
        let mut before = undivided(graph.order());
        before.assignments[1].operators.clone_from(&operators);
        before.splits = vec![OperatorSplit { operators, along: Along::Rows, shares: vec![12, 12] }];
        schedule(before.clone()).validate(&graph, &board()).unwrap();

        let divided = divide(before.clone(), &graph, &table, |_| true, makespan);
        assert_eq!(divided.splits.iter().any(|split| split.along == Along::Heads), are_divided, "{together:?}");
        assert!(divided.splits.contains(&before.splits[0]), "{together:?}: {:?}", divided.splits);
        schedule(divided).validate(&graph, &board()).unwrap();
    }
}
