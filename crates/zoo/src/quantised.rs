//! Layers of networks quantised to 8 bits, written as runtimes take them: floats between `DequantizeLinear` and
//! `QuantizeLinear`.
//!
//! Activations are unsigned with one scale, weights signed with a scale per filter, sums 32 bits. Scales come from the
//! variance that He's initialisation gives, so that few values are cut off and all 8 bits are used.

use millstream_graph::DataType;
use millstream_onnx::{Attributes, Weight};

use crate::layers::{Activation, Conv, Layers, Map};

/// Standard deviations that a scale covers.
const COVERED: f32 = 4.0;

/// A quantised feature map.
#[derive(Debug, Clone)]
pub(crate) struct QuantisedMap {
    /// The integers.
    map: Map,
    scale: f32,
    zero_point: u8,
    /// Mean square of the real values.
    power: f32,
}

impl QuantisedMap {
    pub(crate) fn channels(&self) -> usize {
        self.map.channels
    }
}

/// A value quantised by the scale of its own elements.
#[derive(Debug, Clone)]
pub(crate) struct DynamicValue {
    integers: String,
    scale: String,
    zero: String,
}

/// What range the values of an output lie in.
#[derive(Debug, Clone, Copy)]
enum Range {
    /// From 0 to so much.
    Positive(f32),
    /// From minus so much to so much.
    Symmetric(f32),
}

impl Layers {
    /// Quantises a map whose values are between 0 and 1.
    pub(crate) fn quantised(&mut self, map: &Map) -> QuantisedMap {
        self.quantise(&map.name, map, Range::Positive(1.0), 1.0 / 3.0)
    }

    fn quantise(&mut self, name: &str, map: &Map, range: Range, power: f32) -> QuantisedMap {
        let (scale, zero_point) = match range {
            Range::Positive(most) => (most / 255.0, 0),
            Range::Symmetric(most) => (most / 127.5, 128),
        };
        let [scale_name, zero_name] = self.scale(scale, zero_point);
        let name = self.builder.node("QuantizeLinear", &[name, &scale_name, &zero_name]);
        QuantisedMap { map: Map { name, ..map.clone() }, scale, zero_point, power }
    }

    fn scale(&mut self, scale: f32, zero_point: u8) -> [String; 2] {
        let zero = Weight { data_type: DataType::U8, shape: Vec::new().into(), data: vec![zero_point].into() };
        [self.builder.weight("scale", &Weight::from_f32([], vec![scale])), self.builder.weight("zero", &zero)]
    }

    fn dequantised(&mut self, map: &QuantisedMap) -> String {
        let [scale, zero] = self.scale(map.scale, map.zero_point);
        self.builder.node("DequantizeLinear", &[&map.map.name, &scale, &zero])
    }

    /// Random weights, `[filters, ...]`, as 8-bit integers with a scale per filter, or one for all. Returns their name
    /// as floats and the scales.
    fn quantised_weights(&mut self, shape: &[usize], deviation: f32, is_per_filter: bool) -> (String, Vec<f32>) {
        let filters = shape.first().copied().unwrap_or(1);
        let per_filter = shape.iter().skip(1).product::<usize>();
        let limit = deviation * 3_f32.sqrt();
        let elements: Vec<f32> = (0..filters * per_filter).map(|_| self.uniform() * limit).collect();
        let largest = |values: &[f32]| values.iter().fold(f32::MIN_POSITIVE, |most: f32, value| most.max(value.abs()));
        let scales: Vec<f32> = if is_per_filter {
            elements.chunks(per_filter).map(|filter| largest(filter) / 127.0).collect()
        } else {
            vec![largest(&elements) / 127.0]
        };
        let integer = |(index, value): (usize, &f32)| {
            let scale = scales[if is_per_filter { index / per_filter } else { 0 }];
            (value / scale).round() as i8 as u8
        };
        let data: Vec<u8> = elements.iter().enumerate().map(integer).collect();
        let weight = Weight { data_type: DataType::I8, shape: shape.to_vec().into(), data: data.into() };
        let weight = self.builder.weight("filter", &weight);
        let scale_shape = if is_per_filter { vec![filters] } else { Vec::new() };
        let scale = self.builder.weight("scale", &Weight::from_f32(scale_shape.clone(), scales.clone()));
        let zeros = Weight { data_type: DataType::I8, shape: scale_shape.into(), data: vec![0; scales.len()].into() };
        let zeros = self.builder.weight("zero", &zeros);
        let attributes = Attributes::new().int("axis", 0);
        (self.builder.node_with("DequantizeLinear", &[&weight, &scale, &zeros], attributes), scales)
    }

    /// A bias as 32-bit integers in units of the sums.
    fn quantised_bias(&mut self, filters: usize, input_scale: f32, scales: &[f32]) -> String {
        let scales: Vec<f32> =
            (0..filters).map(|filter| input_scale * scales[if scales.len() == 1 { 0 } else { filter }]).collect();
        let values: Vec<f32> = (0..filters).map(|_| self.uniform() * 0.08).collect();
        let data: Vec<u8> = values
            .iter()
            .zip(&scales)
            .flat_map(|(value, scale)| ((value / scale).round() as i32).to_le_bytes())
            .collect();
        let bias = Weight { data_type: DataType::I32, shape: [filters].into(), data: data.into() };
        let bias = self.builder.weight("bias", &bias);
        let scale = self.builder.weight("scale", &Weight::from_f32([filters], scales));
        self.builder.node_with("DequantizeLinear", &[&bias, &scale], Attributes::new().int("axis", 0))
    }

    /// A convolution with bias and activation, quantised before and after.
    pub(crate) fn quantised_conv(&mut self, input: &QuantisedMap, conv: Conv) -> QuantisedMap {
        let fan_in = input.map.channels / conv.groups * conv.kernel[0] * conv.kernel[1];
        let gain: f32 = if conv.activation == Activation::None { 1.0 } else { 2.0 };
        let shape = [conv.filters, input.map.channels / conv.groups, conv.kernel[0], conv.kernel[1]];
        let data = self.dequantised(input);
        let (weight, scales) = self.quantised_weights(&shape, (gain / fan_in as f32).sqrt(), true);
        let bias = self.quantised_bias(conv.filters, input.scale, &scales);
        let name = self.builder.node_with("Conv", &[&data, &weight, &bias], conv.attributes());
        let name = self.activate(&name, conv.activation);
        let map = Map { name: name.clone(), ..conv.output(&input.map) };
        self.quantise(&name, &map, activated(gain * input.power, conv.activation), input.power)
    }

    /// Maximum over a window: of the integers as of the numbers that they stand for.
    pub(crate) fn quantised_max_pool(
        &mut self,
        input: &QuantisedMap,
        kernel: usize,
        stride: usize,
        padding: usize,
    ) -> QuantisedMap {
        let data = self.dequantised(input);
        let pooled = self.max_pool(&Map { name: data, ..input.map.clone() }, kernel, stride, padding);
        self.requantised(&pooled, input)
    }

    /// The mean of each channel.
    pub(crate) fn quantised_global_average_pool(&mut self, input: &QuantisedMap) -> QuantisedMap {
        let data = self.dequantised(input);
        let pooled = self.global_average_pool(&Map { name: data, ..input.map.clone() });
        self.requantised(&pooled, input)
    }

    /// A map in the scale of another.
    fn requantised(&mut self, map: &Map, like: &QuantisedMap) -> QuantisedMap {
        let [scale, zero] = self.scale(like.scale, like.zero_point);
        let name = self.builder.node("QuantizeLinear", &[&map.name, &scale, &zero]);
        QuantisedMap { map: Map { name, ..map.clone() }, ..like.clone() }
    }

    /// The sum of two maps, with an activation.
    pub(crate) fn quantised_add(
        &mut self,
        left: &QuantisedMap,
        right: &QuantisedMap,
        activation: Activation,
    ) -> QuantisedMap {
        let (first, second) = (self.dequantised(left), self.dequantised(right));
        let sum = self.builder.node("Add", &[&first, &second]);
        let name = self.activate(&sum, activation);
        let power = left.power + right.power;
        self.quantise(&name, &left.map, activated(power, activation), power)
    }

    /// A classifier on the mean of each channel.
    pub(crate) fn quantised_classifier(&mut self, input: &QuantisedMap, classes: usize) -> Map {
        let pooled = self.quantised_global_average_pool(input);
        let data = self.dequantised(&pooled);
        let flat = self.flatten(&Map { name: data, ..pooled.map.clone() });
        let flat = self.requantised(&flat, &pooled);
        let data = self.dequantised(&flat);
        let deviation = (1.0 / flat.map.channels as f32).sqrt();
        let (weight, scales) = self.quantised_weights(&[classes, flat.map.channels], deviation, false);
        let bias = self.quantised_bias(classes, flat.scale, &scales);
        let name = self.builder.node_with("Gemm", &[&data, &weight, &bias], Attributes::new().int("transB", 1));
        let map = Map { name: name.clone(), channels: classes, size: [1, 1] };
        let scores = self.quantise(&name, &map, Range::Symmetric(COVERED * flat.power.sqrt()), flat.power);
        let data = self.dequantised(&scores);
        self.softmax(&Map { name: data, ..map })
    }

    /// Quantises a value by the scale of its own elements (1 operator).
    pub(crate) fn dynamic_quantised(&mut self, input: &str) -> DynamicValue {
        let [integers, scale, zero] = self.builder.node_with_outputs("DynamicQuantizeLinear", &[input]);
        DynamicValue { integers, scale, zero }
    }

    /// Every token times a matrix, and a bias, as `onnxruntime.quantization` writes it (5 operators).
    pub(crate) fn dynamic_product(&mut self, input: &DynamicValue, width: usize, units: usize) -> String {
        let limit = 3_f32.sqrt() / (width as f32).sqrt();
        let weight = self.integer_weights("matrix", &[width, units]);
        let weight_zero = Weight { data_type: DataType::I8, shape: Vec::new().into(), data: vec![0].into() };
        let weight_zero = self.builder.weight("zero", &weight_zero);
        let sums = self.builder.node("MatMulInteger", &[&input.integers, &weight, &input.zero, &weight_zero]);
        let product = self.scaled_sums(&sums, input, limit);
        let bias = self.draw("bias", vec![units], 0.05);
        self.builder.node("Add", &[&product, &bias])
    }

    /// Random weights that use all 8 bits; what they stand for is up to a scale.
    fn integer_weights(&mut self, hint: &str, shape: &[usize]) -> String {
        let count: usize = shape.iter().product();
        let data: Vec<u8> = (0..count).map(|_| (self.uniform() * 127.0).round() as i8 as u8).collect();
        self.builder.weight(hint, &Weight { data_type: DataType::I8, shape: shape.to_vec().into(), data: data.into() })
    }

    /// Sums of integers as floats, where the largest weight stands for `limit`.
    fn scaled_sums(&mut self, sums: &str, input: &DynamicValue, limit: f32) -> String {
        let floats = self.builder.node_with("Cast", &[sums], Attributes::new().int("to", 1));
        let weight_scale = self.builder.weight("scale", &Weight::from_f32([], vec![limit / 127.0]));
        let together = self.builder.node("Mul", &[&input.scale, &weight_scale]);
        self.builder.node("Mul", &[&floats, &together])
    }

    /// A convolution of integers by the scale of their own values, and back to floats.
    pub(crate) fn dynamic_conv(&mut self, input: &Map, conv: Conv) -> Map {
        let value = self.dynamic_quantised(&input.name);
        let shape = [conv.filters, input.channels / conv.groups, conv.kernel[0], conv.kernel[1]];
        let fan_in = shape.iter().skip(1).product::<usize>();
        let weight = self.integer_weights("filter", &shape);
        let sums = self.builder.node_with("ConvInteger", &[&value.integers, &weight, &value.zero], conv.attributes());
        let name = self.scaled_sums(&sums, &value, (6.0 / fan_in as f32).sqrt());
        Map { name: self.activate(&name, conv.activation), ..conv.output(input) }
    }

    /// A matrix product of two quantised maps, each position's channels times a matrix.
    pub(crate) fn quantised_product(&mut self, input: &QuantisedMap, units: usize) -> QuantisedMap {
        let positions = input.map.size[0] * input.map.size[1];
        let data = self.dequantised(input);
        let flat = self.reshape(&data, &[1, input.map.channels as i64, positions as i64]);
        let flat = self.requantised(&Map { name: flat, ..input.map.clone() }, input);
        let data = self.dequantised(&flat);
        let (weight, _) =
            self.quantised_weights(&[units, input.map.channels], (1.0 / input.map.channels as f32).sqrt(), false);
        let name = self.builder.node("MatMul", &[&weight, &data]);
        let map = Map { name: name.clone(), channels: units, ..input.map.clone() };
        let product = self.quantise(&name, &map, Range::Symmetric(COVERED * input.power.sqrt()), input.power);
        let data = self.dequantised(&product);
        let back = self.reshape(&data, &[1, units as i64, input.map.size[0] as i64, input.map.size[1] as i64]);
        self.requantised(&Map { name: back, ..map }, &product)
    }
}

/// The range of values of this variance after an activation.
fn activated(variance: f32, activation: Activation) -> Range {
    let most = COVERED * variance.sqrt();
    match activation {
        Activation::Relu => Range::Positive(most),
        Activation::Relu6 => Range::Positive(most.min(6.0)),
        Activation::None | Activation::LeakyRelu => Range::Symmetric(most),
    }
}
