//! Small networks on small boards, and every plan that there is for them.

use millstream_board::{Board, ProcessorClass};
use millstream_cost::{CostTable, HandOver, LinkCost, Nanoseconds};
use millstream_graph::{DataType, Graph, GraphBuilder, NewOperator, OperatorKind, Shape};
use millstream_partition::Chain;
use millstream_pipeline::{PipelineError, Plan, PlannedReplica, PlannedStage, Problem};
use millstream_test_support::board;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

/// Period and latency.
#[allow(dead_code, reason = "not every test uses it")]
pub(crate) type Point = (Nanoseconds, Nanoseconds);

/// The points that no other beats, by rising latency.
#[allow(dead_code, reason = "not every test uses it")]
pub(crate) fn undominated(all: &[Point]) -> Vec<Point> {
    let mut kept: Vec<Point> =
        all.iter().copied().filter(|a| !all.iter().any(|b| b != a && b.0 <= a.0 && b.1 <= a.1)).collect();
    kept.sort_by_key(|point| point.1);
    kept.dedup();
    kept
}

/// A chain of opaque operators, each also reading the value before last.
#[allow(dead_code, reason = "not every test uses it")]
pub(crate) fn network(sizes: &[usize]) -> Graph {
    let mut builder = GraphBuilder::new("chain");
    let mut values = vec![builder.value("input", Some(DataType::F32), Some(Shape::from([1]))).unwrap()];
    builder.input(values[0]);
    for (index, &size) in sizes.iter().enumerate() {
        let made = builder.value(format!("v{index}"), Some(DataType::F32), Some(Shape::from([size]))).unwrap();
        let reads = values.iter().rev().take(2).copied();
        let operator = NewOperator::new(format!("o{index}"), "x", OperatorKind::Opaque);
        builder.operator(operator.reads(reads).makes([made])).unwrap();
        values.push(made);
    }
    builder.output(values[sizes.len()]);
    builder.build().unwrap()
}

/// Clusters `A`, `B` and so on of so many cores, each hardly slower than the one before.
fn uneven(cores: &[usize], has_two_engines: &[bool], memory: Option<u64>) -> Board {
    let cluster = |(index, (count, has_two)): (usize, (&usize, &bool))| {
        let (label, capacity) = (char::from(b'A' + index as u8), 1000 - index);
        let slower_megahertz = 600 + 50 * (index % 10);
        let engines = if *has_two { "openvino,onnxruntime" } else { "onnxruntime" };
        format!("{label}{count}:{capacity}~{slower_megahertz}e6=0.8,1.5e9=1@{engines}")
    };
    let clusters: Vec<String> = cores.iter().zip(has_two_engines).enumerate().map(cluster).collect();
    let memory = memory.map(|bytes| format!(" !{bytes}")).unwrap_or_default();
    board(&format!("{}{memory}", clusters.join("+")))
}

#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) sizes: Vec<usize>,
    pub(crate) cores: Vec<usize>,
    /// Of each cluster.
    pub(crate) has_two_engines: Vec<bool>,
    /// Per class and operator; `None` is unsupported.
    pub(crate) times: Vec<Vec<Option<u64>>>,
    pub(crate) hand_over: Vec<(f64, f64)>,
    /// Latency and seconds per byte from cluster to cluster, row per sender.
    pub(crate) links: Vec<Option<(f64, f64)>>,
    /// Size of the board's memory.
    pub(crate) memory: Option<u64>,
}

impl Case {
    /// A chain on a board with so many cores in its clusters, which hands values over for nothing and whose times are
    /// still to be set.
    #[allow(dead_code, reason = "not every test uses it")]
    pub(crate) fn with_cores(cores: Vec<usize>, operators: usize) -> Self {
        let classes: usize = cores.iter().sum();
        let times = vec![vec![None; operators]; classes];
        Self {
            sizes: vec![1; operators],
            has_two_engines: vec![false; cores.len()],
            cores,
            times,
            hand_over: vec![(0.0, 0.0); classes],
            links: Vec::new(),
            memory: None,
        }
    }

    pub(crate) fn build(&self) -> (Graph, Board, CostTable) {
        let (graph, board) = (network(&self.sizes), uneven(&self.cores, &self.has_two_engines, self.memory));
        let mut table = CostTable::new(self.sizes.len(), board.processor_classes());
        for processor in table.class_ids() {
            for (operator, time) in table.operator_ids().zip(&self.times[processor.index()]) {
                if let &Some(time) = time {
                    table.set_time(processor, operator, Nanoseconds(time));
                }
            }
            let (seconds, seconds_per_byte) = self.hand_over[processor.index()];
            table.set_hand_over(processor, HandOver { seconds, seconds_per_byte });
        }
        let first = |cluster: usize| table.find(&board.clusters()[cluster].class(1)).unwrap();
        let ends: Vec<_> = (0..self.cores.len()).map(first).collect();
        for (pair, link) in self.links.iter().enumerate() {
            let Some((seconds, seconds_per_byte)) = *link else { continue };
            let hand_over = HandOver { seconds, seconds_per_byte };
            let link = LinkCost { hand_over, occupied_seconds_per_byte: seconds_per_byte };
            table.set_link(ends[pair / ends.len()], ends[pair % ends.len()], link);
        }
        (graph, board, table)
    }
}

/// Up to two clusters of up to two cores, or up to four of one.
pub(crate) fn cases() -> impl Strategy<Value = Case> {
    let few = (prop::collection::vec(1_usize..3, 1..3), 1_usize..6);
    let many = (prop::collection::vec(Just(1_usize), 3..5), 1_usize..5);
    of_shapes(prop_oneof![3 => few, 1 => many])
}

/// Networks of so many operators on boards with so many cores in their clusters.
fn of_shapes(shapes: impl Strategy<Value = (Vec<usize>, usize)>) -> impl Strategy<Value = Case> {
    let with_engines = shapes.prop_flat_map(|(cores, operators)| {
        let has_two = prop::collection::vec(prop::bool::weighted(0.3), cores.len());
        (Just(cores), has_two, Just(operators))
    });
    with_engines.prop_flat_map(|(cores, has_two_engines, operators)| {
        let classes: usize =
            cores.iter().zip(&has_two_engines).map(|(cores, has_two)| cores * (1 + usize::from(*has_two))).sum();
        let time = prop_oneof![1 => Just(None), 12 => (1_u64..2000).prop_map(Some)];
        (
            prop::collection::vec(1_usize..100, operators),
            Just((cores, has_two_engines)),
            prop::collection::vec(prop::collection::vec(time, operators), classes),
            prop::collection::vec((0.0..2e-7, 0.0..1e-9), classes),
        )
            .prop_map(|(sizes, (cores, has_two_engines), times, hand_over)| Case {
                sizes,
                cores,
                has_two_engines,
                times,
                hand_over,
                links: Vec::new(),
                memory: None,
            })
    })
}

/// The same with links between some clusters, from hardly noticeable to slower than everything else; cores of a cluster
/// may have one between them as well.
#[allow(dead_code, reason = "not every test uses it")]
pub(crate) fn linked_cases() -> impl Strategy<Value = Case> {
    let wide = of_shapes((prop::sample::select(vec![vec![1, 3], vec![3, 1], vec![2, 3]]), 2_usize..4));
    prop_oneof![2 => cases().boxed(), 1 => wide.boxed()].prop_flat_map(|case| {
        let link = prop_oneof![
            2 => Just(None),
            1 => (0.0..1e-6, prop_oneof![Just(1e-10), Just(1e-9), Just(1e-8)]).prop_map(Some),
        ];
        let pairs = case.cores.len() * case.cores.len();
        (Just(case), prop::collection::vec(link, pairs)).prop_map(|(case, links)| Case { links, ..case })
    })
}

/// The problem of a case. One with an operator that nothing runs is refused, and another case takes its place.
#[allow(dead_code, reason = "not every test uses it")]
pub(crate) fn supported(graph: &Graph, board: &Board, table: &CostTable) -> Result<Problem, TestCaseError> {
    Problem::new(graph, &Chain::of(graph), board, table).map_err(|error| match error {
        PipelineError::Unsupported { .. } => TestCaseError::reject("nothing runs an operator"),
        error => TestCaseError::fail(error.to_string()),
    })
}

/// Every multiset of classes within the free cores.
fn replica_sets(free: &[usize], classes: &[(usize, ProcessorClass)], from: usize) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    for index in from..classes.len() {
        let (cluster, class) = &classes[index];
        if class.count <= free[*cluster] {
            let mut left = free.to_vec();
            left[*cluster] -= class.count;
            found.push(vec![index]);
            for mut rest in replica_sets(&left, classes, index) {
                rest.push(index);
                found.push(rest);
            }
        }
    }
    found
}

/// Every plan there is.
fn enumerate(
    start: usize,
    blocks: usize,
    free: &[usize],
    classes: &[(usize, ProcessorClass)],
) -> Vec<Vec<PlannedStage>> {
    if start == blocks {
        return vec![Vec::new()];
    }

    let mut found = Vec::new();
    for end in start + 1..=blocks {
        for set in replica_sets(free, classes, 0) {
            let mut left = free.to_vec();
            set.iter().for_each(|&index| left[classes[index].0] -= classes[index].1.count);
            for rest in enumerate(end, blocks, &left, classes) {
                let replica = |&index: &usize| PlannedReplica {
                    processors: vec![classes[index].1.clone()],
                    work: None,
                    time: Nanoseconds::ZERO,
                };
                let mut stages =
                    vec![PlannedStage { blocks: (start..end).into(), replicas: set.iter().map(replica).collect() }];
                stages.extend(rest);
                found.push(stages);
            }
        }
    }
    found
}

/// Every plan there is, with no times yet.
pub(crate) fn plans(problem: &Problem, board: &Board) -> Vec<Plan> {
    let free: Vec<usize> = board.clusters().iter().map(|cluster| cluster.cores.len()).collect();
    let place = |label: &str| board.clusters().iter().position(|cluster| cluster.label == label).unwrap();
    let classes: Vec<_> = board.processor_classes().map(|class| (place(&class.cluster), class)).collect();
    let plan = |stages| Plan { stages, period: Nanoseconds::ZERO, latency: Nanoseconds::ZERO, energy: None };
    enumerate(0, problem.blocks(), &free, &classes).into_iter().map(plan).collect()
}
