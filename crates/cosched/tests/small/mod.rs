//! Networks small enough to work out by hand.

#![allow(clippy::unwrap_used, clippy::panic, dead_code, unreachable_pub, reason = "each test uses a part of it")]

use millstream_board::{Board, Processor};
use millstream_cosched::divide;
use millstream_cost::{CostTable, Nanoseconds, PartCost, TransferModel};
use millstream_graph::{
    Along, Convolution, DataType, Graph, GraphBuilder, NewOperator, OperatorId, OperatorKind, Shape, Work,
};
use millstream_schedule::{Assignment, OperatorSplit, Replica, Schedule, Stage};
use millstream_test_support::{board, pointwise};

/// An operator. Every value has the same number of channels, of one element each.
#[derive(Clone, Copy)]
pub enum Step {
    /// A convolution in groups of `unit` channels, each of which takes a core so many times as long as the core's own
    /// time per channel. Those with more work come first where operators are divided.
    Convolution { unit: usize, times: u64, macs: u64 },
    /// An activation that takes so long on any core, and can be divided with what it follows.
    Follows(u64),
    /// Something that takes so long on any core and needs all channels.
    Whole(u64),
}

/// Clusters of a core each.
const LABELS: [&str; 4] = ["a", "b", "c", "d"];

/// A network on single cores.
pub struct Network {
    pub graph: Graph,
    pub table: CostTable,
    pub channels: usize,
    pub unit: usize,
    board: Board,
}

impl Network {
    /// A convolution, and steps one behind the other. Cores make a channel of it in so many ns each; a channel takes
    /// `per_channel` ns from any core to another one. The convolution has groups of `unit` channels, and parts of it
    /// cost as `part` says.
    pub fn new(channels: usize, unit: usize, steps: &[Step], cores: &[u64], per_channel: u64, part: PartCost) -> Self {
        let first = Step::Convolution { unit, times: 1, macs: 1000 };
        let steps = [&[first], steps].concat();
        let nodes: Vec<(Step, Vec<usize>)> =
            steps.into_iter().enumerate().map(|(number, step)| (step, vec![number])).collect();
        let mut network = Self::of(channels, &nodes, cores, per_channel);
        for processor in network.table.class_ids() {
            network.table.set_part(processor, OperatorId::new(0), part);
        }
        network
    }

    /// Operators with what each reads: 0 is the input, and n the result of operator n - 1.
    pub fn of(channels: usize, nodes: &[(Step, Vec<usize>)], cores: &[u64], per_channel: u64) -> Self {
        let graph = graph(channels, nodes);
        let clusters: Vec<String> = LABELS[..cores.len()].iter().map(|label| format!("{label}1:1024")).collect();
        let board = board(&clusters.join("+"));
        let mut table = CostTable::new(nodes.len(), board.processor_classes());
        // A channel is four bytes.
        let link = TransferModel { seconds_per_byte: per_channel as f64 * 0.25e-9, ..TransferModel::default() };
        for (processor, &own) in table.class_ids().zip(cores) {
            for (number, &(step, _)) in nodes.iter().enumerate() {
                let time = match step {
                    Step::Convolution { times, .. } => times * own * channels as u64,
                    Step::Follows(time) | Step::Whole(time) => time,
                };
                table.set_time(processor, OperatorId::new(number), Nanoseconds(time));
            }
            table.class_ids().for_each(|to| table.set_transfer(processor, to, link));
        }
        let unit = graph.channel_units(graph.order()[0]).map_or(1, |units| units.unit);
        Self { graph, table, channels, unit, board }
    }

    /// The operators of these numbers.
    pub fn ids(&self, numbers: &[usize]) -> Vec<OperatorId> {
        numbers.iter().map(|number| self.graph.find_operator(&format!("o{number}")).unwrap()).collect()
    }

    /// Operators by their numbers, core by core.
    pub fn placed(&self, cores: &[&[usize]]) -> Replica {
        let assignment = |(core, numbers): (usize, &&[usize])| Assignment {
            processor: Processor::new(LABELS[core], [core as u32]),
            operators: self.ids(numbers),
        };
        Replica::new(cores.iter().enumerate().map(assignment).collect())
    }

    /// Everything on the first core.
    pub fn undivided(&self) -> Replica {
        let all: Vec<usize> = (0..self.graph.operators().len()).collect();
        let mut cores: Vec<&[usize]> = vec![&[]; self.board.clusters().len()];
        cores[0] = &all;
        self.placed(&cores)
    }

    pub fn finish(&self, replica: &Replica) -> Option<Nanoseconds> {
        replica.execute(&self.graph, &self.table).ok().map(|execution| execution.makespan())
    }

    /// What comes of everything on the first core; valid in any case.
    pub fn divided(&self) -> Replica {
        self.divided_from(self.undivided())
    }

    pub fn divided_from(&self, replica: Replica) -> Replica {
        let divided = divide(replica, &self.graph, &self.table, |_| true, |executed| executed.execution.makespan());
        let mut used = divided.clone();
        used.assignments.retain(|assignment| !assignment.operators.is_empty());
        for split in &mut used.splits {
            let is_used = |position: &usize| !divided.assignments[*position].operators.is_empty();
            split.shares = (0..split.shares.len()).filter(is_used).map(|position| split.shares[position]).collect();
        }
        let schedule = Schedule { stages: vec![Stage { replicas: vec![used] }] };
        schedule.validate(&self.graph, &self.board).unwrap();
        divided
    }

    /// The first operator, alone or with what follows it channel by channel, divided between the cores in every way, or
    /// as a whole on any of them; what is left is on the first core.
    pub fn all_divisions(&self) -> Vec<Replica> {
        let followers = self.graph.channel_followers(self.graph.order()[0]);
        let lengths = 1..=followers.len() + 1;
        lengths.flat_map(|length| self.divisions_of(&self.graph.order()[..length])).collect()
    }

    fn divisions_of(&self, operators: &[OperatorId]) -> Vec<Replica> {
        let mut shares = vec![Vec::new()];
        for _ in self.board.clusters() {
            let more = |known: &Vec<usize>| {
                let left = self.channels - known.iter().sum::<usize>();
                let known = known.clone();
                (0..=left).step_by(self.unit).map(move |own| [known.clone(), vec![own]].concat()).collect::<Vec<_>>()
            };
            shares = shares.iter().flat_map(more).collect();
        }
        shares.retain(|own| own.iter().sum::<usize>() == self.channels);
        let divided = |channels: Vec<usize>| {
            let mut replica = self.undivided();
            for (assignment, &own) in replica.assignments.iter_mut().zip(&channels) {
                assignment.operators.retain(|id| own > 0 || !operators.contains(id));
                if own > 0 && assignment.operators.is_empty() {
                    assignment.operators = operators.to_vec();
                }
            }
            if channels.iter().filter(|&&own| own > 0).count() > 1 {
                replica.splits.push(OperatorSplit {
                    operators: operators.to_vec(),
                    along: Along::Channels,
                    shares: channels,
                });
            }
            replica
        };
        shares.into_iter().map(divided).collect()
    }
}

fn graph(channels: usize, nodes: &[(Step, Vec<usize>)]) -> Graph {
    let mut builder = GraphBuilder::new("small");
    let mut values = Vec::new();
    for number in 0..=nodes.len() {
        let shape = Shape::from([1, channels, 1, 1]);
        values.push(builder.value(format!("v{number}"), Some(DataType::F32), Some(shape)).unwrap());
    }
    builder.input(values[0]);
    for (number, (step, reads)) in nodes.iter().enumerate() {
        let (op_type, kind, macs) = match *step {
            Step::Convolution { unit, macs, .. } => {
                ("Conv", OperatorKind::Convolution(convolution(channels, unit)), macs)
            }
            Step::Follows(_) => ("Relu", OperatorKind::Activation, 0),
            Step::Whole(_) => ("x", OperatorKind::Opaque, 0),
        };
        let operator = NewOperator::new(format!("o{number}"), op_type, kind).work(Work { macs, ..Work::default() });
        let reads: Vec<_> = reads.iter().map(|&value| values[value]).collect();
        builder.operator(operator.reads(reads).makes([values[number + 1]])).unwrap();
        if !nodes.iter().any(|(_, reads)| reads.contains(&(number + 1))) {
            builder.output(values[number + 1]);
        }
    }
    builder.build().unwrap()
}

fn convolution(channels: usize, unit: usize) -> Convolution {
    Convolution { groups: if unit == 1 { 1 } else { channels / unit }, ..pointwise(channels) }
}
