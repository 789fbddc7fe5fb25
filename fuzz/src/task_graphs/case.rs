//! A task graph, what its operators take, and schedules for it.

use std::sync::Arc;

use arbitrary::{Error, Result, Unstructured};
use millstream_board::{Processor, ProcessorClass};
use millstream_cost::{BlockedEnd, CostTable, HandOver, Nanoseconds, TransferModel};
use millstream_graph::{
    DataType, Graph, GraphBuilder, GraphError, NewOperator, OperatorId, OperatorKind, Shape, ValueId,
};
use millstream_mapping::Mapping;
use millstream_partition::Subgraph;
use millstream_schedule::{Assignment, Replica, Schedule, Stage};

const CLUSTERS: [&str; 3] = ["B", "m", "s"];
const MOST_OPERATORS: usize = 5;
/// Nanoseconds that operators and transfers take.
const TIMES: [u64; 12] = [1, 2, 3, 5, 7, 10, 0, 20, 100, 4, 1_000_000, 86_400_000_000_000];

pub(super) struct Case {
    pub(super) graph: Arc<Graph>,
    pub(super) table: CostTable,
    pub(super) more_in_flight: usize,
    /// How many of the operators come in the first stage of a pipeline.
    cut: usize,
    pub(super) takes_over: bool,
}

impl Case {
    pub(super) fn of(raw: &mut Unstructured<'_>) -> Result<Self> {
        let operators = raw.int_in_range(1..=MOST_OPERATORS)?;
        let processors = raw.int_in_range(1..=CLUSTERS.len())?;
        // Trying everything where transfers occupy processors takes long.
        let blocks = operators < MOST_OPERATORS && raw.ratio(1_u8, 4)?;
        let mut reads = Vec::new();
        for index in 0..operators {
            let bits: u8 = raw.arbitrary()?;
            reads.push((0..=index).filter(|place| bits >> place & 1 == 1).collect::<Vec<_>>());
        }
        let graph = graph(&reads).map_err(|_| Error::IncorrectFormat)?;

        let mut table = CostTable::new(operators, CLUSTERS[..processors].iter().map(|&cluster| class(cluster)));
        let all: Vec<_> = table.class_ids().collect();
        for &processor in &all {
            for operator in table.operator_ids() {
                // The first processor supports everything.
                if processor == all[0] || !raw.ratio(1_u8, 6)? {
                    table.set_time(processor, operator, Nanoseconds(*raw.choose(&TIMES)?));
                }
            }
            table.set_hand_over(processor, HandOver { seconds: 7e-9, seconds_per_byte: 1e-9 });
            for &other in &all {
                let latency_seconds = *raw.choose(&TIMES[..11])? as f64 * 1e-9;
                let end = *raw.choose(&[None, Some(BlockedEnd::Sender), Some(BlockedEnd::Receiver)])?;
                let model =
                    TransferModel { latency_seconds, blocks: end.filter(|_| blocks), ..TransferModel::default() };
                table.set_transfer(processor, other, model);
            }
        }

        let (more_in_flight, cut) = (raw.int_in_range(0..=2)?, raw.int_in_range(0..=operators)?);
        Ok(Self { graph: Arc::new(graph), table, more_in_flight, cut, takes_over: raw.arbitrary()? })
    }

    /// One stage, in which each processor runs these operators.
    pub(super) fn team(&self, operators: &[Vec<OperatorId>]) -> Schedule {
        let assignments = operators.iter().enumerate().filter(|(_, own)| !own.is_empty());
        let assignments =
            assignments.map(|(place, own)| Assignment { processor: processor(place, 0), operators: own.clone() });
        Schedule { stages: vec![Stage { replicas: vec![Replica::new(assignments.collect())] }] }
    }

    /// Two stages, if the cut is inside, whose operators are where the mapping has their nodes.
    pub(super) fn pipeline(&self, mapping: &Mapping, whole: &Subgraph) -> Schedule {
        let home = |id: &OperatorId| {
            let mut homes = whole.nodes.iter().zip(&mapping.placement);
            homes.find(|(node, _)| node.contains(id)).map_or(0, |(_, home)| home.index())
        };
        let (first, rest) = self.graph.order().split_at(self.cut);
        let stage = |(number, operators): (usize, &[OperatorId])| {
            let assignments = (0..CLUSTERS.len()).filter_map(|place| {
                let own: Vec<OperatorId> = operators.iter().copied().filter(|id| home(id) == place).collect();
                (!own.is_empty()).then(|| Assignment { processor: processor(place, number), operators: own })
            });
            Stage { replicas: vec![Replica::new(assignments.collect())] }
        };
        let stages = [first, rest].into_iter().filter(|operators| !operators.is_empty()).enumerate();
        Schedule { stages: stages.map(stage).collect() }
    }
}

fn class(cluster: &str) -> ProcessorClass {
    ProcessorClass::new(cluster, 1)
}

fn processor(place: usize, stage: usize) -> Processor {
    Processor::new(CLUSTERS[place], [(place + CLUSTERS.len() * stage) as u32])
}

/// Operators that read these values: 0 is the input, and then what each operator makes. What nobody reads is an output.
fn graph(reads: &[Vec<usize>]) -> std::result::Result<Graph, GraphError> {
    let mut builder = GraphBuilder::new("made");
    let mut values: Vec<ValueId> = Vec::new();
    for index in 0..=reads.len() {
        values.push(builder.value(format!("v{index}"), Some(DataType::F32), Some(Shape::from([1])))?);
    }
    builder.input(values[0]);
    let mut unread = values.clone();
    for (index, own) in reads.iter().enumerate() {
        let own: Vec<ValueId> =
            if own.is_empty() { vec![values[0]] } else { own.iter().map(|&from| values[from]).collect() };
        unread.retain(|value| !own.contains(value));
        let operator = NewOperator::new(format!("o{index}"), "Sum", OperatorKind::Opaque);
        builder.operator(operator.reads(own).makes([values[index + 1]]))?;
    }
    unread.into_iter().for_each(|value| builder.output(value));
    builder.build()
}
