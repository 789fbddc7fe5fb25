//! Direct convolution with thread granularity.

use std::fmt::Write;

use crate::shaders::{Activation, Shader, shader};
use crate::work::{Policy, ThreadWork};

/// A two-dimensional convolution; `inputs_before` channels of the input come before those that it reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConvolutionShape {
    pub(crate) batch: u64,
    pub(crate) input_channels: u64,
    pub(crate) inputs_before: u64,
    pub(crate) input: [u64; 2],
    pub(crate) output_channels: u64,
    pub(crate) output: [u64; 2],
    pub(crate) groups: u64,
    pub(crate) kernel: [u64; 2],
    pub(crate) strides: [u64; 2],
    pub(crate) padding: [u64; 2],
    pub(crate) dilations: [u64; 2],
    /// Channels that the groups read in all.
    pub(crate) read_channels: u64,
}

impl ConvolutionShape {
    fn constants(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("C", self.input_channels),
            ("C0", self.inputs_before),
            ("H", self.input[0]),
            ("W", self.input[1]),
            ("OC", self.output_channels),
            ("OH", self.output[0]),
            ("OW", self.output[1]),
            ("CPG", self.read_channels / self.groups),
            ("OPG", self.output_channels / self.groups),
            ("KH", self.kernel[0]),
            ("KW", self.kernel[1]),
            ("SH", self.strides[0]),
            ("SW", self.strides[1]),
            ("PH", self.padding[0]),
            ("PW", self.padding[1]),
            ("DH", self.dilations[0]),
            ("DW", self.dilations[1]),
        ]
    }

    /// The granularity that is possible: outputs that share an input must be of one group.
    pub(crate) fn clamped(&self, work: ThreadWork) -> ThreadWork {
        let mut outputs = work.outputs.max(1);
        if work.policy == Policy::SamePixel {
            let per_group = self.output_channels / self.groups.max(1);
            while u64::from(outputs) > per_group || self.groups > 1 && !per_group.is_multiple_of(u64::from(outputs)) {
                outputs /= 2;
            }
        }
        ThreadWork { outputs: outputs.max(1), ..work }
    }

    /// Inputs are the values, the weights `[OC, CPG, KH, KW]`, and the biases.
    pub(crate) fn shader(&self, work: ThreadWork, activation: &Activation) -> Shader {
        let work = self.clamped(work);
        let outputs = u64::from(work.outputs);
        let [height, width] = self.output;
        let images = self.batch * self.output_channels * height;
        let (invocations, body) = match work.policy {
            Policy::NeighbouringPixels => (images * width.div_ceil(outputs), neighbours(work.outputs)),
            Policy::SamePixel => {
                (self.batch * self.output_channels.div_ceil(outputs) * height * width, same_pixel(work.outputs))
            }
            Policy::Unrelated => {
                let invocations = (images * width).div_ceil(outputs);
                (invocations, unrelated(work.outputs, images * width, invocations))
            }
        };
        let functions = format!("{}\n{POSITION}\n{ONE_OUTPUT}", activation.function());
        let functions =
            if work.policy == Policy::Unrelated { functions } else { format!("{}\n{POSITION}", activation.function()) };
        shader(3, &self.constants(), &functions, &body, invocations)
    }
}

/// The coordinate that a tap reads, or one past the image's end for the padding.
const POSITION: &str = "
fn tap(o: u32, k: u32, stride: u32, dilation: u32, padding: u32, size: u32) -> u32 {
  let at = o * stride + k * dilation;
  if (at < padding || at - padding >= size) { return size; }
  return at - padding;
}";

const ONE_OUTPUT: &str = "
fn output(i: u32) -> f32 {
  let ox = i % OW; let oy = (i / OW) % OH; let oc = (i / (OW * OH)) % OC; let n = i / (OW * OH * OC);
  var sum = x2[oc];
  let first = n * C + C0 + oc / OPG * CPG;
  for (var c = 0u; c < CPG; c++) { for (var ky = 0u; ky < KH; ky++) {
    let iy = tap(oy, ky, SH, DH, PH, H);
    if (iy == H) { continue; }
    for (var kx = 0u; kx < KW; kx++) {
      let ix = tap(ox, kx, SW, DW, PW, W);
      if (ix == W) { continue; }
      sum += x0[((first + c) * H + iy) * W + ix] * x1[((oc * CPG + c) * KH + ky) * KW + kx];
    } } }
  return sum;
}";

/// Policy 1: neighbouring pixels of one channel share the weights.
fn neighbours(outputs: u32) -> String {
    let mut body = format!(
        "let across = (OW + {last}u) / {outputs}u;\n\
         let ox = t % across * {outputs}u; let oy = (t / across) % OH;\n\
         let oc = (t / (across * OH)) % OC; let n = t / (across * OH * OC);\n\
         let first = n * C + C0 + oc / OPG * CPG;\n",
        last = outputs - 1
    );
    for k in 0..outputs {
        let _ = writeln!(body, "var a{k} = x2[oc];");
    }

    body.push_str(
        "for (var c = 0u; c < CPG; c++) { for (var ky = 0u; ky < KH; ky++) {\n\
         let iy = tap(oy, ky, SH, DH, PH, H);\nif (iy == H) { continue; }\n\
         for (var kx = 0u; kx < KW; kx++) {\n\
         let w = x1[((oc * CPG + c) * KH + ky) * KW + kx];\nlet row = ((first + c) * H + iy) * W;\n",
    );
    for k in 0..outputs {
        let _ = writeln!(
            body,
            "{{ let ix = tap(ox + {k}u, kx, SW, DW, PW, W); if (ix < W) {{ a{k} += w * x0[row + ix]; }} }}"
        );
    }

    body.push_str("} } }\nlet to = ((n * OC + oc) * OH + oy) * OW + ox;\n");
    for k in 0..outputs {
        let _ = writeln!(body, "if (ox + {k}u < OW) {{ y[to + {k}u] = act(a{k}); }}");
    }
    body
}

/// Policy 2: the same pixel of several channels shares the inputs.
fn same_pixel(outputs: u32) -> String {
    let mut body = format!(
        "let sets = (OC + {last}u) / {outputs}u;\n\
         let ox = t % OW; let oy = (t / OW) % OH; let oc = (t / (OW * OH)) % sets * {outputs}u;\n\
         let n = t / (OW * OH * sets);\nlet first = n * C + C0 + oc / OPG * CPG;\n",
        last = outputs - 1
    );
    for k in 0..outputs {
        let _ = writeln!(body, "let o{k} = min(oc + {k}u, OC - 1u); var a{k} = x2[o{k}];");
    }
    body.push_str(
        "for (var c = 0u; c < CPG; c++) { for (var ky = 0u; ky < KH; ky++) {\n\
         let iy = tap(oy, ky, SH, DH, PH, H);\nif (iy == H) { continue; }\n\
         for (var kx = 0u; kx < KW; kx++) {\n\
         let ix = tap(ox, kx, SW, DW, PW, W);\nif (ix == W) { continue; }\n\
         let v = x0[((first + c) * H + iy) * W + ix];\nlet at = (c * KH + ky) * KW + kx;\n",
    );
    for k in 0..outputs {
        let _ = writeln!(body, "a{k} += v * x1[o{k} * CPG * KH * KW + at];");
    }
    body.push_str("} } }\n");
    for k in 0..outputs {
        let _ = writeln!(body, "if (oc + {k}u < OC) {{ y[((n * OC + oc + {k}u) * OH + oy) * OW + ox] = act(a{k}); }}");
    }
    body
}

/// Policy 3: outputs that have nothing in common.
fn unrelated(outputs: u32, total: u64, invocations: u64) -> String {
    format!(
        "for (var k = 0u; k < {outputs}u; k++) {{ let i = t + k * {invocations}u; \
         if (i < {total}u) {{ y[i] = act(output(i)); }} }}"
    )
}
