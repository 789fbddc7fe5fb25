//! Random networks, and what they compute: every value has some rows of channels, of which the first one is the number
//! of the frame.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use millstream_backend::{Segment, Tensor};
use millstream_graph::{
    DataType, Graph, GraphBuilder, GraphError, NewOperator, OperatorId, OperatorKind, Shape, ValueId,
};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

pub(crate) const CHANNELS: usize = 4;
/// Values stay below this, so that floats hold them exactly.
const MODULUS: f32 = 8191.0;

/// A network and its number of rows.
pub(crate) struct Network {
    pub(crate) graph: Arc<Graph>,
    rows: usize,
}

type Elements = Vec<f32>;

impl Network {
    /// A network of two to six operators. Half of them can be divided by channels; everything that nobody reads is an
    /// output.
    pub(crate) fn random(random: &mut ChaCha8Rng) -> Self {
        let rows = random.random_range(1..=2);
        let graph = build(rows, random).unwrap_or_else(|error| unreachable!("{error}"));
        Self { graph: Arc::new(graph), rows }
    }

    /// The frame of a number.
    pub(crate) fn frame(&self, number: u64) -> Vec<Tensor> {
        vec![self.tensor(self.input(number), CHANNELS)]
    }

    /// What the network makes of a frame, one operator after the other.
    pub(crate) fn expected(&self, number: u64) -> Vec<Elements> {
        let mut values = HashMap::from([(self.graph.inputs()[0], self.input(number))]);
        self.graph.order().iter().for_each(|&operator| self.apply(operator, 0..CHANNELS, &mut values));
        self.graph.outputs().iter().map(|output| values[output].clone()).collect()
    }

    /// Runs a segment: what it makes, in order.
    pub(crate) fn run(&self, segment: &Segment, inputs: &[Tensor]) -> Option<Vec<Tensor>> {
        let mut values = HashMap::new();
        for (&value, tensor) in segment.boundary.inputs.iter().zip(inputs) {
            values.insert(value, tensor.as_f32()?.to_vec());
        }
        let channels = segment.channels().cloned().unwrap_or(0..CHANNELS);
        segment.operators.iter().for_each(|&operator| self.apply(operator, channels.clone(), &mut values));
        let made = |value: &ValueId| Some(self.tensor(values.remove(value)?, channels.len()));
        segment.boundary.outputs.iter().map(made).collect()
    }

    fn input(&self, number: u64) -> Elements {
        let element = |row: usize, channel: usize| match channel {
            0 => number as f32,
            _ => (number * 7 + (row * 31 + channel) as u64) as f32 % MODULUS,
        };
        (0..self.rows).flat_map(|row| (0..CHANNELS).map(move |channel| element(row, channel))).collect()
    }

    pub(crate) fn tensor(&self, elements: Elements, channels: usize) -> Tensor {
        Tensor::from_f32([self.rows, channels], elements)
    }

    /// Adds these channels of what an operator makes.
    fn apply(&self, id: OperatorId, channels: Range<usize>, values: &mut HashMap<ValueId, Elements>) {
        let operator = self.graph.operator(id);
        let inputs: Vec<&Elements> = operator.inputs.iter().map(|input| &values[input]).collect();
        let mixes = operator.kind == OperatorKind::FullyConnected;
        let element = |row: usize, channel: usize| {
            let same_place = |input: &&Elements| input[row * CHANNELS + channel];
            if channel == 0 {
                return same_place(&inputs[0]);
            }
            let sum: f32 = if mixes {
                inputs[0][row * CHANNELS + 1..(row + 1) * CHANNELS].iter().sum()
            } else {
                inputs.iter().map(same_place).sum()
            };
            (sum + (id.index() + 3 * channel) as f32) % MODULUS
        };
        let made = (0..self.rows).flat_map(|row| channels.clone().map(move |channel| (row, channel)));
        let made = made.map(|(row, channel)| element(row, channel)).collect();
        values.insert(operator.outputs[0], made);
    }
}

/// The number of the frame that a segment's inputs belong to.
pub(crate) fn number(inputs: &[Tensor]) -> Option<u64> {
    Some(*inputs.first()?.as_f32()?.first()? as u64)
}

fn build(rows: usize, random: &mut ChaCha8Rng) -> Result<Graph, GraphError> {
    let mut builder = GraphBuilder::new("random");
    let shape = || Some(Shape::from([rows, CHANNELS]));
    let input = builder.value("x", Some(DataType::F32), shape())?;
    builder.input(input);
    let mut values = vec![input];
    let mut unread: Vec<ValueId> = Vec::new();
    for index in 0..random.random_range(2..=6) {
        let made = builder.value(format!("v{index}"), Some(DataType::F32), shape())?;
        let can_be_divided = random.random_bool(0.5);
        let (op_type, kind, most) =
            if can_be_divided { ("MatMul", OperatorKind::FullyConnected, 1) } else { ("Sum", OperatorKind::Opaque, 2) };
        // Mostly the value before, so that networks are rather long than wide.
        let pick = |random: &mut ChaCha8Rng| {
            if random.random_bool(0.7) {
                values[values.len() - 1]
            } else {
                values[random.random_range(0..values.len())]
            }
        };
        let reads: Vec<ValueId> = (0..random.random_range(1..=most)).map(|_| pick(random)).collect();
        unread.retain(|value| !reads.contains(value));
        unread.push(made);
        builder.operator(NewOperator::new(format!("o{index}"), op_type, kind).reads(reads).makes([made]))?;
        values.push(made);
    }
    unread.into_iter().for_each(|value| builder.output(value));
    builder.build()
}
