//! What is proven of pipelines on single processors is what all of them show, one by one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod brute_force;

use brute_force::{Ground, Pipelines};
use millstream_board::{Board, BoardDocument};
use millstream_certify::{SearchedProof, SearchedTeams, SingleProcessorProof, check_searched, check_single_processors};
use millstream_cost::{CostTable, HandOver, LinkCost, MemoryAccess, Nanoseconds, ProcessorIndex};
use millstream_graph::{DataType, Graph, GraphBuilder, NewOperator, OperatorKind, Shape, Work};
use millstream_partition::Chain;
use millstream_schedule::held_bytes;
use millstream_test_support::board;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const OPERATORS: usize = 4;

/// Operators that read the one before and some earlier ones, and have weights.
fn graph(random: &mut ChaCha8Rng) -> Graph {
    let mut builder = GraphBuilder::new("random");
    let size = |random: &mut ChaCha8Rng| random.random_range(1..60_usize);
    let first = size(random);
    let mut values = vec![(builder.value("input", Some(DataType::F32), Some(Shape::from([first]))).unwrap(), first)];
    builder.input(values[0].0);
    for index in 0..OPERATORS {
        let own = size(random);
        let value = builder.value(format!("v{index}"), Some(DataType::F32), Some(Shape::from([own]))).unwrap();
        let mut reads = vec![values[index]];
        reads.extend(values[..index].iter().copied().filter(|_| random.random_bool(0.2)));
        let bytes = |all: &[(_, usize)]| all.iter().map(|(_, size)| 4 * *size as u64).sum();
        let work = Work {
            input_bytes: bytes(&reads),
            output_bytes: 4 * own as u64,
            weight_bytes: random.random_range(0..200),
            ..Work::default()
        };
        let operator = NewOperator::new(format!("o{index}"), "x", OperatorKind::Opaque).work(work);
        builder.operator(operator.reads(reads.into_iter().map(|(value, _)| value)).makes([value])).unwrap();
        values.push((value, own));
    }
    builder.output(values[OPERATORS].0);
    builder.build().unwrap()
}

/// Two clusters, and a GPU that may have a memory of its own.
fn random_board(graph: &Graph, random: &mut ChaCha8Rng) -> Board {
    let texts = ["B2+s2+G", "B3+s1+G", "B2+m1+s1", "B1+G+N"];
    let mut document: BoardDocument = board(texts[random.random_range(0..texts.len())]).to_document();
    for own in &mut document.accelerators {
        // Just enough for some of the operators, or a byte less.
        let start = random.random_range(0..OPERATORS);
        let some = &graph.order()[start..random.random_range(start..OPERATORS) + 1];
        let bytes = held_bytes(graph, some) - u64::from(random.random_bool(0.5));
        own.memory_bytes = random.random_bool(0.6).then_some(bytes);
    }
    Board::try_from(document).unwrap()
}

fn hand_over(random: &mut ChaCha8Rng) -> HandOver {
    HandOver {
        seconds: f64::from(random.random_range(0..40)) * 1e-9,
        seconds_per_byte: f64::from(random.random_range(0..4)) * 1e-10,
    }
}

/// Times, hand-overs, and links of which some carry one thing at a time.
fn table(graph: &Graph, board: &Board, random: &mut ChaCha8Rng) -> CostTable {
    let mut table = CostTable::new(graph.operators().len(), board.processor_classes());
    let all: Vec<ProcessorIndex> = table.processors().collect();
    for &processor in &all {
        for id in graph.operator_ids() {
            if random.random_bool(0.9) {
                table.set_time(processor, id.index(), Nanoseconds(random.random_range(50..400)));
            }
        }
        table.set_hand_over(processor, hand_over(random));
        let label = &table.classes()[processor.index()].cluster;
        if board.accelerator(label).is_some_and(|own| own.memory_bytes.is_some()) {
            let access = MemoryAccess { upload: hand_over(random), download: hand_over(random) };
            table.set_access(processor, access);
        }
    }
    let has_links = random.random_bool(0.7);
    let occupies = random.random_bool(0.6);
    for (&from, &to) in all.iter().flat_map(|from| all.iter().map(move |to| (from, to))) {
        let are_apart = table.classes()[from.index()].cluster != table.classes()[to.index()].cluster;
        if has_links && are_apart && random.random_bool(0.5) {
            let occupied = if occupies { f64::from(random.random_range(0..50)) * 1e-10 } else { 0.0 };
            let link = LinkCost { hand_over: hand_over(random), occupied_seconds_per_byte: occupied };
            table.set_link(from, to, link);
        }
    }
    table
}

fn ground(seed: u64) -> Ground {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let graph = graph(&mut random);
    let board = random_board(&graph, &mut random);
    let table = table(&graph, &board, &mut random);
    Ground { chain: Chain::of(&graph), graph, board, table }
}

/// The same where nothing occupies a link, and where accelerators hold anything.
fn without(ground: &Ground, change: impl Fn(&mut CostTable, &mut BoardDocument)) -> Ground {
    let (mut table, mut document) = (ground.table.clone(), ground.board.to_document());
    change(&mut table, &mut document);
    let board = Board::try_from(document).unwrap();
    Ground { graph: ground.graph.clone(), chain: Chain::of(&ground.graph), board, table }
}

fn without_links(ground: &Ground) -> Ground {
    without(ground, |table, _| {
        let all: Vec<ProcessorIndex> = table.processors().collect();
        for (&from, &to) in all.iter().flat_map(|from| all.iter().map(move |to| (from, to))) {
            if let Some(link) = table.link(from, to) {
                table.set_link(from, to, LinkCost { occupied_seconds_per_byte: 0.0, ..link });
            }
        }
    })
}

fn without_memory(ground: &Ground) -> Ground {
    without(ground, |_, board| board.accelerators.iter_mut().for_each(|own| own.memory_bytes = None))
}

#[test]
fn the_shortest_period_is_that_of_all_pipelines() {
    let (mut of_links, mut of_memory, mut impossible, mut several) = (0, 0, 0, 0);
    for seed in 0..240 {
        let own = ground(seed);
        let (graph, table, board) = (&own.graph, &own.table, &own.board);
        let pipelines = Pipelines::of(&own);
        let blocks = own.chain.blocks().len();
        several += usize::from(blocks > 2);
        let all: Vec<ProcessorIndex> = table.processors().collect();
        let do_senders_matter = all.iter().any(|&from| all.iter().any(|&to| table.link(from, to).is_some()));
        let proof = |period: u64, of: u64| SingleProcessorProof {
            period_nanoseconds: period,
            blocks,
            reached: pipelines.reached_below(of, do_senders_matter),
        };
        let check = |proof: SingleProcessorProof| check_single_processors(&proof, (graph, &own.chain), board, table);
        let teams = SearchedTeams { most_processors: 0, spans_clusters: false, has_all_counts: true };
        let searched = |period_nanoseconds: u64| {
            let proof = SearchedProof { period_nanoseconds, teams, worths: Vec::new() };
            check_searched(&proof, (graph, &own.chain), board, table)
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

        of_links += usize::from(Pipelines::of(&without_links(&own)).shortest() < Some(shortest));
        of_memory += usize::from(Pipelines::of(&without_memory(&own)).shortest() < Some(shortest));
    }
    assert!(
        several > 100 && of_links > 20 && of_memory > 10 && impossible > 0,
        "{several} {of_links} {of_memory} {impossible}"
    );
}
