//! What is proven of pipelines on single processors is what all of them show, one by one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod brute_force;
mod random_problem;

use brute_force::Pipelines;
use millstream_board::{Board, BoardDocument};
use millstream_certify::{
    NetworkBlocks, SearchedProof, SearchedTeams, SingleProcessorProof, check_searched, check_single_processors,
};
use millstream_cost::{ClassId, CostTable, LinkCost};
use millstream_partition::Chain;
use random_problem::{Instance, instance};

/// A problem with a change to its costs or its board.
fn changed(instance: &Instance, change: impl Fn(&mut CostTable, &mut BoardDocument)) -> Instance {
    let (mut table, mut document) = (instance.table.clone(), instance.board.to_document());
    change(&mut table, &mut document);
    let board = Board::try_from(document).unwrap();
    Instance { graph: instance.graph.clone(), chain: Chain::of(&instance.graph), board, table }
}

fn without_links(instance: &Instance) -> Instance {
    changed(instance, |table, _| {
        let all: Vec<ClassId> = table.class_ids().collect();
        for (&from, &to) in all.iter().flat_map(|from| all.iter().map(move |to| (from, to))) {
            if let Some(link) = table.link(from, to) {
                table.set_link(from, to, LinkCost { occupied_seconds_per_byte: 0.0, ..link });
            }
        }
    })
}

fn without_memory(instance: &Instance) -> Instance {
    changed(instance, |_, board| board.accelerators.iter_mut().for_each(|accelerator| accelerator.memory_bytes = None))
}

#[test]
fn the_shortest_period_is_that_of_all_pipelines() {
    let (mut of_links, mut of_memory, mut impossible, mut several) = (0, 0, 0, 0);
    for seed in 0..240 {
        let problem = instance(seed, None);
        let (graph, table, board) = (&problem.graph, &problem.table, &problem.board);
        let network = NetworkBlocks { graph, chain: &problem.chain };
        let pipelines = Pipelines::of(&problem);
        let blocks = problem.chain.blocks().len();
        several += usize::from(blocks > 2);
        let all: Vec<ClassId> = table.class_ids().collect();
        let do_senders_matter = all.iter().any(|&from| all.iter().any(|&to| table.link(from, to).is_some()));
        let proof = |period: u64, of: u64| SingleProcessorProof {
            period_nanoseconds: period,
            blocks,
            reached: pipelines.reached_below(of, do_senders_matter),
        };
        let check = |proof: SingleProcessorProof| check_single_processors(&proof, network, board, table);
        let teams = SearchedTeams { most_processors: 0, spans_clusters: false, has_all_counts: true };
        let searched = |period_nanoseconds: u64| {
            let proof = SearchedProof { period_nanoseconds, teams, dual_prices: Vec::new() };
            check_searched(&proof, network, board, table)
        };

        let Some(shortest) = pipelines.shortest() else {
            impossible += 1;
            for period in [1, 1000, 1_000_000] {
                check(proof(period, period)).unwrap_err();
                searched(period).unwrap_err();
            }
            continue;
        };
        check(proof(shortest, shortest)).unwrap_or_else(|error| panic!("{seed}: {error}"));
        searched(shortest).unwrap_or_else(|error| panic!("{seed}: {error}"));
        for wrong in [shortest - 1, shortest + 1, shortest / 2, 2 * shortest] {
            check(proof(wrong, wrong)).unwrap_err();
            searched(wrong).unwrap_err();
        }
        check(SingleProcessorProof { blocks: blocks + 1, ..proof(shortest, shortest) }).unwrap_err();
        if !proof(shortest, shortest).reached.is_empty() {
            let mut fewer = proof(shortest, shortest);
            fewer.reached.pop();
            check(fewer).unwrap_err();
        }

        of_links += usize::from(Pipelines::of(&without_links(&problem)).shortest() < Some(shortest));
        of_memory += usize::from(Pipelines::of(&without_memory(&problem)).shortest() < Some(shortest));
    }
    assert!(
        several > 100 && of_links > 20 && of_memory > 10 && impossible > 0,
        "{several} {of_links} {of_memory} {impossible}"
    );
}
