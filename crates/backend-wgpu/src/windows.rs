//! Shaders that look at a window of the image, of the channels, or of a row.

use crate::extent::Extent;
use crate::layer::Window;
use crate::shaders::{Shader, float, shader};

/// All indices by the names that the shaders use.
fn sizes(before: &Extent, after: &Extent, first: u64) -> Vec<(&'static str, u64)> {
    let ([h, w], [oh, ow]) = (before.pair(), after.pair());
    // A follower's input has the part's channels only, so that nothing comes before them.
    let first = if before.channels == after.channels { 0 } else { first };
    vec![("CI", before.channels), ("C", after.channels), ("C0", first), ("H", h), ("W", w), ("OH", oh), ("OW", ow)]
}

pub(crate) fn pool(
    before: &Extent,
    after: &Extent,
    first: u64,
    is_max: bool,
    window: &Window,
    counts_padding: bool,
) -> Shader {
    let mut constants = sizes(before, after, first);
    let Window { kernel, strides, padding, dilations } = window;
    constants.extend([("KH", kernel[0]), ("KW", kernel[1]), ("SH", strides[0]), ("SW", strides[1])]);
    constants.extend([("PH", padding[0]), ("PW", padding[1]), ("DH", dilations[0]), ("DW", dilations[1])]);
    let (start, step, end) = match (is_max, counts_padding) {
        (true, _) => (float(f32::MIN), "r = max(r, v);", "y[t] = r;"),
        (false, false) => (float(0.0), "r += v; count += 1u;", "y[t] = r / f32(max(count, 1u));"),
        (false, true) => (float(0.0), "r += v;", "y[t] = r / f32(KH * KW);"),
    };
    let body = format!(
        "let ox = t % OW; let oy = t / OW % OH; let c = t / (OW * OH) % C; let n = t / (OW * OH * C);\n\
         let plane = (n * CI + C0 + c) * H;\nvar r = {start}; var count = 0u;\n\
         for (var ky = 0u; ky < KH; ky++) {{ let ay = oy * SH + ky * DH; if (ay < PH || ay - PH >= H) {{ continue; }}\n\
         for (var kx = 0u; kx < KW; kx++) {{ let ax = ox * SW + kx * DW; if (ax < PW || ax - PW >= W) {{ continue; }}\n\
         let v = x0[(plane + ay - PH) * W + ax - PW]; {step} }} }}\n{end}"
    );
    let elements = after.elements();
    shader(1, &constants, "", &body, elements)
}

pub(crate) fn local_response(
    before: &Extent,
    after: &Extent,
    first: u64,
    size: u64,
    [alpha, beta, bias]: [f32; 3],
) -> Shader {
    let mut constants = sizes(before, after, first);
    constants.extend([("BELOW", size.saturating_sub(1) / 2), ("ABOVE", size.saturating_sub(1).div_ceil(2))]);
    let body = format!(
        "let inner = t % (OW * OH); let c = C0 + t / (OW * OH) % C; let n = t / (OW * OH * C);\n\
         let low = select(0u, c - BELOW, c >= BELOW); let high = min(c + ABOVE, CI - 1u);\nvar sum = 0.0;\n\
         for (var k = low; k <= high; k++) {{ let v = x0[(n * CI + k) * H * W + inner]; sum += v * v; }}\n\
         let v = x0[(n * CI + c) * H * W + inner];\n\
         y[t] = v / pow({} + {} * sum, {});",
        float(bias),
        float(alpha / size.max(1) as f32),
        float(beta)
    );
    let elements = after.elements();
    shader(1, &constants, "", &body, elements)
}

pub(crate) const SOFTMAX: &str = "
let start = t * ROW;
var largest = x0[start];
for (var i = 1u; i < ROW; i++) { largest = max(largest, x0[start + i]); }
var sum = 0.0;
for (var i = 0u; i < ROW; i++) { sum += exp(x0[start + i] - largest); }
for (var i = 0u; i < ROW; i++) { y[start + i] = exp(x0[start + i] - largest) / sum; }";
