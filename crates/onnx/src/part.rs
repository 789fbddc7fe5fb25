//! A part of an operator's output channels as a model of its own.

use std::borrow::Cow;
use std::ops::Range;

use millstream_graph::{ChannelUnits, Constants, Convolution, OperatorId, OperatorKind};

use crate::constants::ConstantTable;
use crate::error::OnnxError;
use crate::model::Model;
use crate::proto::{AttributeProto, NodeProto};
use crate::weight::Weight;

/// Nodes of a part, and weights that the model does not have under these names.
pub(crate) struct Part<'a> {
    pub(crate) nodes: Vec<NodeProto>,
    pub(crate) weights: Vec<(String, Cow<'a, Weight>)>,
    pub(crate) units: ChannelUnits,
}

impl Model {
    /// The nodes that make the output channels `channels` of the first operator and of the others, which follow it
    /// channel by channel.
    pub(crate) fn part(&self, operators: &[OperatorId], channels: &Range<usize>) -> Result<Part<'_>, OnnxError> {
        let Some((&head, followers)) = operators.split_first() else {
            return Err(unsupported("a part of no operator".to_owned(), ""));
        };
        let name = &self.graph.operator(head).name;
        let Some(units) = self.graph.channel_units(head) else {
            let what = format!("dividing the operator '{name}' by output channels");
            return Err(unsupported(what, ": give it to one processor"));
        };

        let is_cut = [channels.start, channels.end].iter().any(|end| !end.is_multiple_of(units.unit));
        if channels.is_empty() || channels.end > units.channels || is_cut {
            let ChannelUnits { channels: total, unit, .. } = units;
            let what = format!(
                "the part {}..{} of the {total} channels of '{name}', which come in groups of {unit},",
                channels.start, channels.end
            );
            return Err(unsupported(what, ""));
        }

        if !self.graph.can_divide_together(head, followers) {
            let what = format!("dividing operators together with '{name}' that do not follow it channel by channel");
            return Err(unsupported(what, ""));
        }

        let mut part = Part { nodes: Vec::with_capacity(operators.len()), weights: Vec::new(), units };
        let divided = self.graph.divided_operator(head);
        for &operator in operators {
            if operator == head && divided != head {
                // The dequantisation before the operator is whole in every part.
                part.nodes.push(self.nodes[operator.index()].clone());
            } else {
                self.add_node(&mut part, operator, operator == divided, channels)?;
            }
        }
        self.add_whole_weights(&mut part);
        Ok(part)
    }

    /// Adds the weights that the nodes read and that are not there yet: those that are the same for all channels.
    fn add_whole_weights<'a>(&'a self, part: &mut Part<'a>) {
        for name in part.nodes.iter().flat_map(|node| &node.input) {
            if let Some((name, weight)) = self.weights.get_key_value(name)
                && !part.weights.iter().any(|(known, _)| known == name)
            {
                part.weights.push((name.clone(), Cow::Borrowed(weight)));
            }
        }
    }

    fn add_node<'a>(
        &'a self,
        part: &mut Part<'a>,
        id: OperatorId,
        is_head: bool,
        channels: &Range<usize>,
    ) -> Result<(), OnnxError> {
        let mut node = self.nodes[id.index()].clone();
        let operator = self.graph.operator(id);

        match &operator.kind {
            kind if let Some(convolution) = kind.convolution() => {
                self.divide_convolution(part, &mut node, convolution, is_head, channels)?;
            }
            kind if kind.has_weight_matrix() => self.divide_product(part, &mut node, operator.constants, channels)?,
            OperatorKind::Pool(_) if is_head => self.slice_value(part, &mut node, channels.start, channels.end),
            OperatorKind::Normalization if node.op() == "LRN" => {
                self.divide_response_normalization(part, node, channels);
                return Ok(());
            }
            OperatorKind::Normalization => {
                for place in 1..=4 {
                    self.slice_input(part, &mut node, place, 0, channels)?;
                }
            }
            OperatorKind::Pool(_) => {}
            _ => {
                let value = operator.outputs.first().map(|&value| self.graph.value(value));
                let rank = value.and_then(|value| value.shape.as_ref()).map_or(0, |shape| shape.dimensions().len());
                for place in 0..node.input.len() {
                    self.slice_broadcast(part, &mut node, place, rank, part.units.axis, channels)?;
                }
            }
        }
        part.nodes.push(node);
        Ok(())
    }

    fn divide_convolution<'a>(
        &'a self,
        part: &mut Part<'a>,
        node: &mut NodeProto,
        convolution: &Convolution,
        is_head: bool,
        channels: &Range<usize>,
    ) -> Result<(), OnnxError> {
        // Filters and bias, and the scales and zero points of filters if each has its own.
        let (divided, scales): (&[usize], &[usize]) = match node.op() {
            "QLinearConv" => (&[3, 8], &[4, 5]),
            "ConvInteger" => (&[1], &[3]),
            _ => (&[1, 2], &[]),
        };

        for &place in divided {
            self.slice_input(part, node, place, 0, channels)?;
        }
        for &place in scales {
            self.slice_broadcast(part, node, place, 1, 0, channels)?;
        }

        if convolution.groups > 1 {
            let unit = part.units.unit;
            let groups = channels.len() / if is_head { unit } else { 1 };
            node.attribute.retain(|attribute| attribute.name.as_deref() != Some("group"));
            node.attribute.push(AttributeProto::from_int("group", groups as i64));
            if is_head {
                let per_group = convolution.input_channels / convolution.groups;
                self.slice_value(part, node, channels.start / unit * per_group, channels.end / unit * per_group);
            }
        }
        Ok(())
    }

    /// A product with a weight matrix: some of its columns, or of its rows where it comes first.
    fn divide_product<'a>(
        &'a self,
        part: &mut Part<'a>,
        node: &mut NodeProto,
        constants: Constants,
        channels: &Range<usize>,
    ) -> Result<(), OnnxError> {
        let is_first = constants == Constants::WeightsFirst;
        let place = match (is_first, node.op()) {
            (true, _) => 0,
            (false, "QLinearMatMul") => 3,
            (false, _) => 1,
        };

        let name = node.input.get(place).cloned().unwrap_or_default();
        let Some(rank) = self.constants().rank(&name).filter(|&rank| rank >= 2) else {
            let what = format!("dividing '{}', whose weights are not at hand,", node.name.clone().unwrap_or_default());
            return Err(unsupported(what, ": give it to one processor"));
        };
        let flag = if is_first { "transA" } else { "transB" };
        let is_transposed = node.op() == "Gemm" && node.int(flag).unwrap_or(0) != 0;
        let (rows, columns) = if is_transposed { (rank - 1, rank - 2) } else { (rank - 2, rank - 1) };
        self.slice_input(part, node, place, if is_first { rows } else { columns }, channels)?;

        let scales: &[usize] = match node.op() {
            "QLinearMatMul" if !is_first => &[4, 5],
            "MatMulInteger" if !is_first => &[3],
            _ => &[],
        };
        for &place in scales {
            self.slice_broadcast(part, node, place, rank, rank - 1, channels)?;
        }

        // What Gemm adds may be one row, or one column, for all.
        if node.op() == "Gemm" {
            self.slice_broadcast(part, node, 2, 2, usize::from(!is_first), channels)?;
        }
        Ok(())
    }

    /// Local response normalisation of some channels, which needs a few around them.
    fn divide_response_normalization(&self, part: &mut Part<'_>, mut node: NodeProto, channels: &Range<usize>) {
        let reach = (node.int("size").unwrap_or(1).max(1) as usize).div_ceil(2);
        let start = channels.start.saturating_sub(reach);
        let end = channels.end.saturating_add(reach).min(part.units.channels);
        self.slice_value(part, &mut node, start, end);
        let Some(output) = node.output.first_mut() else { return };
        let whole = std::mem::replace(output, format!("{output} and around"));
        let around = output.clone();
        part.nodes.push(node);
        let slice = self.slice(part, &around, &whole, channels.start - start, channels.end - start);
        part.nodes.push(slice);
    }

    fn constants(&self) -> ConstantTable<'_> {
        ConstantTable { weights: &self.weights, nodes: &self.constant_nodes }
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
        // The same constant may be divided along different dimensions.
        let sliced = format!("{name}[{}..{} of dimension {axis}]", channels.start, channels.end);
        if let Some(weight) = self.weights.get(name.as_str()) {
            // Nobody has checked that all constants of an operator have as many channels.
            if weight.shape.dimensions().get(axis).is_none_or(|&size| size < channels.end) {
                let what = format!("dividing '{name}', of shape {}, by {} channels", weight.shape, part.units.channels);
                return Err(unsupported(what, ": the model is damaged, export it again"));
            }
            if !part.weights.iter().any(|(known, _)| *known == sliced) {
                part.weights.push((sliced.clone(), Cow::Owned(weight.slice(axis, channels))));
            }
            *name = sliced;
            return Ok(());
        }

        let Some((data, dequantization)) = self.constants().dequantized(name) else {
            let what = format!("dividing the computed constant '{name}' by channels");
            return Err(unsupported(what, ": fold constants first"));
        };
        *name = sliced.clone();
        self.slice_dequantization(part, data, dequantization, sliced, axis, channels)
    }

    /// Adds the dequantisation of a part of a quantised constant.
    fn slice_dequantization<'a>(
        &'a self,
        part: &mut Part<'a>,
        data: &Weight,
        dequantization: &NodeProto,
        output: String,
        axis: usize,
        channels: &Range<usize>,
    ) -> Result<(), OnnxError> {
        if part.nodes.iter().any(|node| node.output.first() == Some(&output)) {
            return Ok(());
        }
        let mut node = dequantization.clone();
        node.name = Some(format!("{} for {output}", node.name.unwrap_or_default()));
        node.output = vec![output];
        let rank = data.shape.dimensions().len();
        let along = node.int("axis").unwrap_or(1);
        let along = if along < 0 { along + rank as i64 } else { along };
        self.slice_input(part, &mut node, 0, axis, channels)?;
        // Scales along another dimension are the same for all channels.
        if along == axis as i64 {
            for place in [1, 2] {
                self.slice_broadcast(part, &mut node, place, 1, 0, channels)?;
            }
        }
        part.nodes.push(node);
        Ok(())
    }

    /// The same for a constant that is broadcast against a value of so many dimensions; one that is the same for all
    /// channels stays as it is.
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
        let Some(dimensions) = self.constants().stored(name).map(|weight| weight.shape.dimensions()) else {
            return Ok(());
        };
        let constant_axis = (axis + dimensions.len()).checked_sub(rank);
        match constant_axis.and_then(|at| Some((at, *dimensions.get(at)?))) {
            Some((at, size)) if size == part.units.channels => self.slice_input(part, node, place, at, channels),
            _ => Ok(()),
        }
    }

    /// Puts a node before `node` that takes the channels `start..end` of its first input; of the integers, where these
    /// are dequantised for it, so that the two remain one operator.
    fn slice_value(&self, part: &mut Part<'_>, node: &mut NodeProto, start: usize, end: usize) {
        let is_lead = |lead: &NodeProto| lead.op() == "DequantizeLinear" && lead.output.first() == node.input.first();
        let lead = part.nodes.iter().position(is_lead).map(|place| part.nodes.remove(place));
        match lead {
            Some(mut lead) => {
                self.slice_first_input(part, &mut lead, start, end);
                part.nodes.push(lead);
            }
            None => self.slice_first_input(part, node, start, end),
        }
    }

    fn slice_first_input(&self, part: &mut Part<'_>, node: &mut NodeProto, start: usize, end: usize) {
        let Some(input) = node.input.first_mut() else { return };
        let sliced = format!("{input}[{start}..{end}]");
        let slice = self.slice(part, input, &sliced, start, end);
        *input = sliced;
        part.nodes.push(slice);
    }

    /// A node that takes the channels `start..end` of a value.
    fn slice(&self, part: &mut Part<'_>, value: &str, sliced: &str, start: usize, end: usize) -> NodeProto {
        self.slice_along(&mut part.weights, value, sliced, 1, start..end)
    }
}

fn unsupported(what: String, remedy: &str) -> OnnxError {
    OnnxError::Unsupported { what, remedy: remedy.to_owned() }
}
