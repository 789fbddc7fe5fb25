//! Whether a provider's device is there: it computes next to nothing.

use std::sync::Arc;

use millstream_backend::{Backend, Segment, Tensor};
use millstream_board::{Processor, Provider};
use millstream_onnx::{Attributes, Model, ModelBuilder, Weight};

use crate::backend::OrtBackend;
use crate::environment::Environment;

/// What the device is called meanwhile.
const LABEL: &str = "D";

/// Runs an operator, of a few ordinary ones the first that the provider takes, on its device.
///
/// # Errors
/// Why none runs there.
pub(crate) fn runs(environment: &Environment, provider: &Provider) -> Result<(), String> {
    let model = Arc::new(model().map_err(|error| error.to_string())?);
    let backend = OrtBackend::on_device(environment, Arc::clone(&model), provider, LABEL);
    let backend = backend.map_err(|error| error.to_string())?;
    let (graph, device) = (model.graph(), Processor::accelerator(LABEL));
    let taken = graph.order().iter().copied().find(|&id| backend.supports(id, &device));
    let taken = taken.ok_or("it takes no operator")?;
    let segment = Segment::new(graph, vec![taken]);
    let mut prepared = backend.prepare(&segment, &device).map_err(|error| error.to_string())?;
    prepared.run(&[Tensor::from_f32([1, 4, 8, 8], vec![0.5; 256])]).map(drop).map_err(|error| error.to_string())
}

/// A convolution and operators without weights, one after the other, on maps of one size.
fn model() -> Result<Model, millstream_onnx::OnnxError> {
    let mut builder = ModelBuilder::new("light");
    let input = builder.input("image", [1, 4, 8, 8]);
    let filter = builder.weight("filter", &Weight::from_f32([4, 4, 1, 1], vec![0.25; 16]));
    let map = builder.node_with("Conv", &[&input, &filter], Attributes::new());
    let map = builder.node("Relu", &[&map]);
    let map = builder.node("Sigmoid", &[&map]);
    builder.output(&map);
    builder.build()
}
