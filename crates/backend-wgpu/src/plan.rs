//! From a segment to the shaders that run it.

use millstream_backend::Segment;
use millstream_graph::{OperatorId, OperatorKind, ValueId};
use millstream_onnx::{Model, Weight};

use crate::convolution::ConvolutionShape;
use crate::layer::{Layer, layer};
use crate::part::check_part;
use crate::shaders::{Activation, Shader, shader};
use crate::windows::{SOFTMAX, local_response, pool};
use crate::{ThreadWork, WorkChoice};

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
    pub(crate) fn new(model: &Model, segment: &Segment, choice: &WorkChoice) -> Result<Self, String> {
        check_part(model, segment)?;
        let mut planner = Planner { model, segment, choice, dispatches: Vec::new() };
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
    choice: &'a WorkChoice,
    dispatches: Vec<Dispatch>,
}

/// Batch, channels, and everything within a channel.
pub(crate) type Extent = (u64, u64, Vec<u64>);

impl Planner<'_> {
    /// Plans the first of the operators and those after it that run with it; returns how many.
    fn plan(&mut self, id: OperatorId, rest: &[OperatorId]) -> Result<usize, String> {
        let graph = self.model.graph();
        let operator = graph.operator(id);
        let unsupported =
            || format!("the operator '{}' ({}) does not run on this device", operator.name, operator.op_type);
        let layer = layer(self.model, id).ok_or_else(unsupported)?;
        let is_divided = self.segment.channels().is_some() && self.segment.operators.first() == Some(&id);
        let input = *operator.inputs.first().ok_or_else(unsupported)?;
        let output = *operator.outputs.first().ok_or_else(unsupported)?;
        let before = self.extent(input).ok_or_else(unsupported)?;
        let after = self.extent(output).ok_or_else(unsupported)?;
        let first = self.segment.channels().filter(|_| is_divided).map_or(0, |channels| channels.start as u64);
        let elements = after.0 * after.1 * after.2.iter().product::<u64>();
        let mut operators = vec![id];
        let mut last = output;
        let mut reads: Vec<Read> = operator.inputs.iter().map(|&value| Read::Value(value)).collect();
        let shader = match layer {
            Layer::Relabel => None,
            Layer::Convolution { .. } | Layer::Product { .. } => {
                let fused = self.fused(id, rest);
                operators.extend(&fused.operators);
                last = fused.output.unwrap_or(output);
                let (shape, weights, bias) = self.convolution(id, &layer, &before, &after, first)?;
                let (weights, bias) = fused.folded(weights, bias, shape.output_channels);
                let key = format!("{} {:?} {}", operator.name, self.segment.portion, fused.operators.len());
                reads.push(Read::Constant(format!("weights of {key}"), weights));
                reads.push(Read::Constant(format!("biases of {key}"), bias));
                let work: ThreadWork = self.choice.of(operator.work.macs);
                Some(shape.shader(work, &fused.activation))
            }
            Layer::Pool { is_max, window, counts_padding } => {
                Some(pool(&before, &after, first, is_max, &window, counts_padding))
            }
            Layer::LocalResponse { size, alpha, beta, bias } => {
                Some(local_response(&before, &after, first, size, [alpha, beta, bias]))
            }
            Layer::Unary(activation) => Some(shader(1, &[], &activation.function(), "y[t] = act(x0[t]);", elements)),
            Layer::ScaleShift { scale, shift } => {
                let key = format!("{} {:?}", operator.name, self.segment.portion);
                reads.push(Read::Constant(format!("scales of {key}"), self.own_channels(scale)));
                reads.push(Read::Constant(format!("shifts of {key}"), self.own_channels(shift)));
                let inner = after.2.iter().product();
                let body = "let c = t / INNER % C; y[t] = x0[t] * x1[c] + x2[c];";
                Some(shader(3, &[("INNER", inner), ("C", after.1)], "", body, elements))
            }
            Layer::Binary(operation) => Some(shader(2, &[], "", &format!("y[t] = x0[t] {operation} x1[t];"), elements)),
            Layer::Constant { operation, constant, is_left } => {
                let is_one = constant.len() == 1;
                let constant = if is_one { constant } else { self.own_channels(constant) };
                let key = format!("{} {:?}", operator.name, self.segment.portion);
                reads.push(Read::Constant(format!("constant of {key}"), constant));
                let place = if is_one { "0u" } else { "t / INNER % C" };
                let (left, right) = ("x0[t]".to_owned(), format!("x1[{place}]"));
                let (left, right) = if is_left { (right, left) } else { (left, right) };
                let inner = after.2.iter().product();
                let body = format!("y[t] = {left} {operation} {right};");
                Some(shader(2, &[("INNER", inner), ("C", after.1)], "", &body, elements))
            }
            Layer::Concat { axis } => {
                self.concat(id, axis).ok_or_else(unsupported)?;
                return Ok(1);
            }
            Layer::Softmax => {
                let row = *after.2.last().unwrap_or(&after.1);
                Some(shader(1, &[("ROW", row)], "", SOFTMAX, elements / row.max(1)))
            }
        };
        let count = operators.len();
        self.dispatches.push(Dispatch { operators, shader, reads, output: last, elements });
        Ok(count)
    }

    /// The dimensions of a value as this segment sees it: what a part makes has the part's channels.
    fn extent(&self, value: ValueId) -> Option<Extent> {
        let graph = self.model.graph();
        let dimensions: Vec<u64> =
            graph.value(value).shape.as_ref()?.dimensions().iter().map(|&size| size as u64).collect();
        let is_part = graph.producer(value).is_some_and(|producer| self.segment.operators.contains(&producer));
        let channels = self.segment.channels().filter(|_| is_part);
        let own = dimensions.get(1).copied().unwrap_or(1);
        let batch = dimensions.first().copied().unwrap_or(1);
        let inner = dimensions.get(2..).unwrap_or_default().to_vec();
        Some((batch, channels.map_or(own, |channels| channels.len() as u64), inner))
    }

    /// Of constants by channel, those of the part.
    fn own_channels(&self, constants: Vec<f32>) -> Vec<f32> {
        let own = self.segment.channels().and_then(|channels| constants.get(channels.clone()));
        own.map(<[f32]>::to_vec).unwrap_or(constants)
    }

    /// Shape, weights and biases of a convolution or of a matrix product.
    fn convolution(
        &self,
        id: OperatorId,
        layer: &Layer,
        before: &Extent,
        after: &Extent,
        first: u64,
    ) -> Result<(ConvolutionShape, Vec<f32>, Vec<f32>), String> {
        let operator = self.model.graph().operator(id);
        let weight = |name: &str| self.model.weights().get(name).ok_or_else(|| format!("there is no weight '{name}'"));
        let floats = |weight: &Weight| weight.floats().ok_or_else(|| "weights that are not f32".to_owned());
        let part = |weight: &Weight, axis: usize| match self.segment.channels() {
            Some(channels) => weight.slice(axis, channels),
            None => weight.clone(),
        };
        let biases = |bias: &Option<String>| match bias {
            Some(name) => Ok(self.own_channels(floats(weight(name)?)?)),
            None => Ok::<_, String>(vec![0.0; after.1 as usize]),
        };
        match (layer, &operator.kind) {
            (Layer::Convolution { padding, weight: name, bias }, OperatorKind::Convolution(convolution)) => {
                let two = |values: &[usize]| [0, 1].map(|index| values.get(index).map_or(1, |&size| size as u64));
                let (all_groups, all_outputs) = (convolution.groups as u64, convolution.output_channels as u64);
                let per_group = all_outputs / all_groups;
                let groups = if all_groups > 1 { after.1 / per_group } else { 1 };
                let inputs_per_group = convolution.input_channels as u64 / all_groups;
                // The input of a head is whole; that of a depthwise follower has the part's channels only.
                let inputs_before = if all_groups > 1 { first / per_group * inputs_per_group } else { 0 };
                let shape = ConvolutionShape {
                    batch: before.0,
                    input_channels: before.1,
                    inputs_before,
                    input: pair(&before.2),
                    output_channels: after.1,
                    output: pair(&after.2),
                    groups,
                    kernel: two(&convolution.kernel),
                    strides: two(&convolution.strides),
                    padding: *padding,
                    dilations: two(&convolution.dilations),
                    read_channels: groups * inputs_per_group,
                };
                Ok((shape, floats(&part(weight(name)?, 0))?, biases(bias)?))
            }
            (Layer::Product { weight: name, bias, is_transposed }, _) => {
                let matrix = part(weight(name)?, usize::from(!is_transposed));
                let mut elements = floats(&matrix)?;
                if !is_transposed && let [inner, columns] = matrix.shape.dimensions() {
                    let at = |index: usize| elements[index % inner * columns + index / inner];
                    elements = (0..inner * columns).map(at).collect();
                }
                let shape = ConvolutionShape {
                    batch: before.0,
                    input_channels: before.1,
                    inputs_before: 0,
                    input: [1; 2],
                    output_channels: after.1,
                    output: [1; 2],
                    groups: 1,
                    kernel: [1; 2],
                    strides: [1; 2],
                    padding: [0; 2],
                    dilations: [1; 2],
                    read_channels: before.1,
                };
                Ok((shape, elements, biases(bias)?))
            }
            _ => Err(format!("'{}' is no convolution", operator.name)),
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
            let own = dimensions(input)?;
            let own_row = (own[axis] * inner) as u64;
            let count = own.iter().product::<usize>() as u64;
            let constants = [("ROW", row), ("OWN", own_row), ("FROM", offset)];
            let body = "y[t / OWN * ROW + FROM + t % OWN] = x0[t];";
            let is_last = position + 1 == operator.inputs.len();
            self.dispatches.push(Dispatch {
                operators: if is_last { vec![id] } else { Vec::new() },
                shader: Some(shader(1, &constants, "", body, count)),
                reads: vec![Read::Value(input)],
                output,
                elements: whole.iter().product::<usize>() as u64,
            });
            offset += own_row;
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

pub(crate) fn pair(inner: &[u64]) -> [u64; 2] {
    [0, 1].map(|index| inner.get(index).copied().unwrap_or(1))
}
