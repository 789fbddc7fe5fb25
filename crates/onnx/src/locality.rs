//! Which places of its inputs a node needs for a place of its output.

use millstream_graph::{Locality, OperatorKind, Stretch};

use crate::constants::ConstantTable;
use crate::describe::{Input, Output};
use crate::moves::axis;
use crate::proto::NodeProto;
use crate::windows::sliding;

/// What is known of a node while a model is read.
pub(crate) struct Described<'a> {
    pub(crate) node: &'a NodeProto,
    pub(crate) kind: &'a OperatorKind,
    pub(crate) inputs: &'a [Input],
    pub(crate) outputs: &'a [Output],
}

impl Described<'_> {
    /// Which places of its inputs it needs; everything where that can't be told.
    pub(crate) fn locality(&self, constants: ConstantTable<'_>) -> Locality {
        self.known_locality(constants).unwrap_or_default()
    }

    fn known_locality(&self, constants: ConstantTable<'_>) -> Option<Locality> {
        let [output] = self.outputs else { return None };
        let rank = output.shape.as_ref()?.dimensions().len();
        match (self.kind, self.node.op()) {
            (kind, _) if let Some(convolution) = kind.convolution() => self.windows(&convolution.kernel),
            (OperatorKind::Pool(pool), "MaxPool" | "AveragePool" | "LpPool") => self.pooling(&pool.kernel),
            (_, "Resize" | "Upsample") => self.stretches(constants),
            (OperatorKind::MatrixMultiplication, "MatMul") => self.moved(constants),
            (_, "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" | "Transpose" | "Gather" | "Slice") => {
                self.moved(constants)
            }
            _ => Some(Locality::SamePosition { mixed: self.mixed_dimensions(rank, constants)? }),
        }
    }

    /// The dimensions along which a place of the output needs all places of the inputs, where it needs the same place
    /// along all others; `None` where it does not.
    fn mixed_dimensions(&self, rank: usize, constants: ConstantTable<'_>) -> Option<Vec<usize>> {
        let Self { node, kind, .. } = self;
        match (kind, node.op()) {
            (OperatorKind::Activation | OperatorKind::Elementwise, _) | (_, "Cast" | "Identity") => {
                self.has_stored_constants(constants).then(Vec::new)
            }
            (_, "Dropout") if node.input.len() < 3 => Some(Vec::new()),
            (OperatorKind::Quantization, _) if node.int("block_size").unwrap_or(0) == 0 => {
                let scales = self.inputs.get(1)?.shape.as_ref()?.elements();
                Some(if scales == 1 { Vec::new() } else { vec![self.dimension("axis", 1, rank)?] })
            }
            (_, "BatchNormalization" | "LRN" | "LayerNormalization" | "RMSNormalization" | "LpNormalization") => {
                self.normalised_dimensions(rank)
            }
            (_, "ReduceMean" | "ReduceSum" | "ReduceMax" | "ReduceMin") => self.reduced_dimensions(constants),
            // Before operator set 13 all dimensions from this one on.
            (OperatorKind::Softmax, _) => Some((self.dimension("axis", 1, rank)?..rank).collect()),
            (OperatorKind::Concat, _) if self.has_no_constant() => Some(vec![self.dimension("axis", 1, rank)?]),
            (kind, "MatMul") if kind.has_weight_matrix() => {
                let is_matrix = constants.rank(node.input.get(1)?) == Some(2);
                let last = rank.checked_sub(1)?;
                (is_matrix && self.inputs.len() == 2).then(|| vec![last])
            }
            _ => None,
        }
    }

    fn normalised_dimensions(&self, rank: usize) -> Option<Vec<usize>> {
        let node = self.node;
        match node.op() {
            "BatchNormalization" if node.int("training_mode").unwrap_or(0) == 0 => {
                // Before operator set 9, each place could have a scale of its own.
                (node.int("spatial").unwrap_or(1) != 0).then(|| vec![1])
            }
            "LRN" => Some(vec![1]),
            "LayerNormalization" | "RMSNormalization" => {
                let axis = self.dimension("axis", -1, rank)?;
                // Scales may be those of every place, rather than of what is normalised.
                let mut ranks = self.inputs.iter().skip(1).filter_map(|input| input.shape.as_ref());
                let are_shared = ranks.all(|shape| shape.dimensions().len() <= rank - axis);
                are_shared.then(|| (axis..rank).collect())
            }
            "LpNormalization" => Some(vec![self.dimension("axis", -1, rank)?]),
            _ => None,
        }
    }

    fn pooling(&self, kernel: &[usize]) -> Option<Locality> {
        // Of a rounded-up average, what lies beyond the padding counts for nothing, but a tile's border might.
        let counts_padding = self.node.int("count_include_pad").unwrap_or(0) != 0;
        let is_rounded_up = self.node.int("ceil_mode").unwrap_or(0) != 0;
        let is_unclear = is_rounded_up && (counts_padding || self.node.op() == "LpPool");
        if is_unclear { None } else { self.windows(kernel) }
    }

    fn windows(&self, kernel: &[usize]) -> Option<Locality> {
        let before = self.inputs.first()?.shape.as_ref()?.dimensions();
        let after = self.outputs.first()?.shape.as_ref()?.dimensions();
        let is_alone = self.inputs.iter().skip(1).all(|input| input.is_constant || input.shape.is_none());
        let sliding = sliding(self.node, kernel, before, after).filter(|_| is_alone)?;
        Some(Locality::Windows(sliding.into_iter().map(|along| along.window).collect()))
    }

    /// Resizing by whole factors: to nearest neighbours, or between neighbours where powers of two make the places of
    /// all positions exact, so that tiles have the same ones.
    fn stretches(&self, constants: ConstantTable<'_>) -> Option<Locality> {
        let node = self.node;
        let before = self.inputs.first()?.shape.as_ref()?.dimensions();
        let after = self.outputs.first()?.shape.as_ref()?.dimensions();
        let factor = |(&before, &after): (&usize, &usize)| (before > 0 && after % before == 0).then(|| after / before);
        let factors: Vec<usize> = before.iter().zip(after).map(factor).collect::<Option<_>>()?;
        let is_plain = node.attribute("axes").is_none()
            && node.int("antialias").unwrap_or(0) == 0
            && node.int("exclude_outside").unwrap_or(0) == 0
            && self.inputs.iter().skip(1).all(|input| input.is_constant || input.shape.is_none());
        let reach = self.resizing_reach(&factors)?;
        // Where sizes are given, the factors are those of the sizes.
        let mut given = node.input.iter().filter(|name| !name.is_empty());
        let is_whole = match node.input.get(3) {
            Some(sizes) if !sizes.is_empty() => true,
            _ => {
                let scales = constants.weights.get(given.next_back()?)?.floats()?;
                scales.iter().copied().eq(factors.iter().map(|&factor| factor as f32))
            }
        };
        match factors.split_at_checked(2)? {
            ([1, 1], spatial) if is_plain && is_whole && before.len() == after.len() => {
                // What stays as large has no neighbours in it.
                let stretch = |&factor: &usize| Stretch { factor, reach: if factor == 1 { 0 } else { reach } };
                Some(Locality::Stretched(spatial.iter().map(stretch).collect()))
            }
            _ => None,
        }
    }

    /// How many neighbours on either side have a part in what resizing makes of an element; `None` where places depend
    /// on the whole.
    fn resizing_reach(&self, factors: &[usize]) -> Option<usize> {
        let node = self.node;
        let text = |name: &str, usual: &'static str| node.text(name).unwrap_or(usual).to_owned();
        let places = text("coordinate_transformation_mode", "half_pixel");
        let nearest = text("nearest_mode", "round_prefer_floor");
        let are_exact = factors.iter().all(|factor| factor.is_power_of_two());
        let is_local = matches!(places.as_str(), "half_pixel" | "pytorch_half_pixel" | "asymmetric");
        match (text("mode", "nearest").as_str(), node.op()) {
            ("nearest", "Upsample") => Some(0),
            ("nearest", _) => match (places.as_str(), nearest.as_str()) {
                ("asymmetric", "floor") | ("half_pixel" | "pytorch_half_pixel", "round_prefer_floor") => Some(0),
                _ => None,
            },
            ("linear", "Resize") if is_local && are_exact => Some(1),
            ("cubic", "Resize") if is_local && are_exact => Some(2),
            _ => None,
        }
    }

    /// An attribute that counts dimensions, perhaps from the end.
    fn dimension(&self, name: &str, usual: i64, rank: usize) -> Option<usize> {
        axis(self.node.int(name).unwrap_or(usual), rank)
    }

    /// Whether rows can be taken of all its constants.
    fn has_stored_constants(&self, constants: ConstantTable<'_>) -> bool {
        let mut constant_inputs = self.node.input.iter().filter(|name| constants.contains(name));
        self.node.attribute("broadcast").is_none() && constant_inputs.all(|name| constants.stored(name).is_some())
    }

    fn has_no_constant(&self) -> bool {
        !self.inputs.iter().any(|input| input.is_constant)
    }
}
