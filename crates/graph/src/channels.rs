//! Which operators can be divided by output channels, and which follow channel by channel.

use crate::{Graph, OperatorId, OperatorKind, ValueId};

/// How an operator's output can be divided between processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelUnits {
    /// Output channels: convolution filters, or columns of a weight matrix.
    pub channels: usize,
    /// Divisions lie at multiples of so many channels: those of a group of a grouped convolution, else 1.
    pub unit: usize,
    /// The output's dimension that counts channels.
    pub axis: usize,
}

impl Graph {
    /// How the operator's output channels can be divided so that parts can be made apart, each from the inputs and its part of
    /// the weights; `None` if they can't.
    pub fn channel_units(&self, id: OperatorId) -> Option<ChannelUnits> {
        let operator = self.operator(id);
        let [output] = operator.outputs.as_slice() else { return None };
        let dimensions = self.value(*output).shape.as_ref()?.dimensions();
        let units = match (&operator.kind, operator.op_type.as_str()) {
            (OperatorKind::Convolution(convolution), "Conv") => {
                let unit = if convolution.groups > 1 { convolution.output_channels / convolution.groups } else { 1 };
                ChannelUnits { channels: convolution.output_channels, unit, axis: 1 }
            }
            // Each channel needs the same channel of the input, and local response normalisation a few around it: parts take
            // what they need of it.
            (OperatorKind::Pool(_), "MaxPool" | "AveragePool" | "GlobalAveragePool" | "GlobalMaxPool")
            | (OperatorKind::Normalization, "LRN")
                if operator.inputs.len() == 1 && dimensions.len() > 2 =>
            {
                ChannelUnits { channels: *dimensions.get(1)?, unit: 1, axis: 1 }
            }
            (OperatorKind::FullyConnected, "Gemm" | "MatMul") if operator.inputs.len() == 1 => {
                let axis = dimensions.len().checked_sub(1).filter(|&axis| axis > 0)?;
                ChannelUnits { channels: dimensions[axis], unit: 1, axis }
            }
            _ => return None,
        };
        let fits = dimensions.get(units.axis) == Some(&units.channels);
        (fits && units.unit > 0 && units.channels >= 2 * units.unit).then_some(units)
    }

    /// The operators after `head` that need only those of its channels that they make themselves: what follows it directly and
    /// alone, channel by channel. They can be divided as it is.
    pub fn channel_followers(&self, head: OperatorId) -> Vec<OperatorId> {
        let mut followers = Vec::new();
        let Some(units) = self.channel_units(head) else { return followers };
        let mut last = head;
        while let [value] = self.operator(last).outputs.as_slice()
            && let [reader] = self.readers(*value)
            && !self.outputs().contains(value)
            && self.is_channel_wise(*reader, *value, units)
        {
            followers.push(*reader);
            last = *reader;
        }
        followers
    }

    /// Whether each output channel of an operator depends on the same channel of its only input alone.
    fn is_channel_wise(&self, id: OperatorId, input: ValueId, units: ChannelUnits) -> bool {
        let operator = self.operator(id);
        let ([value], [output]) = (operator.inputs.as_slice(), operator.outputs.as_slice()) else { return false };
        let size = |value: ValueId| self.value(value).shape.as_ref().map(crate::Shape::dimensions);
        let (Some(before), Some(after)) = (size(input), size(*output)) else { return false };
        let keeps_channels = *value == input
            && before.len() == after.len()
            && before.get(units.axis) == Some(&units.channels)
            && after.get(units.axis) == Some(&units.channels);
        keeps_channels
            && match (&operator.kind, operator.op_type.as_str()) {
                (OperatorKind::Convolution(convolution), "Conv") => {
                    convolution.groups == units.channels && units.unit == 1 && units.axis == 1
                }
                (OperatorKind::Normalization, "BatchNormalization") => units.axis == 1,
                (OperatorKind::Pool(_), "MaxPool" | "AveragePool" | "GlobalAveragePool" | "GlobalMaxPool") => {
                    units.axis == 1 && before.len() > 2
                }
                (OperatorKind::Activation, _) => true,
                (OperatorKind::Elementwise, "Add" | "Sub" | "Mul" | "Div") => true,
                _ => false,
            }
    }
}
