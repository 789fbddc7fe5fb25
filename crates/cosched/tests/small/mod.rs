//! A convolution and what comes after it, small enough to work out by hand.

#![allow(clippy::unwrap_used, clippy::panic, dead_code, unreachable_pub, reason = "each test uses a part of it")]

use millstream_board::{Processor, ProcessorClass};
use millstream_cosched::divide;
use millstream_cost::{CostTable, Nanoseconds, PartCost, TransferModel};
use millstream_graph::{
    Convolution, DataType, Graph, GraphBuilder, NewOperator, OperatorId, OperatorKind, Shape, ValueId, Work,
};
use millstream_schedule::{Assignment, ChannelSplit, Replica};

/// What comes after the convolution, with its time on any core.
#[derive(Clone, Copy)]
pub enum Step {
    /// An activation, which can be divided with what it follows.
    Follows(u64),
    /// Something that needs all channels.
    Whole(u64),
}

/// A convolution of some channels of one element each, steps after it, and single cores.
pub struct Network {
    pub graph: Graph,
    pub table: CostTable,
    pub channels: usize,
    pub unit: usize,
    processors: Vec<Processor>,
}

impl Network {
    /// Cores make a channel in so many ns each; a channel takes `per_channel` ns from any core to another one. The convolution has groups
    /// of `unit` channels, and parts of it cost as `part` says.
    pub fn new(channels: usize, unit: usize, steps: &[Step], cores: &[u64], per_channel: u64, part: PartCost) -> Self {
        let graph = graph(channels, unit, steps);
        assert_eq!(graph.channel_units(graph.order()[0]).map(|units| units.unit), Some(unit));
        let processors: Vec<Processor> =
            (0..cores.len()).map(|core| Processor::new(format!("c{core}"), [core as u32])).collect();
        let classes: Vec<ProcessorClass> = processors.iter().map(Processor::class).collect();
        let mut table = CostTable::new(graph.operators().len(), classes);
        // A channel is four bytes.
        let link = TransferModel { seconds_per_byte: per_channel as f64 * 0.25e-9, ..TransferModel::default() };
        let all: Vec<_> = table.processors().collect();
        for (&processor, &per_channel) in all.iter().zip(cores) {
            table.set_time(processor, 0, Nanoseconds(per_channel * channels as u64));
            table.set_part(processor, 0, part);
            for (number, step) in steps.iter().enumerate() {
                let (Step::Follows(time) | Step::Whole(time)) = *step;
                table.set_time(processor, number + 1, Nanoseconds(time));
            }
            all.iter().for_each(|&to| table.set_transfer(processor, to, link));
        }
        Self { graph, table, channels, unit, processors }
    }

    /// Everything on the first core.
    pub fn undivided(&self) -> Replica {
        let mut operators = Some(self.graph.order().to_vec());
        let assignment = |processor: &Processor| Assignment {
            processor: processor.clone(),
            operators: operators.take().unwrap_or_default(),
        };
        Replica::new(self.processors.iter().map(assignment).collect())
    }

    pub fn finish(&self, replica: &Replica) -> Option<Nanoseconds> {
        replica.execute(&self.graph, &self.table).ok().map(|execution| execution.makespan())
    }

    pub fn divided(&self) -> Replica {
        divide(self.undivided(), &self.graph, &self.table, |_| true, |replica| self.finish(replica))
    }

    /// The convolution, alone or with what follows it channel by channel, divided between the cores in every way, or as a whole on any of
    /// them; what is left is on the first core.
    pub fn all_divisions(&self) -> Vec<Replica> {
        let followers = self.graph.channel_followers(self.graph.order()[0]);
        let lengths = 1..=followers.len() + 1;
        lengths.flat_map(|length| self.divisions_of(&self.graph.order()[..length])).collect()
    }

    fn divisions_of(&self, operators: &[OperatorId]) -> Vec<Replica> {
        let mut shares = vec![Vec::new()];
        for _ in &self.processors {
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
                replica.splits.push(ChannelSplit { operators: operators.to_vec(), channels });
            }
            replica
        };
        shares.into_iter().map(divided).collect()
    }
}

fn graph(channels: usize, unit: usize, steps: &[Step]) -> Graph {
    let mut builder = GraphBuilder::new("small");
    let value = |builder: &mut GraphBuilder, name: String| -> ValueId {
        builder.value(name, Some(DataType::F32), Some(Shape::from([1, channels, 1, 1]))).unwrap()
    };
    let input = value(&mut builder, "input".to_owned());
    let mut last = value(&mut builder, "v0".to_owned());
    builder.input(input);
    let convolution = OperatorKind::Convolution(Convolution {
        input_channels: channels,
        output_channels: channels,
        kernel: vec![1, 1],
        strides: vec![1, 1],
        dilations: vec![1, 1],
        groups: if unit == 1 { 1 } else { channels / unit },
    });
    let work = Work { macs: 1000, ..Work::default() };
    builder.operator(NewOperator::new("conv", "Conv", convolution).reads([input]).makes([last]).work(work)).unwrap();
    for (number, step) in steps.iter().enumerate() {
        let made = value(&mut builder, format!("v{}", number + 1));
        let (op_type, kind) = match step {
            Step::Follows(_) => ("Relu", OperatorKind::Activation),
            Step::Whole(_) => ("x", OperatorKind::Opaque),
        };
        builder.operator(NewOperator::new(format!("o{number}"), op_type, kind).reads([last]).makes([made])).unwrap();
        last = made;
    }
    builder.output(last);
    builder.build().unwrap()
}
