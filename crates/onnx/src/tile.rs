//! Some rows, columns or heads of what operators make as a model of its own.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use millstream_graph::{Along, Locality, OperatorId, OperatorKind, Portion, Slab, Stretch, Tile, TileRegion, ValueId};

use crate::constants::ConstantTable;
use crate::error::OnnxError;
use crate::model::Model;
use crate::proto::{AttributeProto, NodeProto};
use crate::weight::Weight;
use crate::windows::sliding;

/// Nodes of a tile, and all weights that they read.
pub(crate) struct TileModel<'a> {
    pub(crate) nodes: Vec<NodeProto>,
    pub(crate) weights: Vec<(String, Cow<'a, Weight>)>,
    /// The dimension that is divided.
    pub(crate) axis: usize,
    /// Positions along it that the tile has.
    pub(crate) size: usize,
}

/// A tile while its nodes are written.
struct Writer<'a, 'r> {
    model: &'a Model,
    region: &'r TileRegion,
    tile: Tile,
    nodes: Vec<NodeProto>,
    weights: Vec<(String, Cow<'a, Weight>)>,
    /// What there is of each value that the tile makes in part.
    made: HashMap<ValueId, Slab>,
    sliced: HashSet<String>,
}

impl Model {
    /// The nodes that make some rows, columns or heads of what the last of some operators makes.
    pub(crate) fn tile(&self, operators: &[OperatorId], portion: &Portion) -> Result<TileModel<'_>, OnnxError> {
        let Portion { along, range } = portion;
        let unsupported = |what: String, remedy: &str| OnnxError::Unsupported { what, remedy: remedy.to_owned() };
        let name = |id: Option<&OperatorId>| id.map_or(String::new(), |&id| self.graph.operator(id).name.clone());
        let what = along.name();
        let Some(region) = TileRegion::new(&self.graph, operators, *along) else {
            let what = format!("dividing '{}' to '{}' by {what}", name(operators.first()), name(operators.last()));
            return Err(unsupported(what, ": give them to one processor"));
        };
        if range.is_empty() || range.end > region.rows() {
            let what = format!("the {what} {range:?} of the {} that '{}' makes", region.rows(), name(operators.last()));
            return Err(unsupported(what, &format!(": give every processor {} that are there", along.name())));
        }

        let mut writer = Writer {
            model: self,
            region: &region,
            tile: region.tile(range.clone()),
            nodes: Vec::with_capacity(operators.len()),
            weights: Vec::new(),
            made: HashMap::new(),
            sliced: HashSet::new(),
        };
        let axes: Vec<Option<usize>> = region.axes_of_operators().collect();
        for (place, (&id, axis)) in operators.iter().zip(axes).enumerate() {
            match axis {
                None => writer.nodes.push(self.nodes[id.index()].clone()),
                Some(axis) if *along == Along::Heads && self.graph.has_weight_columns(id, axis) => {
                    writer.add_columns(id, place, axis)?;
                }
                Some(axis) => writer.add(id, place, axis)?,
            }
        }
        let Writer { nodes, weights, .. } = writer;
        Ok(self.with_constants(nodes, weights, region.axis(), range.len() * region.unit()))
    }

    /// The nodes with the constants that they read, which come first.
    fn with_constants<'a>(
        &'a self,
        nodes: Vec<NodeProto>,
        mut weights: Vec<(String, Cow<'a, Weight>)>,
        axis: usize,
        size: usize,
    ) -> TileModel<'a> {
        let mut all = Vec::with_capacity(nodes.len());
        let mut whole: BTreeMap<&str, &Weight> = BTreeMap::new();
        let mut included = HashSet::new();
        let names: Vec<&str> =
            nodes.iter().flat_map(|node| &node.input).filter_map(|name| self.constant_name(name)).collect();
        for name in names {
            self.include_constant(name, &mut all, &mut whole, &mut included);
        }
        all.extend(nodes);
        weights.extend(whole.into_iter().map(|(name, weight)| (name.to_owned(), Cow::Borrowed(weight))));
        TileModel { nodes: all, weights, axis, size }
    }

    /// The model's own copy of a constant's name.
    fn constant_name(&self, name: &str) -> Option<&str> {
        let weight = self.weights.get_key_value(name).map(|(name, _)| name.as_str());
        weight.or_else(|| self.constant_nodes.get_key_value(name).map(|(name, _)| name.as_str()))
    }
}

impl Writer<'_, '_> {
    /// An operator of which the tile makes some columns of the weights.
    fn add_columns(&mut self, id: OperatorId, place: usize, axis: usize) -> Result<(), OnnxError> {
        let range = self.tile.made[place].clone();
        let part = self.model.part(&[id], &range)?;
        self.nodes.extend(part.nodes);
        self.weights.extend(part.weights);
        self.has_made(id, axis, range);
        Ok(())
    }

    /// An operator of which the tile makes some positions along a dimension.
    fn add(&mut self, id: OperatorId, place: usize, axis: usize) -> Result<(), OnnxError> {
        let graph = &self.model.graph;
        let operator = graph.operator(id);
        let rows = self.tile.made[place].clone();
        let mut node = self.model.nodes[id.index()].clone();
        let mut surplus = None;
        for (input, &value) in operator.inputs.iter().enumerate() {
            let needed = self.region.needed(place, input, &rows, |axis| self.size_of(value, axis));
            let Some(needed) = needed else { continue };
            if let Locality::Stretched(stretches) = &operator.locality {
                let stretch = axis.checked_sub(2).and_then(|spatial| stretches.get(spatial));
                surplus = stretch.map(|stretch| surplus_rows(*stretch, &needed.range, &rows));
            }
            let there = self.made.get(&value).map_or(0..self.size_of(value, needed.axis), |there| there.range.clone());
            let name = &graph.value(value).name;
            if there != needed.range {
                let part = needed.range.start - there.start..needed.range.end - there.start;
                let sliced = self.slice(name, needed.axis, part);
                node.input.iter_mut().filter(|input| *input == name).for_each(|input| input.clone_from(&sliced));
            }
        }

        match (&operator.kind, node.op()) {
            (OperatorKind::Activation | OperatorKind::Elementwise, _) => {
                self.slice_constants(&mut node, id, axis, &rows);
            }
            (_, "Reshape") => self.reshape(&mut node, id, axis, rows.len()),
            (_, "Resize") => self.rescale(&mut node, id),
            _ => {}
        }
        if let Locality::Windows(_) = operator.locality {
            self.pad(&mut node, id, axis, &rows)?;
        }
        self.has_made(id, axis, rows);
        self.push(node, axis, surplus.flatten());
        Ok(())
    }

    /// A node, and behind it what takes `kept` of the positions that it makes.
    fn push(&mut self, mut node: NodeProto, axis: usize, kept: Option<Range<usize>>) {
        let (Some(kept), Some(output)) = (kept, node.output.first_mut()) else { return self.nodes.push(node) };
        let whole = std::mem::replace(output, format!("{output} and around"));
        let around = output.clone();
        self.nodes.push(node);
        let slice = self.model.slice_along(&mut self.weights, &around, &whole, axis, kept);
        self.nodes.push(slice);
    }

    fn has_made(&mut self, id: OperatorId, axis: usize, range: Range<usize>) {
        if let &[output] = self.model.graph.operator(id).outputs.as_slice() {
            self.made.insert(output, Slab { axis, range });
        }
    }

    fn size_of(&self, value: ValueId, axis: usize) -> usize {
        let shape = self.model.graph.value(value).shape.as_ref();
        shape.and_then(|shape| shape.dimensions().get(axis).copied()).unwrap_or(0)
    }

    /// Gives a node the shape that the tile's part of its output has.
    fn reshape(&mut self, node: &mut NodeProto, id: OperatorId, axis: usize, size: usize) {
        let output = self.model.graph.operator(id).outputs.first();
        let shape = output.and_then(|&output| self.model.graph.value(output).shape.as_ref());
        let mut sizes: Vec<i64> =
            shape.map_or(Vec::new(), |shape| shape.dimensions().iter().map(|&size| size as i64).collect());
        if let (Some(own), Some(input)) = (sizes.get_mut(axis), node.input.get_mut(1)) {
            *own = size as i64;
            *input = format!("shape of a tile for {}", node.name.as_deref().unwrap_or_default());
            self.weights.push((input.clone(), Cow::Owned(Weight::from_i64([sizes.len()], &sizes))));
        }
    }

    /// Gives a node factors in place of sizes, which are those of the whole.
    fn rescale(&mut self, node: &mut NodeProto, id: OperatorId) {
        let operator = self.model.graph.operator(id);
        let dimensions = |value: Option<&ValueId>| {
            let shape = value.and_then(|&value| self.model.graph.value(value).shape.as_ref());
            shape.map_or(Vec::new(), |shape| shape.dimensions().to_vec())
        };
        let (before, after) = (dimensions(operator.inputs.first()), dimensions(operator.outputs.first()));
        if node.input.get(3).is_some_and(|sizes| !sizes.is_empty()) {
            let factors: Vec<f32> =
                before.iter().zip(&after).map(|(&before, &after)| (after / before.max(1)) as f32).collect();
            let name = format!("scales of a tile for {}", node.name.as_deref().unwrap_or_default());
            node.input.truncate(2);
            node.input.push(name.clone());
            self.weights.push((name, Cow::Owned(Weight::from_f32([factors.len()], factors))));
        }
    }

    /// The name of a part of a value along a dimension.
    fn slice(&mut self, name: &str, axis: usize, range: Range<usize>) -> String {
        let sliced = format!("{name}[{}..{} of dimension {axis}]", range.start, range.end);
        if self.sliced.insert(sliced.clone()) {
            let node = self.model.slice_along(&mut self.weights, name, &sliced, axis, range);
            self.nodes.push(node);
        }
        sliced
    }

    /// Takes rows of constants that are not the same for all.
    fn slice_constants(&mut self, node: &mut NodeProto, id: OperatorId, axis: usize, rows: &Range<usize>) {
        let graph = &self.model.graph;
        let shape = |value: &ValueId| graph.value(*value).shape.as_ref().map(|shape| shape.dimensions().to_vec());
        let Some(made) = graph.operator(id).outputs.first().and_then(shape) else { return };
        let constants = ConstantTable { weights: &self.model.weights, nodes: &self.model.constant_nodes };
        for input in &mut node.input {
            let Some(dimensions) = constants.stored(input).map(|weight| weight.shape.dimensions()) else { continue };
            let constant_axis = (axis + dimensions.len()).checked_sub(made.len());
            if let Some(constant_axis) = constant_axis.filter(|&constant_axis| {
                dimensions.get(constant_axis).is_some_and(|&size| size > 1 && size == made[axis])
            }) {
                *input = self.slice(&input.clone(), constant_axis, rows.clone());
            }
        }
    }

    /// Leaves padding only where the tile reaches the border of the whole.
    fn pad(&self, node: &mut NodeProto, id: OperatorId, axis: usize, rows: &Range<usize>) -> Result<(), OnnxError> {
        let graph = &self.model.graph;
        let operator = graph.operator(id);
        let kernel = match &operator.kind {
            OperatorKind::Pool(pool) => pool.kernel.as_slice(),
            kind => kind.convolution().map_or(&[][..], |convolution| convolution.kernel.as_slice()),
        };
        let dimensions = |value: Option<&ValueId>| {
            let shape = value.and_then(|&value| graph.value(value).shape.as_ref());
            shape.map_or(&[][..], |shape| shape.dimensions())
        };
        let (before, after) = (dimensions(operator.inputs.first()), dimensions(operator.outputs.first()));
        let Some(sliding) = sliding(node, kernel, before, after) else {
            let what = format!("the window of '{}'", operator.name);
            return Err(OnnxError::Unsupported { what, remedy: ": export the model again".to_owned() });
        };

        let spatial_axis = axis.saturating_sub(2);
        let mut pads: Vec<i64> = sliding.iter().map(|along| along.window.padding as i64).collect();
        let mut after: Vec<i64> = sliding.iter().map(|along| along.padding_after as i64).collect();
        if let Some(along) = sliding.get(spatial_axis) {
            let size = before.get(spatial_axis + 2).copied().unwrap_or(0) as i64;
            let (stride, padding) = (along.window.stride as i64, along.window.padding as i64);
            let start = rows.start as i64 * stride - padding;
            let end = (rows.end as i64 - 1) * stride - padding + along.window.span as i64;
            pads[spatial_axis] = (-start).max(0);
            // Where the output's size is rounded up, the last window reaches further. Said as padding, it is within the
            // tile's rows for engines that refuse windows larger than what they slide over. What counts padding in
            // means does not count that part.
            let counts_padding = node.int("count_include_pad").is_some_and(|counts| counts != 0);
            let most = if counts_padding { along.padding_after as i64 } else { i64::MAX };
            after[spatial_axis] = (end - size).clamp(0, most);
        }

        pads.extend(after);
        node.attribute.retain(|attribute| !matches!(attribute.name.as_deref(), Some("pads" | "auto_pad")));
        node.attribute.push(AttributeProto::from_ints("pads", &pads));
        Ok(())
    }
}

/// Of the positions that stretching makes of what it needs, those that are wanted; `None` if it makes no others.
fn surplus_rows(stretch: Stretch, needed: &Range<usize>, wanted: &Range<usize>) -> Option<Range<usize>> {
    let made = needed.start * stretch.factor..needed.end * stretch.factor;
    (made != *wanted).then(|| wanted.start - made.start..wanted.end - made.start)
}
