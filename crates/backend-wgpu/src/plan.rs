//! From a segment to the shaders that run it.

use millstream_backend::Segment;
use millstream_graph::{Convolution, OperatorId, OperatorKind, Portion, ValueId};
use millstream_onnx::{Model, Weight};

use crate::channels::{scale_shift, with_constant};
use crate::convolution::ConvolutionShape;
use crate::extent::Extent;
use crate::layer::{Layer, layer};
use crate::own_model::OwnModel;
use crate::part::check_part;
use crate::shaders::{Activation, Shader, shader};
use crate::windows::{SOFTMAX, local_response, pool};
use crate::work::{ThreadWork, WorkChoice};

/// One dispatch, or a value under another name.
pub(crate) struct Dispatch {
    /// The operators that it runs; the last one makes its value.
    pub(crate) operators: Vec<OperatorId>,
    /// `None` if the output is the input under another shape.
    pub(crate) shader: Option<Shader>,
    pub(crate) reads: Vec<Read>,
    pub(crate) output: ValueId,
    pub(crate) elements: u64,
}

/// What a shader reads.
pub(crate) enum Read {
    Value(ValueId),
    /// Constants, with a name that tells them from others.
    Constant(String, Vec<f32>),
}

/// A segment as dispatches in order.
pub(crate) struct Plan {
    pub(crate) dispatches: Vec<Dispatch>,
}

impl Plan {
    pub(crate) fn new(own: &OwnModel, choice: &WorkChoice) -> Result<Self, String> {
        let OwnModel { model, segment, weights_of, .. } = own;
        check_part(model, segment)?;
        let mut planner = Planner { model, segment, weights_of: weights_of.as_ref(), choice, dispatches: Vec::new() };
        let mut rest = segment.operators.as_slice();
        while let Some((&id, _)) = rest.split_first() {
            let done = planner.plan(id, rest)?;
            rest = &rest[done..];
        }
        Ok(Self { dispatches: planner.dispatches })
    }
}

struct Planner<'a> {
    model: &'a Model,
    segment: &'a Segment,
    weights_of: Option<&'a Portion>,
    choice: &'a WorkChoice,
    dispatches: Vec<Dispatch>,
}

/// What runs an operator: the operators in one shader, what it reads, and the value that the last one makes.
struct Kernel {
    operators: Vec<OperatorId>,
    /// `None` if the output is the input under another shape.
    shader: Option<Shader>,
    reads: Vec<Read>,
    output: ValueId,
}

/// Sizes that a shader of one operator depends on.
struct Sizes {
    before: Extent,
    after: Extent,
    /// The first of the operator's output channels that this segment makes.
    first: u64,
}

impl Planner<'_> {
    /// Plans the first of the operators and those after it that run with it; returns how many.
    fn plan(&mut self, id: OperatorId, rest: &[OperatorId]) -> Result<usize, String> {
        let operator = self.model.graph().operator(id);
        let unsupported =
            || format!("the operator '{}' ({}) does not run on this device", operator.name, operator.op_type);
        let layer = layer(self.model, id).ok_or_else(unsupported)?;
        if let Layer::Concat { axis } = layer {
            self.concat(id, axis).ok_or_else(unsupported)?;
            return Ok(1);
        }

        let input = *operator.inputs.first().ok_or_else(unsupported)?;
        let output = *operator.outputs.first().ok_or_else(unsupported)?;
        let is_divided = self.segment.channels().is_some() && self.segment.operators.first() == Some(&id);
        let sizes = Sizes {
            before: self.extent(input).ok_or_else(unsupported)?,
            after: self.extent(output).ok_or_else(unsupported)?,
            first: self.segment.channels().filter(|_| is_divided).map_or(0, |channels| channels.start as u64),
        };

        let kernel = match layer {
            Layer::Convolution { .. } | Layer::Product { .. } => self.products(id, rest, output, &layer, &sizes)?,
            other => self.single(id, output, other, &sizes),
        };
        let Kernel { operators, shader, reads, output } = kernel;
        let count = operators.len();
        self.dispatches.push(Dispatch { operators, shader, reads, output, elements: sizes.after.elements() });
        Ok(count)
    }

    /// A convolution or a matrix product with what is fused into it.
    fn products(
        &self,
        id: OperatorId,
        rest: &[OperatorId],
        output: ValueId,
        layer: &Layer,
        sizes: &Sizes,
    ) -> Result<Kernel, String> {
        let operator = self.model.graph().operator(id);
        let fused = self.fused(id, rest);
        let (shape, weights, bias) = self.convolution(id, layer, sizes)?;
        let (weights, bias) = fused.folded(weights, bias, shape.output_channels);

        let key = format!("{} {:?} {}", operator.name, self.weights_of, fused.operators.len());
        let mut reads: Vec<Read> = operator.inputs.iter().map(|&value| Read::Value(value)).collect();
        reads.push(Read::Constant(format!("weights of {key}"), weights));
        reads.push(Read::Constant(format!("biases of {key}"), bias));

        let work: ThreadWork = self.choice.of(operator.work.macs);
        let shader = Some(shape.shader(work, &fused.activation));
        let output = fused.output.unwrap_or(output);
        let operators = [id].into_iter().chain(fused.operators).collect();
        Ok(Kernel { operators, shader, reads, output })
    }

    /// An operator that runs alone.
    fn single(&self, id: OperatorId, output: ValueId, layer: Layer, sizes: &Sizes) -> Kernel {
        let operator = self.model.graph().operator(id);
        let Sizes { before, after, first } = sizes;
        let elements = after.elements();
        let key = format!("{} {:?}", operator.name, self.weights_of);
        let mut reads: Vec<Read> = operator.inputs.iter().map(|&value| Read::Value(value)).collect();

        let shader = match layer {
            Layer::Pool { is_max, window, counts_padding } => {
                Some(pool(before, after, *first, is_max, &window, counts_padding))
            }
            Layer::LocalResponse { size, alpha, beta, bias } => {
                Some(local_response(before, after, *first, size, [alpha, beta, bias]))
            }
            Layer::Slice { axis, start } => self.slice(id, axis, start),
            Layer::Unary(activation) => Some(shader(1, &[], &activation.function(), "y[t] = act(x0[t]);", elements)),
            Layer::Binary(operation) => Some(shader(2, &[], "", &format!("y[t] = x0[t] {operation} x1[t];"), elements)),
            Layer::Softmax => {
                let row = *after.inner.last().unwrap_or(&after.channels);
                Some(shader(1, &[("ROW", row)], "", SOFTMAX, elements / row.max(1)))
            }
            Layer::ScaleShift { scale, shift } => {
                reads.push(Read::Constant(format!("scales of {key}"), self.own_channels(scale)));
                reads.push(Read::Constant(format!("shifts of {key}"), self.own_channels(shift)));
                Some(scale_shift(after))
            }
            Layer::Constant { operation, constant, is_left } => {
                let is_one_for_all = constant.len() == 1;
                let constant = if is_one_for_all { constant } else { self.own_channels(constant) };
                reads.push(Read::Constant(format!("constant of {key}"), constant));
                Some(with_constant(operation, is_one_for_all, is_left, after))
            }
            // The others have plans of their own.
            Layer::Relabel | Layer::Concat { .. } | Layer::Convolution { .. } | Layer::Product { .. } => None,
        };

        Kernel { operators: vec![id], shader, reads, output }
    }

    /// The dimensions of a value as this segment sees it: what a part makes has the part's channels.
    fn extent(&self, value: ValueId) -> Option<Extent> {
        let graph = self.model.graph();
        let dimensions: Vec<u64> =
            graph.value(value).shape.as_ref()?.dimensions().iter().map(|&size| size as u64).collect();
        let is_part = graph.producer(value).is_some_and(|producer| self.segment.operators.contains(&producer));
        let part = self.segment.channels().filter(|_| is_part);

        let whole = dimensions.get(1).copied().unwrap_or(1);
        Some(Extent {
            batch: dimensions.first().copied().unwrap_or(1),
            channels: part.map_or(whole, |channels| channels.len() as u64),
            inner: dimensions.get(2..).unwrap_or_default().to_vec(),
        })
    }

    /// Of constants by channel, those of the part.
    fn own_channels(&self, constants: Vec<f32>) -> Vec<f32> {
        let kept = self.segment.channels().and_then(|channels| constants.get(channels.clone()));
        kept.map(<[f32]>::to_vec).unwrap_or(constants)
    }

    /// Shape, weights and biases of a convolution or of a matrix product.
    fn convolution(
        &self,
        id: OperatorId,
        layer: &Layer,
        sizes: &Sizes,
    ) -> Result<(ConvolutionShape, Vec<f32>, Vec<f32>), String> {
        let operator = self.model.graph().operator(id);
        match (layer, &operator.kind) {
            (Layer::Convolution { padding, weight, bias }, OperatorKind::Convolution(convolution)) => {
                let weights = floats(&self.part(self.stored(weight)?, 0))?;
                Ok((convolution_shape(convolution, *padding, sizes), weights, self.biases(bias.as_deref(), sizes)?))
            }
            (Layer::Product { weight, bias, is_transposed }, _) => {
                let weights = self.columns(weight, *is_transposed)?;
                Ok((product_shape(sizes), weights, self.biases(bias.as_deref(), sizes)?))
            }
            _ => Err(format!("'{}' is no convolution", operator.name)),
        }
    }

    fn stored(&self, name: &str) -> Result<&Weight, String> {
        self.model.weights().get(name).ok_or_else(|| format!("there is no weight '{name}'"))
    }

    /// Of a weight, what the segment's channels read, which lie along this dimension.
    fn part(&self, weight: &Weight, axis: usize) -> Weight {
        match self.segment.channels() {
            Some(channels) => weight.slice(axis, channels),
            None => weight.clone(),
        }
    }

    fn biases(&self, name: Option<&str>, sizes: &Sizes) -> Result<Vec<f32>, String> {
        match name {
            Some(name) => Ok(self.own_channels(floats(self.stored(name)?)?)),
            None => Ok(vec![0.0; sizes.after.channels as usize]),
        }
    }

    /// The columns of a weight matrix one after the other.
    fn columns(&self, name: &str, is_transposed: bool) -> Result<Vec<f32>, String> {
        let matrix = self.part(self.stored(name)?, usize::from(!is_transposed));
        let elements = floats(&matrix)?;
        match matrix.shape.dimensions() {
            &[inner, columns] if !is_transposed => {
                let at = |index: usize| elements[index % inner * columns + index / inner];
                Ok((0..inner * columns).map(at).collect())
            }
            _ => Ok(elements),
        }
    }

    /// A normalisation and an activation that follow an operator alone, and run with it.
    fn fused(&self, id: OperatorId, rest: &[OperatorId]) -> Fused {
        let graph = self.model.graph();
        let mut fused =
            Fused { operators: Vec::new(), scale_shift: None, activation: Activation::none(), output: None };
        let mut last = id;
        for &next in &rest[1..] {
            let alone = match graph.operator(last).outputs.as_slice() {
                [value] => graph.readers(*value) == [next] && !graph.outputs().contains(value),
                _ => false,
            };
            if !alone {
                break;
            }
            match layer(self.model, next) {
                Some(Layer::ScaleShift { scale, shift }) if fused.operators.is_empty() => {
                    fused.scale_shift = Some((self.own_channels(scale), self.own_channels(shift)));
                }
                Some(Layer::Unary(activation)) => fused.activation = activation,
                _ => break,
            }
            fused.operators.push(next);
            fused.output = graph.operator(next).outputs.first().copied();
            last = next;
            if fused.activation != Activation::none() {
                break;
            }
        }
        fused
    }

    /// Copies neighbouring positions along a dimension.
    fn slice(&self, id: OperatorId, axis: usize, start: usize) -> Option<Shader> {
        let graph = self.model.graph();
        let operator = graph.operator(id);
        let dimensions = |value: ValueId| graph.value(value).shape.as_ref().map(|shape| shape.dimensions());
        let (before, after) = (dimensions(*operator.inputs.first()?)?, dimensions(*operator.outputs.first()?)?);
        let inner: usize = before.get(axis + 1..)?.iter().product();
        let constants = [
            ("ROW", (before[axis] * inner) as u64),
            ("OWN", (after[axis] * inner) as u64),
            ("FROM", (start * inner) as u64),
        ];
        let elements = after.iter().product::<usize>() as u64;
        Some(shader(1, &constants, "", "y[t] = x0[t / OWN * ROW + FROM + t % OWN];", elements))
    }

    /// One copying dispatch per input; the last one stands for the operator.
    fn concat(&mut self, id: OperatorId, axis: usize) -> Option<()> {
        let graph = self.model.graph();
        let operator = graph.operator(id);
        let output = *operator.outputs.first()?;
        let dimensions = |value: ValueId| graph.value(value).shape.as_ref().map(|shape| shape.dimensions().to_vec());
        let whole = dimensions(output)?;
        let inner: usize = whole[axis + 1..].iter().product();
        let row = (whole[axis] * inner) as u64;
        let mut offset = 0;
        for (position, &input) in operator.inputs.iter().enumerate() {
            let input_dimensions = dimensions(input)?;
            let input_row = (input_dimensions[axis] * inner) as u64;
            let count = input_dimensions.iter().product::<usize>() as u64;
            let constants = [("ROW", row), ("OWN", input_row), ("FROM", offset)];
            let body = "y[t / OWN * ROW + FROM + t % OWN] = x0[t];";
            let is_last = position + 1 == operator.inputs.len();
            self.dispatches.push(Dispatch {
                operators: if is_last { vec![id] } else { Vec::new() },
                shader: Some(shader(1, &constants, "", body, count)),
                reads: vec![Read::Value(input)],
                output,
                elements: whole.iter().product::<usize>() as u64,
            });
            offset += input_row;
        }
        Some(())
    }
}

/// What runs in the same shader as a convolution.
struct Fused {
    operators: Vec<OperatorId>,
    scale_shift: Option<(Vec<f32>, Vec<f32>)>,
    activation: Activation,
    output: Option<ValueId>,
}

impl Fused {
    /// Weights and biases with the normalisation in them.
    fn folded(&self, mut weights: Vec<f32>, mut bias: Vec<f32>, channels: u64) -> (Vec<f32>, Vec<f32>) {
        if let Some((scale, shift)) = &self.scale_shift {
            let per_channel = weights.len() / (channels as usize).max(1);
            for (filter, scale) in weights.chunks_mut(per_channel.max(1)).zip(scale) {
                filter.iter_mut().for_each(|weight| *weight *= scale);
            }
            for ((bias, scale), shift) in bias.iter_mut().zip(scale).zip(shift) {
                *bias = *bias * scale + shift;
            }
        }
        (weights, bias)
    }
}

fn floats(weight: &Weight) -> Result<Vec<f32>, String> {
    weight.floats().ok_or_else(|| "weights that are not f32".to_owned())
}

fn convolution_shape(convolution: &Convolution, padding: [u64; 2], sizes: &Sizes) -> ConvolutionShape {
    let Sizes { before, after, first } = sizes;
    let two = |values: &[usize]| [0, 1].map(|index| values.get(index).map_or(1, |&size| size as u64));
    let (all_groups, all_outputs) = (convolution.groups as u64, convolution.output_channels as u64);
    let per_group = all_outputs / all_groups;
    let groups = if all_groups > 1 { after.channels / per_group } else { 1 };
    let inputs_per_group = convolution.input_channels as u64 / all_groups;
    // The input of a head is whole; that of a depthwise follower has the part's channels only.
    let inputs_before = if all_groups > 1 { first / per_group * inputs_per_group } else { 0 };

    ConvolutionShape {
        batch: before.batch,
        input_channels: before.channels,
        inputs_before,
        input: before.pair(),
        output_channels: after.channels,
        output: after.pair(),
        groups,
        kernel: two(&convolution.kernel),
        strides: two(&convolution.strides),
        padding,
        dilations: two(&convolution.dilations),
        read_channels: groups * inputs_per_group,
    }
}

/// A matrix product is a convolution of one pixel.
fn product_shape(sizes: &Sizes) -> ConvolutionShape {
    ConvolutionShape {
        batch: sizes.before.batch,
        input_channels: sizes.before.channels,
        inputs_before: 0,
        input: [1; 2],
        output_channels: sizes.after.channels,
        output: [1; 2],
        groups: 1,
        kernel: [1; 2],
        strides: [1; 2],
        padding: [0; 2],
        dilations: [1; 2],
        read_channels: sizes.before.channels,
    }
}
