//! A part of an operator's output channels as a model of its own.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;
use millstream_graph::{ChannelUnits, OperatorId, OperatorKind};

use crate::proto::{AttributeProto, NodeProto};
use crate::{Model, OnnxError, Weight};

/// The version of the default operator set from which on `Slice` takes its bounds as inputs.
const SLICE_WITH_INPUTS: i64 = 10;

/// Nodes of a part, and weights that the model does not have under these names.
pub(crate) struct Part<'a> {
    pub(crate) nodes: Vec<NodeProto>,
    pub(crate) weights: Vec<(String, Cow<'a, Weight>)>,
    pub(crate) units: ChannelUnits,
}

impl Model {
    /// The nodes that make the output channels `channels` of the first operator and of the others, which follow it channel by
    /// channel.
    pub(crate) fn part(&self, operators: &[OperatorId], channels: &Range<usize>) -> Result<Part<'_>, OnnxError> {
        let Some((&head, followers)) = operators.split_first() else {
            return Err(self.unsupported("a part of no operator".to_owned(), ""));
        };
        let name = &self.graph.operator(head).name;
        let Some(units) = self.graph.channel_units(head) else {
            let what = format!("dividing the operator '{name}' by output channels");
            return Err(self.unsupported(what, ": give it to one processor"));
        };
        let is_cut = [channels.start, channels.end].iter().any(|end| !end.is_multiple_of(units.unit));
        if channels.is_empty() || channels.end > units.channels || is_cut {
            let ChannelUnits { channels: total, unit, .. } = units;
            let what = format!(
                "the part {}..{} of the {total} channels of '{name}', which come in groups of {unit},",
                channels.start, channels.end
            );
            return Err(self.unsupported(what, ""));
        }
        if !self.graph.channel_followers(head).starts_with(followers) {
            let what = format!("dividing operators together with '{name}' that do not follow it channel by channel");
            return Err(self.unsupported(what, ""));
        }
        let mut part = Part { nodes: Vec::with_capacity(operators.len()), weights: Vec::new(), units };
        for &operator in operators {
            self.add_node(&mut part, operator, operator == head, channels)?;
        }
        Ok(part)
    }

    fn unsupported(&self, what: String, remedy: &str) -> OnnxError {
        OnnxError::Unsupported { what, remedy: remedy.to_owned() }
    }

    fn add_node<'a>(
        &'a self,
        part: &mut Part<'a>,
        operator: OperatorId,
        is_head: bool,
        channels: &Range<usize>,
    ) -> Result<(), OnnxError> {
        let mut node = self.nodes[operator.index()].clone();
        let units = part.units;
        match &self.graph.operator(operator).kind {
            OperatorKind::Convolution(convolution) => {
                for place in [1, 2] {
                    self.slice_input(part, &mut node, place, 0, channels)?;
                }
                if convolution.groups > 1 {
                    let groups = channels.len() / if is_head { units.unit } else { 1 };
                    node.attribute.retain(|attribute| attribute.name.as_deref() != Some("group"));
                    node.attribute.push(AttributeProto::from_int("group", groups as i64));
                }
                if convolution.groups > 1 && is_head {
                    let per_group = convolution.input_channels / convolution.groups;
                    let start = channels.start / units.unit * per_group;
                    let end = channels.end / units.unit * per_group;
                    self.slice_value(part, &mut node, start, end);
                }
            }
            OperatorKind::FullyConnected => {
                let rank = |place: usize| {
                    let weight = node.input.get(place).and_then(|name| self.weights.get(name));
                    weight.map(|weight| weight.shape.dimensions().len())
                };
                let Some(columns) = rank(1).and_then(|rank| rank.checked_sub(1)) else {
                    let what = format!("dividing '{}', whose weights come first,", self.graph.operator(operator).name);
                    return Err(self.unsupported(what, ": give it to one processor"));
                };
                let is_transposed = node.op() == "Gemm" && node.int("transB").unwrap_or(0) != 0;
                self.slice_input(part, &mut node, 1, if is_transposed { 0 } else { columns }, channels)?;
                self.slice_broadcast(part, &mut node, 2, 2, 1, channels)?;
            }
            OperatorKind::Pool(_) if is_head => self.slice_value(part, &mut node, channels.start, channels.end),
            OperatorKind::Pool(_) => {}
            OperatorKind::Normalization if node.op() == "LRN" => {
                let reach = (node.int("size").unwrap_or(1).max(1) as usize).div_ceil(2);
                let start = channels.start.saturating_sub(reach);
                let end = (channels.end + reach).min(units.channels);
                self.slice_value(part, &mut node, start, end);
                let Some(output) = node.output.first_mut() else { return Ok(()) };
                let whole = std::mem::replace(output, format!("{output} and around"));
                let around = output.clone();
                part.nodes.push(node);
                let slice = self.slice(part, &around, &whole, channels.start - start, channels.end - start);
                part.nodes.push(slice);
                return Ok(());
            }
            OperatorKind::Normalization => {
                for place in 1..=4 {
                    self.slice_input(part, &mut node, place, 0, channels)?;
                }
            }
            _ => {
                let value = self.graph.operator(operator).outputs.first().map(|&value| self.graph.value(value));
                let rank = value.and_then(|value| value.shape.as_ref()).map_or(0, |shape| shape.dimensions().len());
                for place in 0..node.input.len() {
                    self.slice_broadcast(part, &mut node, place, rank, units.axis, channels)?;
                }
            }
        }
        part.nodes.push(node);
        Ok(())
    }

    /// Replaces a constant input by its part along a dimension that counts channels.
    fn slice_input<'a>(
        &'a self,
        part: &mut Part<'a>,
        node: &mut NodeProto,
        place: usize,
        axis: usize,
        channels: &Range<usize>,
    ) -> Result<(), OnnxError> {
        let Some(name) = node.input.get_mut(place).filter(|name| !name.is_empty()) else { return Ok(()) };
        let Some(weight) = self.weights.get(name.as_str()) else {
            let what = format!("dividing the computed constant '{name}' by channels");
            return Err(self.unsupported(what, ": fold constants first"));
        };
        let sliced = format!("{name}[{}..{}]", channels.start, channels.end);
        if !part.weights.iter().any(|(known, _)| *known == sliced) {
            part.weights.push((sliced.clone(), Cow::Owned(weight.slice(axis, channels))));
        }
        *name = sliced;
        Ok(())
    }

    /// The same for a constant that is broadcast against a value of so many dimensions; one that is the same for all channels
    /// stays as it is.
    fn slice_broadcast<'a>(
        &'a self,
        part: &mut Part<'a>,
        node: &mut NodeProto,
        place: usize,
        rank: usize,
        axis: usize,
        channels: &Range<usize>,
    ) -> Result<(), OnnxError> {
        let Some(name) = node.input.get(place).filter(|name| !name.is_empty()) else { return Ok(()) };
        let Some(weight) = self.weights.get(name) else { return Ok(()) };
        let dimensions = weight.shape.dimensions();
        let own_axis = (axis + dimensions.len()).checked_sub(rank);
        match own_axis.and_then(|own| Some((own, *dimensions.get(own)?))) {
            Some((own, size)) if size == part.units.channels => self.slice_input(part, node, place, own, channels),
            _ => {
                let name = name.clone();
                if !part.weights.iter().any(|(known, _)| *known == name) {
                    part.weights.push((name, Cow::Borrowed(weight)));
                }
                Ok(())
            }
        }
    }

    /// Puts a node before `node` that takes the channels `start..end` of its first input.
    fn slice_value(&self, part: &mut Part<'_>, node: &mut NodeProto, start: usize, end: usize) {
        let Some(input) = node.input.first_mut() else { return };
        let sliced = format!("{input}[{start}..{end}]");
        let slice = self.slice(part, input, &sliced, start, end);
        *input = sliced;
        part.nodes.push(slice);
    }

    /// A node that takes the channels `start..end` of a value.
    fn slice(&self, part: &mut Part<'_>, value: &str, sliced: &str, start: usize, end: usize) -> NodeProto {
        let mut slice = NodeProto {
            input: vec![value.to_owned()],
            output: vec![sliced.to_owned()],
            name: Some(format!("slice for {sliced}")),
            op_type: Some("Slice".to_owned()),
            ..NodeProto::default()
        };
        let is_default = |domain: &Option<String>| domain.as_deref().is_none_or(str::is_empty);
        let version = self.header.opset_import.iter().find(|import| is_default(&import.domain));
        let version = version.and_then(|import| import.version).unwrap_or(SLICE_WITH_INPUTS);
        for (what, value) in [("starts", start), ("ends", end), ("axes", 1)] {
            if version < SLICE_WITH_INPUTS {
                slice.attribute.push(AttributeProto::from_ints(what, &[value as i64]));
            } else {
                let name = format!("{what} of {sliced}");
                part.weights.push((name.clone(), Cow::Owned(Weight::from_i64([1], &[value as i64]))));
                slice.input.push(name);
            }
        }
        slice
    }
}

impl Weight {
    /// The part `range` along a dimension. Parts of the outermost dimension share the elements.
    ///
    /// # Panics
    /// If the weight has no such dimension or the range is outside it.
    pub fn slice(&self, axis: usize, range: &Range<usize>) -> Self {
        let dimensions = self.shape.dimensions();
        let element = self.data.len() / (self.shape.elements() as usize).max(1);
        let inner: usize = dimensions[axis + 1..].iter().product::<usize>() * element;
        let outer: usize = dimensions[..axis].iter().product();
        let row = dimensions[axis] * inner;
        let bounds = |index: usize| index * row + range.start * inner..index * row + range.end * inner;
        let data = if outer == 1 {
            self.data.slice(bounds(0))
        } else {
            let mut data = Vec::with_capacity(outer * range.len() * inner);
            (0..outer).for_each(|index| data.extend_from_slice(&self.data[bounds(index)]));
            Bytes::from(data)
        };
        let mut shape = dimensions.to_vec();
        shape[axis] = range.len();
        Self { data_type: self.data_type, shape: shape.into(), data }
    }
}
