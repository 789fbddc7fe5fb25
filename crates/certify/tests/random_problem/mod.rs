//! Small random problems: four operators, two or three clusters, and accelerators.

use millstream_board::{Board, BoardDocument};
use millstream_cost::{ClassId, CostTable, HandOver, LinkCost, MemoryAccess, Nanoseconds};
use millstream_graph::{DataType, Graph, GraphBuilder, Locality, NewOperator, OperatorKind, Shape, Window, Work};
use millstream_partition::Chain;
use millstream_schedule::held_bytes;
use millstream_test_support::board;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const OPERATORS: usize = 4;

/// A network, a board and its costs.
pub(crate) struct Instance {
    pub(crate) graph: Graph,
    pub(crate) chain: Chain,
    pub(crate) board: Board,
    pub(crate) table: CostTable,
}

/// Operators that read the one before and some earlier ones, and have weights. They look at windows of `rows`, or at
/// all of their inputs.
pub(crate) fn graph(rows: Option<usize>, random: &mut ChaCha8Rng) -> Graph {
    let mut builder = GraphBuilder::new("random");
    let size = |random: &mut ChaCha8Rng| random.random_range(1..60_usize);
    let shape = |size: usize| rows.map_or(Shape::from([size]), |rows| Shape::from([1, 1, rows, size]));
    let locality = match rows {
        Some(_) => Locality::Windows(vec![Window { span: 3, stride: 1, padding: 1 }; 2]),
        None => Locality::Global,
    };
    let first = size(random);
    let mut values = vec![(builder.value("input", Some(DataType::F32), Some(shape(first))).unwrap(), first)];
    builder.input(values[0].0);
    for index in 0..OPERATORS {
        // Windows make as much as they look at.
        let size_made = if rows.is_some() { first } else { size(random) };
        let value = builder.value(format!("v{index}"), Some(DataType::F32), Some(shape(size_made))).unwrap();
        let mut reads = vec![values[index]];
        reads.extend(values[..index].iter().copied().filter(|_| random.random_bool(0.2)));

        let bytes_of = |size: usize| 4 * (rows.unwrap_or(1) * size) as u64;
        let bytes = |all: &[(_, usize)]| all.iter().map(|(_, size)| bytes_of(*size)).sum();
        let work = Work {
            input_bytes: bytes(&reads),
            output_bytes: bytes_of(size_made),
            weight_bytes: random.random_range(0..200),
            ..Work::default()
        };
        let operator = NewOperator::new(format!("o{index}"), "x", OperatorKind::Opaque).work(work);
        let operator = operator.locality(locality.clone());
        builder.operator(operator.reads(reads.into_iter().map(|(value, _)| value)).makes([value])).unwrap();
        values.push((value, size_made));
    }
    builder.output(values[OPERATORS].0);
    builder.build().unwrap()
}

/// Two clusters, and a GPU that may have a memory of its own.
fn random_board(graph: &Graph, random: &mut ChaCha8Rng) -> Board {
    let texts = ["B2+s2+G", "B3+s1+G", "B2+m1+s1", "B1+G+N"];
    board_of(texts[random.random_range(0..texts.len())], graph, random)
}

/// A board some of whose accelerators have memories of their own.
pub(crate) fn board_of(text: &str, graph: &Graph, random: &mut ChaCha8Rng) -> Board {
    let mut document: BoardDocument = board(text).to_document();
    for accelerator in &mut document.accelerators {
        // Just enough for some of the operators, or a byte less.
        let start = random.random_range(0..OPERATORS);
        let some = &graph.order()[start..random.random_range(start..OPERATORS) + 1];
        let bytes = held_bytes(graph, some) - u64::from(random.random_bool(0.5));
        accelerator.memory_bytes = random.random_bool(0.6).then_some(bytes);
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
pub(crate) fn table(graph: &Graph, board: &Board, random: &mut ChaCha8Rng) -> CostTable {
    let mut table = CostTable::new(graph.operators().len(), board.processor_classes());
    let all: Vec<ClassId> = table.class_ids().collect();
    for &processor in &all {
        for id in graph.operator_ids() {
            if random.random_bool(0.9) {
                table.set_time(processor, id, Nanoseconds(random.random_range(50..400)));
            }
        }
        table.set_hand_over(processor, hand_over(random));
        let label = &table.classes()[processor.index()].cluster;
        if board.accelerator(label).is_some_and(|accelerator| accelerator.memory_bytes.is_some()) {
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

/// The problem of a seed. With `rows`, operators can be divided by so many rows.
pub(crate) fn instance(seed: u64, rows: Option<usize>) -> Instance {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let graph = graph(rows, &mut random);
    let board = random_board(&graph, &mut random);
    let table = table(&graph, &board, &mut random);
    Instance { chain: Chain::of(&graph), graph, board, table }
}
