//! Subgraphs of real networks on three uneven processors.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{Board, Processor, ProcessorClass};
use millstream_cost::{BlockedEnd, ClassId, CostTable, Nanoseconds, TransferModel};
use millstream_graph::Graph;
use millstream_mapping::{
    BoundedMapper, Mapper, MapperLimits, MappingError, MappingProblem, Outcome, TaskId, map_network,
};
use millstream_partition::{Subgraph, subgraphs};
use millstream_schedule::{Assignment, Replica, Schedule, Stage};
use millstream_sim::{SimulationSettings, simulate};

fn board() -> Board {
    millstream_test_support::board("N1+D2:400")
}

/// A fast processor that can't do everything, and two slower ones of a kind.
fn table(graph: &Graph) -> CostTable {
    table_with_links(graph, None)
}

/// The costs of [`table`], with transfers that may occupy one of their ends.
fn table_with_links(graph: &Graph, blocks: Option<BlockedEnd>) -> CostTable {
    let classes = ["N", "D"].map(|cluster| ProcessorClass::new(cluster, 1));
    let mut table = CostTable::new(graph.operators().len(), classes);
    let processors: Vec<ClassId> = table.class_ids().collect();
    for id in graph.operator_ids() {
        let operator = graph.operator(id);
        let time =
            |macs_per_second: f64| operator.work.macs as f64 / macs_per_second + operator.work.bytes() as f64 / 1e10;
        if !matches!(operator.op_type.as_str(), "LRN" | "Softmax" | "LayerNormalization") {
            table.set_time(processors[0], id, Nanoseconds::from_seconds(8e-6 + time(400e9)));
        }
        table.set_time(processors[1], id, Nanoseconds::from_seconds(5e-6 + time(120e9)));
    }
    let link = TransferModel { latency_seconds: 5e-6, seconds_per_byte: 2e-10, blocks, ..TransferModel::default() };
    millstream_test_support::connect(&mut table, link);
    table
}

fn processors(table: &CostTable) -> [ClassId; 3] {
    let mut all = table.class_ids();
    let (fast, slow) = (all.next().unwrap(), all.next().unwrap());
    [fast, slow, slow]
}

/// The subgraph's mapping as a stage of a schedule.
fn replica(subgraph: &Subgraph, order: &[Vec<TaskId>]) -> Replica {
    let operators =
        |nodes: &Vec<TaskId>| nodes.iter().flat_map(|node| subgraph.nodes[node.index()].iter().copied()).collect();
    let places = [("N", 0), ("D", 1), ("D", 2)];
    let assignments = order.iter().zip(places).filter(|(nodes, _)| !nodes.is_empty());
    let assignment = |(nodes, (cluster, core)): (&Vec<TaskId>, (&str, u32))| Assignment {
        processor: Processor::new(cluster, [core]),
        operators: operators(nodes),
    };
    Replica::new(assignments.map(assignment).collect())
}

#[test]
fn mappings_are_valid_stages_with_the_same_makespan() {
    let model = millstream_zoo::build("googlenet").unwrap();
    let graph = model.graph();
    for blocks in [None, Some(BlockedEnd::Sender), Some(BlockedEnd::Receiver)] {
        check_subgraphs(graph, &table_with_links(graph, blocks));
    }
}

fn check_subgraphs(graph: &Graph, table: &CostTable) {
    let all = subgraphs(graph);
    let processors = processors(table);
    let limits = MapperLimits::default();
    for (index, subgraph) in all.iter().enumerate() {
        let problem = MappingProblem::of_subgraph(graph, subgraph, table, &processors).unwrap();
        let mapping = BoundedMapper.map(&problem, &limits).unwrap();
        assert_eq!(mapping.outcome, Outcome::Optimal, "subgraph {index}");
        // The other subgraphs do not matter: a schedule of this one alone is evaluated, and one of all is validated.
        let stage = Stage { replicas: vec![replica(subgraph, &mapping.order)] };
        let alone = Schedule { stages: vec![stage] };
        let evaluation = alone.evaluate(graph, table).unwrap();
        assert_eq!(evaluation.latency, mapping.makespan, "subgraph {index}");
        let frame = SimulationSettings { frames: 1, ..SimulationSettings::default() };
        let simulation = simulate(&alone, graph, table, &frame).unwrap();
        assert_eq!(simulation.worst_latency(), mapping.makespan, "subgraph {index}");
    }
}

#[test]
fn a_whole_network_is_mapped_the_same_with_any_number_of_threads() {
    let model = millstream_zoo::build("inception-resnet-v2").unwrap();
    let graph = model.graph();
    let (table, all) = (table(graph), subgraphs(graph));
    let processors = processors(&table);
    let limits = MapperLimits::default();
    let map = |threads| map_network(graph, &all, &table, &processors, &limits, threads).unwrap();
    let mapped = map(1);
    assert_eq!(mapped, map(3));
    assert_eq!((mapped.outcome, mapped.lower_bound), (Outcome::Optimal, mapped.makespan));
    assert!(mapped.problem_count < 9 * all.len() / 3, "repeated blocks are solved once: {}", mapped.problem_count);
    let sum: Nanoseconds = mapped.subgraphs.iter().map(|subgraph| subgraph.mapping.makespan).sum();
    assert_eq!(sum, mapped.makespan);

    // As a whole it is a schedule of one stage, which is no slower than subgraph after subgraph.
    let mut order = vec![Vec::new(); 3];
    for (subgraph, part) in all.iter().zip(&mapped.subgraphs) {
        for (all, nodes) in order.iter_mut().zip(&part.mapping.order) {
            all.extend(nodes.iter().flat_map(|node| subgraph.nodes[node.index()].iter().copied()));
        }
    }
    let assignments =
        order.into_iter().zip([("N", 0), ("D", 1), ("D", 2)]).filter(|(operators, _)| !operators.is_empty());
    let assignment = |(operators, (cluster, core)): (Vec<_>, (&str, u32))| Assignment {
        processor: Processor::new(cluster, [core]),
        operators,
    };
    let replica = Replica::new(assignments.map(assignment).collect());
    let schedule = Schedule { stages: vec![Stage { replicas: vec![replica] }] };
    schedule.validate(graph, &board()).unwrap();
    assert!(schedule.evaluate(graph, &table).unwrap().latency <= mapped.makespan);
}

#[test]
fn an_operator_that_nobody_supports_is_named() {
    let model = millstream_zoo::build("squeezenet").unwrap();
    let graph = model.graph();
    let mut bare = CostTable::new(graph.operators().len(), [ProcessorClass::new("N", 1)]);
    let only = bare.class_ids().next().unwrap();
    for id in graph.operator_ids().filter(|&id| graph.operator(id).op_type != "Concat") {
        bare.set_time(only, id, Nanoseconds(1000));
    }
    let error = map_network(graph, &subgraphs(graph), &bare, &[only], &MapperLimits::default(), 1).unwrap_err();
    assert!(matches!(&error, MappingError::Unsupported { operator } if operator.starts_with("Concat")), "{error}");
}
