//! Simulation and evaluation agree where processors share operators.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../../runtime/tests/teams/mod.rs"]
mod teams;

use millstream_board::{Processor, ProcessorClass};
use millstream_cost::{BlockedEnd, CostTable, Nanoseconds, PartCost, RowCost, TransferModel};
use millstream_schedule::{Schedule, Stage};
use millstream_sim::{Conditions, SimulatedNetwork, SimulationSettings, simulate, simulate_streams};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn without_noise_the_numbers_are_the_same(
        seed in any::<u64>(),
        processors in 1_u32..5,
        divided in 0.0..1.0_f64,
        bytes_per_second in 1e9..1e11_f64,
    ) {
        let model = millstream_zoo::build("squeezenet").unwrap();
        let graph = model.graph();
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let clusters = ["B", "m", "s", "t"];
        let processors: Vec<Processor> =
            (0..processors).map(|index| Processor::new(clusters[index as usize], [index])).collect();
        let classes = clusters.map(|cluster| ProcessorClass::new(cluster, 1));

        let mut table = CostTable::new(graph.operators().len(), classes);
        for from in table.class_ids() {
            for id in graph.operator_ids() {
                table.set_time(from, id, Nanoseconds(random.random_range(1..100_000)));
                let part = PartCost {
                    fixed_fraction: random.random_range(0.0..0.9),
                    wave: random.random_range(1..20),
                    apart: Nanoseconds(random.random_range(0..500)),
                };
                table.set_part(from, id, part);
                let [start, read, write] = [500, 900, 700].map(|most| Nanoseconds(random.random_range(0..most)));
                let rows = RowCost { fixed_fraction: random.random_range(0.0..0.3), start, read, write };
                table.set_rows(from, id, rows);
            }
            for to in table.class_ids() {
                let blocks = [None, Some(BlockedEnd::Sender), Some(BlockedEnd::Receiver)];
                table.set_transfer(from, to, TransferModel {
                    latency_seconds: random.random_range(0.0..1e-5),
                    seconds_per_byte: random.random_range(0.0..1e-9),
                    conversion_seconds_per_byte: 0.0,
                    blocks: blocks[random.random_range(0..blocks.len())],
                });
            }
        }

        let replica = teams::random(graph, &processors, divided, &mut random);
        let schedule = Schedule { stages: vec![Stage { replicas: vec![replica] }] };
        let evaluation = schedule.evaluate(graph, &table).unwrap();
        let simulation = simulate(&schedule, graph, &table, &SimulationSettings { frames: 3, ..SimulationSettings::default() }).unwrap();
        let times: Vec<Nanoseconds> = simulation.frames.iter().map(|frame| frame.end - frame.start).collect();
        // A sender that is still busy after the last operator does not hold up the frame.
        prop_assert_eq!(times, vec![evaluation.latency; 3]);

        // However parts wait for memory, none takes less than it alone would.
        let limited = table.within_memory(graph, bytes_per_second);
        let alone = schedule.evaluate(graph, &limited).unwrap().latency;
        let conditions = Conditions { memory_bytes_per_second: Some(bytes_per_second), ..Conditions::default() };
        let network = SimulatedNetwork::new(&schedule, graph, &table, 3);
        let simulated = simulate_streams(&[network], &conditions).unwrap().pop().unwrap();
        let shortest = simulated.frames.iter().map(|frame| frame.end - frame.start).min().unwrap();
        prop_assert!(shortest >= alone && alone >= evaluation.latency, "{shortest} {alone} {}", evaluation.latency);
        if schedule.processors().count() == 1 {
            // The simulation rounds every operator's time up.
            prop_assert!((shortest - alone).0 <= graph.operators().len() as u64, "{shortest} {alone}");
        }
    }
}
