//! Some rows of what operators make as a model of its own.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use millstream_graph::{Locality, OperatorId, OperatorKind, RowRegion, Tile, ValueId};

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
    /// The dimension that counts rows.
    pub(crate) axis: usize,
}

/// A tile while its nodes are written.
struct Writer<'a, 'r> {
    model: &'a Model,
    region: &'r RowRegion,
    tile: Tile,
    nodes: Vec<NodeProto>,
    weights: Vec<(String, Cow<'a, Weight>)>,
    /// The rows that there are of each value that the tile makes.
    made: HashMap<ValueId, Range<usize>>,
    sliced: HashSet<String>,
}

impl Model {
    /// The nodes that make some rows of what the last of some operators makes.
    pub(crate) fn tile(&self, operators: &[OperatorId], rows: &Range<usize>) -> Result<TileModel<'_>, OnnxError> {
        let unsupported = |what: String, remedy: &str| OnnxError::Unsupported { what, remedy: remedy.to_owned() };
        let name = |id: Option<&OperatorId>| id.map_or(String::new(), |&id| self.graph.operator(id).name.clone());
        let Some(region) = RowRegion::new(&self.graph, operators) else {
            let what = format!("dividing '{}' to '{}' by rows", name(operators.first()), name(operators.last()));
            return Err(unsupported(what, ": give them to one processor"));
        };
        if rows.is_empty() || rows.end > region.rows() {
            let what = format!("the rows {rows:?} of the {} that '{}' makes", region.rows(), name(operators.last()));
            return Err(unsupported(what, ": give every processor rows that are there"));
        }
        let mut writer = Writer {
            model: self,
            region: &region,
            tile: region.tile(rows.clone()),
            nodes: Vec::with_capacity(operators.len()),
            weights: Vec::new(),
            made: HashMap::new(),
            sliced: HashSet::new(),
        };
        for (place, &id) in operators.iter().enumerate() {
            writer.add(id, place)?;
        }
        let Writer { nodes, weights, .. } = writer;
        Ok(self.with_constants(nodes, weights, region.axis()))
    }

    /// The nodes with the constants that they read, which come first.
    fn with_constants<'a>(
        &'a self,
        nodes: Vec<NodeProto>,
        mut weights: Vec<(String, Cow<'a, Weight>)>,
        axis: usize,
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
        TileModel { nodes: all, weights, axis }
    }

    /// The model's own copy of a constant's name.
    fn constant_name(&self, name: &str) -> Option<&str> {
        let weight = self.weights.get_key_value(name).map(|(name, _)| name.as_str());
        weight.or_else(|| self.constant_nodes.get_key_value(name).map(|(name, _)| name.as_str()))
    }
}

impl Writer<'_, '_> {
    fn add(&mut self, id: OperatorId, place: usize) -> Result<(), OnnxError> {
        let graph = &self.model.graph;
        let operator = graph.operator(id);
        let rows = self.tile.made[place].clone();
        let mut node = self.model.nodes[id.index()].clone();
        for &value in &operator.inputs {
            let Some(needed) = self.region.needed(graph, id, value, &rows) else { continue };
            let there = self.made.get(&value).cloned().unwrap_or_else(|| 0..self.rows_of(value));
            let name = &graph.value(value).name;
            if there != needed {
                let part = needed.start - there.start..needed.end - there.start;
                let sliced = self.slice(name, self.region.axis(), part);
                node.input.iter_mut().filter(|input| *input == name).for_each(|input| input.clone_from(&sliced));
            }
        }
        if matches!(operator.kind, OperatorKind::Activation | OperatorKind::Elementwise) {
            self.slice_constants(&mut node, id, &rows);
        }
        if let Locality::Windows(_) = operator.locality {
            self.pad(&mut node, id, &rows)?;
        }
        if let &[output] = operator.outputs.as_slice() {
            self.made.insert(output, rows);
        }
        self.nodes.push(node);
        Ok(())
    }

    fn rows_of(&self, value: ValueId) -> usize {
        let shape = self.model.graph.value(value).shape.as_ref();
        shape.and_then(|shape| shape.dimensions().get(self.region.axis()).copied()).unwrap_or(0)
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
    fn slice_constants(&mut self, node: &mut NodeProto, id: OperatorId, rows: &Range<usize>) {
        let graph = &self.model.graph;
        let shape = |value: &ValueId| graph.value(*value).shape.as_ref().map(|shape| shape.dimensions().to_vec());
        let Some(made) = graph.operator(id).outputs.first().and_then(shape) else { return };
        let axis = self.region.axis();
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
    fn pad(&self, node: &mut NodeProto, id: OperatorId, rows: &Range<usize>) -> Result<(), OnnxError> {
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

        let spatial_axis = self.region.axis().saturating_sub(2);
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
