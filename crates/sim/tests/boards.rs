//! Simulation and analytic evaluation agree on every board, for every network, and for schedules that nobody would
//! choose.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{Board, Processor};
use millstream_cost::{BlockedEnd, CostTable, HandOver, Nanoseconds, TransferModel};
use millstream_graph::{Graph, OperatorId};
use millstream_partition::{Block, Chain};
use millstream_schedule::{Assignment, Replica, Schedule, ScheduleError, Stage};
use millstream_sim::{SimulationSettings, simulate};
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn boards() -> Vec<Board> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/boards");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect();
    files.sort();
    files.iter().map(|path| Board::from_json(&std::fs::read_to_string(path).unwrap()).unwrap()).collect()
}

/// Times in proportion to work and capacity, with an error of their own for every operator and processor.
fn table(board: &Board, graph: &Graph, random: &mut ChaCha8Rng) -> CostTable {
    let mut table = CostTable::new(graph.operators().len(), board.processor_classes());
    let ends = [None, Some(BlockedEnd::Sender), Some(BlockedEnd::Receiver)];
    for processor in table.class_ids() {
        let class = table.classes()[processor.index()].clone();
        let speed = board.cluster(&class.cluster).map_or(2048, |cluster| cluster.capacity) as f64 * class.count as f64;
        for id in graph.operator_ids() {
            let work = graph.operator(id).work;
            let seconds = (work.macs as f64 + work.bytes() as f64) / (speed * 1e6) * random.random_range(0.5..2.0);
            table.set_time(processor, id, Nanoseconds::from_seconds(seconds));
        }
        let (seconds, seconds_per_byte) = (random.random_range(0.0..1e-5), random.random_range(0.0..1e-9));
        table.set_hand_over(processor, HandOver { seconds, seconds_per_byte });
        for other in table.class_ids() {
            let latency_seconds = random.random_range(0.0..1e-5);
            let blocks = *ends.choose(random).unwrap();
            table.set_transfer(processor, other, TransferModel { latency_seconds, blocks, ..TransferModel::default() });
        }
    }
    table
}

/// What a schedule may place apart: the single operators, or the blocks where integers must stay with what makes and
/// reads them.
fn parts(graph: &Graph) -> Vec<Vec<OperatorId>> {
    let is_quantised = graph.operators().iter().any(|operator| operator.op_type.contains("Quantize"));
    if is_quantised {
        let whole = |block: &Block| block.operators.clone();
        Chain::of(graph).blocks().iter().map(whole).collect()
    } else {
        graph.order().iter().map(|&id| vec![id]).collect()
    }
}

/// Every core a processor of its own, as the accelerators are; stages anywhere, their parts on any of their processors.
fn schedule(board: &Board, graph: &Graph, random: &mut ChaCha8Rng) -> Schedule {
    let of_cluster = |cluster: &millstream_board::Cluster| -> Vec<Processor> {
        cluster.cores.iter().map(|core| Processor::on_cores(cluster.label.clone(), vec![core.id])).collect()
    };
    let parts = parts(graph);
    let mut processors: Vec<Processor> = board.clusters().iter().flat_map(of_cluster).collect();
    processors.extend(board.accelerators().iter().map(|accelerator| Processor::accelerator(accelerator.label.clone())));
    processors.shuffle(random);
    let stages = random.random_range(1..=processors.len().min(4));
    let mut cuts: Vec<usize> = (1..stages).map(|_| random.random_range(1..parts.len())).collect();
    cuts.extend([0, parts.len()]);
    cuts.sort_unstable();
    cuts.dedup();
    let mut rest = processors.into_iter();
    let most = rest.len() / (cuts.len() - 1);
    let stage = |range: &[usize]| {
        let processors: Vec<Processor> = rest.by_ref().take(random.random_range(1..=most.min(4))).collect();
        let parts = &parts[range[0]..range[1]];
        let places: Vec<usize> = parts.iter().map(|_| random.random_range(0..processors.len())).collect();
        let of = |place: usize| -> Vec<OperatorId> {
            parts.iter().zip(&places).filter(|(_, on)| **on == place).flat_map(|(part, _)| part.clone()).collect()
        };
        let assignments =
            processors.into_iter().enumerate().map(|(place, processor)| Assignment { processor, operators: of(place) });
        Stage {
            replicas: vec![Replica::new(assignments.filter(|assignment| !assignment.operators.is_empty()).collect())],
        }
    };
    Schedule { stages: cuts.windows(2).map(stage).collect() }
}

#[test]
fn agree_on_every_board_for_every_network() {
    let boards = boards();
    assert!(boards.len() >= 25);
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for name in millstream_zoo::names() {
        let model = millstream_zoo::build(name).unwrap();
        let graph = model.graph();
        for board in &boards {
            let table = table(board, graph, &mut random);
            let schedule = schedule(board, graph, &mut random);
            // How much memory there is changes nothing in how long operators take.
            let is_valid = matches!(schedule.validate(graph, board), Ok(()) | Err(ScheduleError::Memory { .. }));
            assert!(is_valid, "{name} on {}", board.name());
            let expected = schedule.evaluate(graph, &table).unwrap();
            let with = |frames: usize| {
                simulate(&schedule, graph, &table, &SimulationSettings { frames, ..SimulationSettings::default() })
                    .unwrap()
            };
            assert_eq!(with(1).worst_latency(), expected.latency, "{name} on {}: {schedule}", board.name());
            let period = with(12).period_seconds();
            let is_equal = (period - expected.period.seconds()).abs() < 1e-12;
            assert!(is_equal, "{name} on {}: {schedule}: {period} {}", board.name(), expected.period);
        }
    }
}
