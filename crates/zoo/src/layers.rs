//! The layers that the networks are made of.

use millstream_onnx::{Attributes, Model, ModelBuilder, OnnxError, ReadOptions, Weight};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::uniform::uniform;

/// What follows a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activation {
    None,
    Relu,
    Relu6,
    /// Slope 0.1, as in Darknet.
    LeakyRelu,
}

/// A convolution with what the networks vary of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Conv {
    pub(crate) filters: usize,
    pub(crate) kernel: [usize; 2],
    pub(crate) stride: usize,
    pub(crate) padding: [usize; 2],
    pub(crate) groups: usize,
    pub(crate) batch_norm: bool,
    pub(crate) activation: Activation,
}

impl Conv {
    /// Square kernel, stride 1, padding that keeps the size, bias and ReLU.
    pub(crate) fn new(filters: usize, kernel: usize) -> Self {
        Self {
            filters,
            kernel: [kernel; 2],
            stride: 1,
            padding: [kernel / 2; 2],
            groups: 1,
            batch_norm: false,
            activation: Activation::Relu,
        }
    }

    pub(crate) fn kernel(self, height: usize, width: usize) -> Self {
        Self { kernel: [height, width], padding: [height / 2, width / 2], ..self }
    }

    pub(crate) fn stride(self, stride: usize) -> Self {
        Self { stride, ..self }
    }

    pub(crate) fn padding(self, padding: usize) -> Self {
        Self { padding: [padding; 2], ..self }
    }

    pub(crate) fn groups(self, groups: usize) -> Self {
        Self { groups, ..self }
    }

    pub(crate) fn batch_norm(self) -> Self {
        Self { batch_norm: true, ..self }
    }

    pub(crate) fn activation(self, activation: Activation) -> Self {
        Self { activation, ..self }
    }

    /// The node's attributes.
    pub(crate) fn attributes(&self) -> Attributes {
        let pads = self.padding.map(|padding| padding as i64);
        Attributes::new()
            .ints("kernel_shape", &self.kernel.map(|size| size as i64))
            .ints("strides", &[self.stride as i64; 2])
            .ints("pads", &[pads[0], pads[1], pads[0], pads[1]])
            .int("group", self.groups as i64)
    }

    /// The map that it makes of another one, still without a name of its own.
    pub(crate) fn output(&self, input: &Map) -> Map {
        let size = [0, 1].map(|axis| (input.size[axis] + 2 * self.padding[axis] - self.kernel[axis]) / self.stride + 1);
        Map { name: input.name.clone(), channels: self.filters, size }
    }
}

/// A feature map: the value's name, its channels, and its height and width.
#[derive(Debug, Clone)]
pub(crate) struct Map {
    pub(crate) name: String,
    pub(crate) channels: usize,
    pub(crate) size: [usize; 2],
}

/// Adds layers to a model and draws their weights.
pub(crate) struct Layers {
    pub(crate) builder: ModelBuilder,
    random: ChaCha8Rng,
}

impl Layers {
    pub(crate) fn new(name: &str) -> Self {
        let seed = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        Self { builder: ModelBuilder::new(name), random: ChaCha8Rng::seed_from_u64(seed) }
    }

    pub(crate) fn finish(self) -> Result<Model, OnnxError> {
        self.builder.build()
    }

    pub(crate) fn finish_with(self, options: &ReadOptions) -> Result<Model, OnnxError> {
        self.builder.build_with(options)
    }

    pub(crate) fn image(&mut self, channels: usize, size: usize) -> Map {
        let name = self.builder.input("image", [1, channels, size, size]);
        Map { name, channels, size: [size; 2] }
    }

    pub(crate) fn output(&mut self, map: &Map) {
        self.builder.output(&map.name);
    }

    /// Uniform with the given standard deviation: cheaper to draw than a normal distribution and as good here.
    pub(crate) fn draw(&mut self, hint: &str, shape: Vec<usize>, deviation: f32) -> String {
        let count: usize = shape.iter().product();
        let limit = deviation * 3_f32.sqrt();
        let elements = uniform(&mut self.random, count, limit);
        self.builder.weight(hint, &Weight::from_f32(shape, elements))
    }

    /// A number from -1 to 1.
    pub(crate) fn uniform(&mut self) -> f32 {
        self.random.random::<f32>() * 2.0 - 1.0
    }

    pub(crate) fn constant(&mut self, hint: &str, channels: usize, value: f32) -> String {
        self.builder.weight(hint, &Weight::from_f32([channels], vec![value; channels]))
    }

    pub(crate) fn conv(&mut self, input: &Map, conv: Conv) -> Map {
        let fan_in = input.channels / conv.groups * conv.kernel[0] * conv.kernel[1];
        let gain: f32 = if conv.activation == Activation::None { 1.0 } else { 2.0 };
        let shape = vec![conv.filters, input.channels / conv.groups, conv.kernel[0], conv.kernel[1]];
        let weight = self.draw("filter", shape, (gain / fan_in as f32).sqrt());
        let attributes = conv.attributes();
        let mut name = if conv.batch_norm {
            self.builder.node_with("Conv", &[&input.name, &weight], attributes)
        } else {
            let bias = self.draw("bias", vec![conv.filters], 0.05);
            self.builder.node_with("Conv", &[&input.name, &weight, &bias], attributes)
        };
        if conv.batch_norm {
            name = self.batch_norm(&name, conv.filters);
        }
        name = self.activate(&name, conv.activation);
        Map { name, ..conv.output(input) }
    }

    fn batch_norm(&mut self, input: &str, channels: usize) -> String {
        let scale = self.constant("scale", channels, 1.0);
        let shift = self.draw("shift", vec![channels], 0.05);
        let mean = self.draw("mean", vec![channels], 0.05);
        let variance = self.constant("variance", channels, 1.0);
        self.builder.node("BatchNormalization", &[input, &scale, &shift, &mean, &variance])
    }

    pub(crate) fn activate(&mut self, input: &str, activation: Activation) -> String {
        match activation {
            Activation::None => input.to_owned(),
            Activation::Relu => self.builder.node("Relu", &[input]),
            Activation::LeakyRelu => {
                self.builder.node_with("LeakyRelu", &[input], Attributes::new().float("alpha", 0.1))
            }
            Activation::Relu6 => {
                let limits = [0.0, 6.0].map(|limit| self.builder.weight("limit", &Weight::from_f32([], vec![limit])));
                self.builder.node("Clip", &[input, &limits[0], &limits[1]])
            }
        }
    }

    pub(crate) fn relu(&mut self, input: &Map) -> Map {
        Map { name: self.builder.node("Relu", &[&input.name]), ..input.clone() }
    }

    pub(crate) fn max_pool(&mut self, input: &Map, kernel: usize, stride: usize, padding: usize) -> Map {
        self.pool("MaxPool", input, kernel, stride, padding, false)
    }

    /// As [`Self::max_pool`], with the size rounded up, as Caffe does it.
    pub(crate) fn max_pool_ceil(&mut self, input: &Map, kernel: usize, stride: usize) -> Map {
        self.pool("MaxPool", input, kernel, stride, 0, true)
    }

    pub(crate) fn average_pool(&mut self, input: &Map, kernel: usize, stride: usize, padding: usize) -> Map {
        self.pool("AveragePool", input, kernel, stride, padding, false)
    }

    fn pool(&mut self, kind: &str, input: &Map, kernel: usize, stride: usize, padding: usize, ceil: bool) -> Map {
        let attributes = Attributes::new()
            .ints("kernel_shape", &[kernel as i64; 2])
            .ints("strides", &[stride as i64; 2])
            .ints("pads", &[padding as i64; 4])
            .int("ceil_mode", i64::from(ceil));
        let name = self.builder.node_with(kind, &[&input.name], attributes);
        let size = input.size.map(|size| {
            let span = size + 2 * padding - kernel;
            (if ceil { span.div_ceil(stride) } else { span / stride }) + 1
        });
        Map { name, channels: input.channels, size }
    }

    pub(crate) fn global_average_pool(&mut self, input: &Map) -> Map {
        let name = self.builder.node("GlobalAveragePool", &[&input.name]);
        Map { name, channels: input.channels, size: [1, 1] }
    }

    /// Local response normalisation over five channels (AlexNet, GoogLeNet).
    pub(crate) fn response_norm(&mut self, input: &Map) -> Map {
        let attributes = Attributes::new().int("size", 5).float("alpha", 1e-4).float("beta", 0.75);
        Map { name: self.builder.node_with("LRN", &[&input.name], attributes), ..input.clone() }
    }

    pub(crate) fn concat(&mut self, inputs: &[Map]) -> Map {
        let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
        let name = self.builder.node_with("Concat", &names, Attributes::new().int("axis", 1));
        let size = inputs.first().map_or([0, 0], |input| input.size);
        Map { name, channels: inputs.iter().map(|input| input.channels).sum(), size }
    }

    /// The sum of two maps, scaled so that its variance does not grow with the depth of a residual network.
    pub(crate) fn add(&mut self, left: &Map, right: &Map) -> Map {
        Map { name: self.builder.node("Add", &[&left.name, &right.name]), ..left.clone() }
    }

    pub(crate) fn upsample(&mut self, input: &Map) -> Map {
        let scales = self.builder.weight("scales", &Weight::from_f32([4], vec![1.0, 1.0, 2.0, 2.0]));
        let attributes = Attributes::new()
            .text("mode", "nearest")
            .text("coordinate_transformation_mode", "asymmetric")
            .text("nearest_mode", "floor");
        let name = self.builder.node_with("Resize", &[&input.name, "", &scales], attributes);
        Map { name, channels: input.channels, size: input.size.map(|size| 2 * size) }
    }

    pub(crate) fn flatten(&mut self, input: &Map) -> Map {
        let channels = input.channels * input.size[0] * input.size[1];
        Map { name: self.builder.node("Flatten", &[&input.name]), channels, size: [1, 1] }
    }

    pub(crate) fn fully_connected(&mut self, input: &Map, units: usize, activation: Activation) -> Map {
        let gain: f32 = if activation == Activation::None { 1.0 } else { 2.0 };
        let weight = self.draw("matrix", vec![units, input.channels], (gain / input.channels as f32).sqrt());
        let bias = self.draw("bias", vec![units], 0.05);
        let attributes = Attributes::new().int("transB", 1);
        let name = self.builder.node_with("Gemm", &[&input.name, &weight, &bias], attributes);
        let name = self.activate(&name, activation);
        Map { name, channels: units, size: [1, 1] }
    }

    /// The map times its own sigmoid.
    pub(crate) fn swish(&mut self, input: &Map) -> Map {
        let gate = self.builder.node("Sigmoid", &[&input.name]);
        Map { name: self.builder.node("Mul", &[&input.name, &gate]), ..input.clone() }
    }

    /// Batch normalisation and ReLU that follow no convolution.
    pub(crate) fn batch_norm_relu(&mut self, input: &Map) -> Map {
        let name = self.batch_norm(&input.name, input.channels);
        Map { name: self.builder.node("Relu", &[&name]), ..input.clone() }
    }

    /// Multi-head self-attention over the positions of a map, with layer normalisation before and a residual around it.
    pub(crate) fn attention(&mut self, input: &Map, heads: usize) -> Map {
        let (channels, tokens) = (input.channels, input.size[0] * input.size[1]);
        let sizes = |sizes: &[usize]| sizes.iter().map(|&size| size as i64).collect::<Vec<i64>>();
        let flat = self.reshape(&input.name, &sizes(&[1, channels, tokens]));
        let sequence = self.transpose(&flat, &[0, 2, 1]);
        let (scale, shift) = (self.constant("scale", channels, 1.0), self.constant("shift", channels, 0.0));
        let attributes = Attributes::new().int("axis", -1).float("epsilon", 1e-5);
        let normal = self.builder.node_with("LayerNormalization", &[&sequence, &scale, &shift], attributes);
        let deviation = (channels as f32).sqrt().recip();
        let project = |layers: &mut Self, source: &str, order: &[i64]| {
            let matrix = layers.draw("projection", vec![channels, channels], deviation);
            let projected = layers.builder.node("MatMul", &[source, &matrix]);
            let split = layers.reshape(&projected, &sizes(&[1, tokens, heads, channels / heads]));
            layers.transpose(&split, order)
        };

        let query = project(self, &normal, &[0, 2, 1, 3]);
        let key = project(self, &normal, &[0, 2, 3, 1]);
        let value = project(self, &normal, &[0, 2, 1, 3]);
        let scores = self.builder.node("MatMul", &[&query, &key]);
        let factor =
            self.builder.weight("factor", &Weight::from_f32([], vec![((channels / heads) as f32).sqrt().recip()]));
        let scaled = self.builder.node("Mul", &[&scores, &factor]);
        let weights = self.builder.node_with("Softmax", &[&scaled], Attributes::new().int("axis", -1));
        let mixed = self.builder.node("MatMul", &[&weights, &value]);
        let joined = self.transpose(&mixed, &[0, 2, 1, 3]);
        let joined = self.reshape(&joined, &sizes(&[1, tokens, channels]));
        let matrix = self.draw("projection", vec![channels, channels], deviation);
        let projected = self.builder.node("MatMul", &[&joined, &matrix]);
        let sum = self.builder.node("Add", &[&sequence, &projected]);
        let back = self.transpose(&sum, &[0, 2, 1]);
        let name = self.reshape(&back, &sizes(&[1, channels, input.size[0], input.size[1]]));
        Map { name, ..input.clone() }
    }

    pub(crate) fn reshape(&mut self, input: &str, shape: &[i64]) -> String {
        let shape = self.builder.weight("shape", &Weight::from_i64([shape.len()], shape));
        self.builder.node("Reshape", &[input, &shape])
    }

    pub(crate) fn transpose(&mut self, input: &str, order: &[i64]) -> String {
        self.builder.node_with("Transpose", &[input], Attributes::new().ints("perm", order))
    }

    pub(crate) fn softmax(&mut self, input: &Map) -> Map {
        Map {
            name: self.builder.node_with("Softmax", &[&input.name], Attributes::new().int("axis", 1)),
            ..input.clone()
        }
    }
}
