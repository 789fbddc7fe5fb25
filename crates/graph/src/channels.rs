//! What can be divided by output channels, in which units, and what follows channel by channel.
//!
//! This is the one place that says so: measuring, searching, checking schedules and the backends ask here.

use crate::graph::Graph;
use crate::operator::{Constants, Operator, OperatorId, OperatorKind};
use crate::value::{Shape, ValueId};

/// How an operator's output can be divided between processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelUnits {
    /// Output channels: convolution filters, or columns of a weight matrix (rows, if it is the first operand).
    pub channels: usize,
    /// Divisions lie at multiples of so many channels: those of a group of a grouped convolution, else 1.
    pub unit: usize,
    /// The output's dimension that counts channels.
    pub axis: usize,
}

/// Pooling operators whose channels do not mix.
const POOLS: [&str; 4] = ["MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"];

impl Graph {
    /// How the operator's output channels can be divided so that parts can be made apart, each from the whole inputs
    /// and its part of the weights; `None` if they can't.
    ///
    /// A `DequantizeLinear` that serves an operator is divided with it: it comes first, whole in every part, and its
    /// units are those of the operator, which has none without it.
    pub fn channel_units(&self, id: OperatorId) -> Option<ChannelUnits> {
        let units = self.units_of_head(id)?;
        let last = self.followers_in(id, units).last().copied().unwrap_or(id);
        (!self.is_tied_to_a_reader(last)).then_some(units)
    }

    /// The units of an operator and what belongs before it, whatever comes after.
    fn units_of_head(&self, id: OperatorId) -> Option<ChannelUnits> {
        let operator = self.operator(id);
        if operator.is_dequantization() {
            let served = self.served_by(id).filter(|_| operator.constants != Constants::Computed)?;
            return self.operator_units(served);
        }
        if self.reads_dequantized(id) { None } else { self.operator_units(id) }
    }

    /// The operator that is divided where these are divided together: the first, or the one that a leading
    /// dequantisation serves.
    pub fn divided_operator(&self, head: OperatorId) -> OperatorId {
        if self.operator(head).is_dequantization() { self.served_by(head).unwrap_or(head) } else { head }
    }

    /// The operators after `head` that need only those of its channels that they make themselves: what follows it
    /// directly and alone, channel by channel. They can be divided as it is. Where `head` is a dequantisation, the
    /// operator that it serves comes first. A division may end after any of them unless [`Graph::is_inseparable`] ties
    /// the next one to it.
    pub fn channel_followers(&self, head: OperatorId) -> Vec<OperatorId> {
        self.channel_units(head).map_or(Vec::new(), |units| self.followers_in(head, units))
    }

    fn followers_in(&self, head: OperatorId, units: ChannelUnits) -> Vec<OperatorId> {
        let mut followers = Vec::new();
        let mut last = self.divided_operator(head);
        if last != head {
            followers.push(last);
        }
        while let Some((value, reader)) = self.only_reader(last)
            && self.is_channel_wise(reader, value, units)
        {
            followers.push(reader);
            last = reader;
        }
        while let Some(&last) = followers.last()
            && self.is_tied_to_a_reader(last)
        {
            followers.pop();
        }
        followers
    }

    /// Whether some reader of what an operator makes can't be apart from it.
    fn is_tied_to_a_reader(&self, id: OperatorId) -> bool {
        let mut readers = self.operator(id).outputs.iter().flat_map(|&value| self.readers(value));
        readers.any(|&reader| self.is_inseparable(id, reader))
    }

    /// Whether an operator and these, in order, can be divided together: they follow it channel by channel, and what
    /// comes next may be elsewhere.
    pub fn can_divide_together(&self, head: OperatorId, followers: &[OperatorId]) -> bool {
        let last = followers.last().copied().unwrap_or(head);
        let is_open = !self.is_tied_to_a_reader(last);
        self.channel_units(head).is_some() && is_open && self.channel_followers(head).starts_with(followers)
    }

    /// Whether a quantisation after an operator, a dequantisation before one, an activation between an operator and its
    /// quantisation, or the scaling of integer sums, ties the two together: engines run them as one operator on
    /// integers, which gives other results than the parts by themselves. Nothing may come between them.
    pub fn is_one_quantised_operator(&self, producer: OperatorId, reader: OperatorId) -> bool {
        self.operator(producer).is_dequantization()
            || self.operator(reader).is_quantization()
            || self.operator(reader).kind == OperatorKind::Activation && self.is_inner_activation(producer, reader)
            || self.is_scaling_of_sums(producer, reader)
    }

    /// What makes the inputs of an operator and is one quantised operator with it.
    pub fn tied_producers(&self, reader: OperatorId) -> impl Iterator<Item = OperatorId> {
        self.producers(reader).filter(move |&producer| self.is_one_quantised_operator(producer, reader))
    }

    /// Whether these are two neighbours among a product of integers, its conversion to floats, their scaling, and the
    /// bias.
    fn is_scaling_of_sums(&self, producer: OperatorId, reader: OperatorId) -> bool {
        let makes_sums = |id: OperatorId| {
            matches!(
                self.operator(id).kind,
                OperatorKind::IntegerConvolution(_) | OperatorKind::IntegerMatrixMultiplication { .. }
            )
        };
        let is_conversion = |id: OperatorId| self.operator(id).op_type == "Cast" && self.producers(id).any(makes_sums);
        let is_scaling = |id: OperatorId| self.operator(id).op_type == "Mul" && self.producers(id).any(is_conversion);
        // A bias is added with the scaling, rounded once.
        let adds_bias = self.operator(reader).op_type == "Add" && self.operator(reader).inputs.len() == 1;
        is_conversion(reader) || is_conversion(producer) && is_scaling(reader) || is_scaling(producer) && adds_bias
    }

    /// Whether an activation stands between an operator on dequantised values and its quantisation.
    fn is_inner_activation(&self, producer: OperatorId, activation: OperatorId) -> bool {
        let is_alone = self.only_reader(producer).is_some_and(|(_, reader)| reader == activation);
        let next = self.only_reader(activation);
        self.reads_dequantized(producer)
            && is_alone
            && next.is_some_and(|(_, next)| self.operator(next).is_quantization())
    }

    fn reads_dequantized(&self, id: OperatorId) -> bool {
        self.producers(id).any(|producer| self.operator(producer).is_dequantization())
    }

    /// The value that an operator makes and its reader, if there is only one of each.
    fn only_reader(&self, id: OperatorId) -> Option<(ValueId, OperatorId)> {
        let [value] = self.operator(id).outputs.as_slice() else { return None };
        let [reader] = self.readers(*value) else { return None };
        (!self.outputs().contains(value)).then_some((*value, *reader))
    }

    /// The operator for which alone a dequantisation is there.
    fn served_by(&self, dequantization: OperatorId) -> Option<OperatorId> {
        let (value, reader) = self.only_reader(dequantization)?;
        (self.operator(reader).inputs == [value]).then_some(reader)
    }

    /// The units of an operator by itself.
    fn operator_units(&self, id: OperatorId) -> Option<ChannelUnits> {
        let operator = self.operator(id);
        let [output] = operator.outputs.as_slice() else { return None };
        // Parts begin and end at values whose type is known.
        if operator.inputs.iter().chain([output]).any(|&value| self.value(value).data_type.is_none()) {
            return None;
        }
        let dimensions = self.value(*output).shape.as_ref()?.dimensions();
        // What else flows in is whole in every part, so it must be the same for all channels.
        let others_are_numbers = operator.inputs.iter().skip(1).all(|&value| self.is_number(value));
        if operator.constants == Constants::Computed || !others_are_numbers {
            return None;
        }

        let units = match (&operator.kind, operator.op_type.as_str()) {
            (kind, "Conv" | "ConvInteger" | "QLinearConv") => {
                let convolution = kind.convolution()?;
                let unit = if convolution.groups > 1 { convolution.output_channels / convolution.groups } else { 1 };
                ChannelUnits { channels: convolution.output_channels, unit, axis: 1 }
            }
            // Each channel needs the same channel of the input, and local response normalisation a few around it: parts
            // take what they need of it.
            (OperatorKind::Pool(_), op_type) if POOLS.contains(&op_type) => self.own_channels(operator, dimensions)?,
            (OperatorKind::Normalization, "LRN") => self.own_channels(operator, dimensions)?,
            (kind, "Gemm" | "MatMul" | "MatMulInteger" | "QLinearMatMul") if kind.has_weight_matrix() => {
                let from_the_end = if operator.constants == Constants::WeightsFirst { 2 } else { 1 };
                let axis = dimensions.len().checked_sub(from_the_end)?;
                // A single row or column is no matrix.
                if dimensions.len() < 2 || self.rank(*operator.inputs.first()?)? < 2 {
                    return None;
                }
                ChannelUnits { channels: dimensions[axis], unit: 1, axis }
            }
            _ => return None,
        };
        let fits = dimensions.get(units.axis) == Some(&units.channels);
        (fits && units.unit > 0 && units.channels >= 2 * units.unit).then_some(units)
    }

    /// Channels of an operator that makes each from the same one of its only input.
    fn own_channels(&self, operator: &Operator, dimensions: &[usize]) -> Option<ChannelUnits> {
        let is_map = operator.inputs.len() == 1 && dimensions.len() > 2;
        is_map.then(|| dimensions.get(1).map(|&channels| ChannelUnits { channels, unit: 1, axis: 1 }))?
    }

    fn is_number(&self, value: ValueId) -> bool {
        self.value(value).shape.as_ref().is_some_and(|shape| shape.elements() == 1)
    }

    fn rank(&self, value: ValueId) -> Option<usize> {
        self.value(value).shape.as_ref().map(|shape| shape.dimensions().len())
    }

    /// Whether each output channel of an operator depends on the same channel of one input alone, and on constants and
    /// single numbers.
    fn is_channel_wise(&self, id: OperatorId, input: ValueId, units: ChannelUnits) -> bool {
        let operator = self.operator(id);
        let size = |value: ValueId| self.value(value).shape.as_ref().map(Shape::dimensions);
        let [output] = operator.outputs.as_slice() else { return false };
        let (Some(before), Some(after)) = (size(input), size(*output)) else { return false };
        let keeps_channels = before.len() == after.len()
            && before.get(units.axis) == Some(&units.channels)
            && after.get(units.axis) == Some(&units.channels);
        let has_others = operator.inputs.iter().any(|value| *value != input);
        let others_are_numbers = operator.inputs.iter().all(|&value| value == input || self.is_number(value));
        if !keeps_channels || operator.constants == Constants::Computed || !others_are_numbers {
            return false;
        }
        match (&operator.kind, operator.op_type.as_str()) {
            (OperatorKind::Elementwise, "Add" | "Sub" | "Mul" | "Div") => true,
            _ if has_others => false,
            (kind, "Conv" | "QLinearConv") => kind.convolution().is_some_and(|convolution| {
                convolution.groups == units.channels
                    && convolution.output_channels == units.channels
                    && units.unit == 1
                    && units.axis == 1
            }),
            (OperatorKind::Normalization, "BatchNormalization") => units.axis == 1,
            (OperatorKind::Pool(_), op_type) => POOLS.contains(&op_type) && units.axis == 1 && before.len() > 2,
            (OperatorKind::Activation, _) | (_, "QuantizeLinear" | "DequantizeLinear" | "Cast") => true,
            _ => false,
        }
    }
}
