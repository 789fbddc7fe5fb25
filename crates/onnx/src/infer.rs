//! What is known of values before a frame comes: types, shapes, and the numbers that shapes are made of.
//!
//! All inputs have fixed shapes by the time this runs, so every dimension that comes out is a number or unknown.

use std::collections::HashMap;

use rten_shape_inference::SymTensor;

use crate::knowledge::{Knowledge, fixed_shape};
use crate::proto::NodeProto;
use crate::quiet::without_panic;
use crate::rules;
use crate::types::output_type;

/// What is known about the outputs of `node`, one entry per output.
pub(crate) fn infer(node: &NodeProto, known: &HashMap<String, Knowledge>, opset: i64) -> Vec<Knowledge> {
    let inputs: Vec<Option<&Knowledge>> = node.input.iter().map(|name| known.get(name)).collect();
    let input_types: Vec<_> = inputs.iter().map(|input| input.and_then(|known| known.data_type)).collect();
    // The rules index into what a damaged file may have left out, and count in 32 bits: a panic only means that nothing
    // is known.
    let inferred = without_panic(|| {
        let tensors = rules::outputs(node, &inputs, opset)?;
        let simple = |tensor: SymTensor| {
            let tensor = rules::limited(tensor).simplify();
            (fixed_shape(&tensor), tensor)
        };
        Some(tensors.into_iter().map(simple).collect::<Vec<_>>())
    });
    let mut inferred = inferred.flatten().unwrap_or_default().into_iter();
    let typed = |index: usize| {
        let (shape, tensor) = inferred.next().unwrap_or_else(|| (None, SymTensor::unknown("no rule")));
        Knowledge { data_type: output_type(node, &input_types, index), shape, tensor }
    };
    (0..node.output.len()).map(typed).collect()
}
