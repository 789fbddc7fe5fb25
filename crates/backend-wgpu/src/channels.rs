//! Shaders that compute with constants: one for all elements, or one per channel.

use crate::extent::Extent;
use crate::shaders::{Shader, shader};

/// Of each element, `v * scale + shift`, both by channel.
pub(crate) fn scale_shift(after: &Extent) -> Shader {
    let body = "let c = t / INNER % C; y[t] = x0[t] * x1[c] + x2[c];";
    shader(3, &sizes(after), "", body, after.elements())
}

/// Of each element, `v op constant`, or `constant op v` if the constant is on the left.
pub(crate) fn with_constant(operation: char, is_one_for_all: bool, is_left: bool, after: &Extent) -> Shader {
    let place = if is_one_for_all { "0u" } else { "t / INNER % C" };
    let (value, constant) = ("x0[t]".to_owned(), format!("x1[{place}]"));
    let (left, right) = if is_left { (constant, value) } else { (value, constant) };
    shader(2, &sizes(after), "", &format!("y[t] = {left} {operation} {right};"), after.elements())
}

/// What tells an element's channel, by the names that the shaders use.
fn sizes(after: &Extent) -> [(&'static str, u64); 2] {
    [("INNER", after.per_channel()), ("C", after.channels)]
}
