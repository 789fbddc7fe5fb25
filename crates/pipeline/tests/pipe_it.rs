//! Pipe-it's heuristic on networks whose layers are like those of its example (section VI-D).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod chain;

use chain::chain;
use millstream_board::Board;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_partition::Chain;
use millstream_pipeline::{PipeIt, PipeItStep, PlannedStage, Problem, Search, ShortestPeriod};

use millstream_test_support::board;

/// A chain of layers with these times on one big core.
fn problem(layers: &[u64], board: &Board, speed: impl Fn(&str, usize) -> f64) -> (Graph, Problem, CostTable) {
    let graph = chain(layers.len(), 1);
    let mut table = CostTable::new(layers.len(), board.processor_classes());
    for processor in table.class_ids() {
        let class = table.classes()[processor.index()].clone();
        for (operator, &time) in table.operator_ids().zip(layers) {
            let scaled = time as f64 / speed(&class.cluster, class.count);
            table.set_time(processor, operator, Nanoseconds(scaled as u64));
        }
    }
    let problem = Problem::new(&graph, &Chain::of(&graph), board, &table).unwrap();
    (graph, problem, table)
}

#[test]
fn layers_flow_until_neighbours_are_balanced() {
    // Two equal cores and layers of 100, 100, 110, 90: the third one stays, since moving it would not leave the first
    // stage slower than the second. With four equal layers the printed condition stops one layer early, where two each
    // would be best. No merger helps, as two cores are no faster than one.
    let board = board("B2+s1:400");
    let speed = |cluster: &str, _: usize| if cluster == "B" { 1.0 } else { 0.01 };
    for (layers, split, period) in [([100, 100, 110, 90], 3, 310), ([100; 4], 3, 300), ([100, 110, 100, 90], 2, 210)] {
        let (_, problem, _) = problem(&layers, &board, speed);
        let plan = PipeIt.search(&problem).unwrap();
        let shares: Vec<_> = plan.stages.iter().map(|stage| stage.blocks).collect();
        assert_eq!(shares, [0..split, split..4], "the slow core is left out");
        assert_eq!(plan.period, Nanoseconds(period));
        assert!(ShortestPeriod.search(&problem).unwrap().period <= Nanoseconds(200), "replicas take turns");
    }
}

#[test]
fn stages_merge_where_threads_pay() {
    // 54 layers that become lighter, as ResNet50's; threads scale well on big cores and saturate at two on small ones.
    let layers: Vec<u64> = (0..54).map(|index| 3000 - 40 * index as u64 + 700 * (index as u64 % 3)).collect();
    let board = board("B4+s4:400");
    let speed = |cluster: &str, count: usize| match cluster {
        "B" => [1.0, 1.95, 2.85, 3.7][count - 1],
        _ => 0.4 * [1.0, 1.9, 2.0, 2.05][count - 1],
    };
    let (graph, problem, table) = problem(&layers, &board, speed);
    let plan = PipeIt.search(&problem).unwrap();
    let schedule = problem.schedule(&plan);
    schedule.validate(&graph, &board).unwrap();
    assert_eq!(schedule.evaluate(&graph, &table).unwrap().period, plan.period);
    let has_merged = |cluster: &str| {
        plan.stages.iter().flat_map(PlannedStage::processors).any(|class| class.cluster == cluster && class.count > 1)
    };
    assert!(has_merged("B") && has_merged("s"), "{schedule}");
    // Three small cores are hardly faster than two.
    assert!(!schedule.to_string().contains("s3") && !schedule.to_string().contains("s4"), "{schedule}");
    let exact = ShortestPeriod.search(&problem).unwrap();
    assert!(exact.period <= plan.period);
    assert_eq!((PipeIt.name(), ShortestPeriod.name()), ("pipe-it", "shortest-period"));
}

/// Times of ResNet50's 54 layers on one big and on one small core, in units of about a microsecond. The paper does not
/// print the ones of its walk-through (section VI-D); these were searched for so that its steps come out.
const BIG: [u64; 54] = [
    5_221, 1_293, 30_983, 6_265, 7_400, 6_581, 22_462, 2_728, 18_478, 7_345, 3_870, 1_528, 31_588, 15_652, 4_610,
    3_372, 6_027, 20_845, 14_764, 36_305, 18_163, 2_555, 5_124, 4_702, 2_099, 5_124, 2_716, 4_610, 14_234, 9_008,
    5_997, 5_526, 36_901, 16_084, 20_845, 14_730, 2_582, 20_845, 5_219, 3_143, 12_690, 15_880, 5_411, 1_528, 10_879,
    13_922, 5_940, 17_205, 5_331, 10_159, 2_800, 6_527, 3_381, 582,
];
const SMALL: [u64; 54] = [
    56_656, 2_033, 29_266, 26_769, 32_607, 8_212, 11_205, 12_977, 16_486, 113_146, 18_756, 10_382, 113_146, 24_587,
    20_968, 5_292, 8_892, 10_310, 16_534, 113_146, 10_269, 18_745, 21_791, 17_323, 12_799, 20_304, 5_304, 50_484,
    15_083, 48_332, 25_580, 55_885, 100_182, 24_767, 54_596, 15_498, 8_365, 50_808, 31_254, 4_929, 4_574, 18_396,
    5_734, 10_631, 19_631, 4_466, 21_073, 42_119, 10_491, 14_777, 20_426, 192, 5_985, 10_895,
];

/// Section VI-D walks through the search on ResNet50 and 4 + 4 cores: layers after the first pass, settled, after the
/// first merger, and at the end. That the steps below are these does not reproduce them, as the times were chosen for
/// it; that they stay does show that the search has not changed. They differ from the paper's in two places. In the
/// third state, the paper has layers 49-51, 52, 53-54 on small cores, for which layers 52 and 53 must take longer than
/// 54, and before it 49-51, 52-54, for which they must not. And in the second it ends a stage with layer 32; with pairs
/// of cores that are at most twice as fast, no table was found that does so and gives the first pair 29 layers.
#[test]
fn a_walk_through_as_long_as_the_papers_keeps_its_steps() {
    let board = board("B4+s4:400");
    let graph = chain(54, 1);
    let mut table = CostTable::new(54, board.processor_classes());
    for processor in table.class_ids() {
        let class = table.classes()[processor.index()].clone();
        let (times, speeds) = match class.cluster.as_str() {
            "B" => (BIG, [1.0, 2.0, 2.92, 3.93]),
            _ => (SMALL, [1.0, 1.83, 2.33, 2.61]),
        };
        for (operator, time) in table.operator_ids().zip(times) {
            let nanoseconds = 1e6 * time as f64 / speeds[class.count - 1];
            table.set_time(processor, operator, Nanoseconds(nanoseconds as u64));
        }
    }

    let problem = Problem::new(&graph, &Chain::of(&graph), &board, &table).unwrap();
    let steps = PipeIt::steps(&problem);
    let shown = |step: &PipeItStep| -> String {
        let stages = step.stages.iter().map(|(class, layers)| {
            if layers.is_empty() {
                format!("{class}:-")
            } else {
                format!("{class}:{}-{}", layers.start().index() + 1, layers.end().index())
            }
        });
        stages.collect::<Vec<_>>().join(" ")
    };
    assert!(!steps[0].is_settled);
    assert_eq!(shown(&steps[0]), "B1:1-25 B1:26-38 B1:39-46 B1:47-50 s1:51-51 s1:52-54 s1:- s1:-");
    let settled: Vec<String> = steps.iter().filter(|step| step.is_settled).map(shown).collect();
    assert_eq!(settled[0], "B1:1-18 B1:19-33 B1:34-41 B1:42-48 s1:49-51 s1:52-54 s1:- s1:-");
    assert_eq!(settled[1], "B2:1-29 B1:30-38 B1:39-48 s1:49-51 s1:52-54 s1:- s1:-");
    assert_eq!(settled.last().unwrap(), "B4:1-35 s2:36-44 s2:45-54");
    assert_eq!(problem.schedule(&PipeIt.search(&problem).unwrap()).to_string(), "B4-s2-s2");
}
