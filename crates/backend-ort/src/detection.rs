//! Which providers drive a device that is here: each computes next to nothing on it.

use std::sync::Arc;

use millstream_backend::{Backend, Segment, Tensor};
use millstream_board::{AcceleratorKind, EngineLabel, Processor, Provider};
use millstream_onnx::{Attributes, Model, ModelBuilder, Weight};

use crate::backend::OrtBackend;
use crate::built_in_providers::{self as built_in, ProviderPlace};
use crate::environment::Environment;

/// What the device is called meanwhile.
const LABEL: &str = "D";

impl Environment {
    /// The provider that a library may be built with and that boards call so, such as `xnnpack`, whether or not this
    /// one was.
    pub fn built_in_provider(engine: EngineLabel) -> Option<Provider> {
        built_in::ALL.iter().filter_map(built_in::BuiltIn::definition).find(|provider| provider.engine == engine)
    }

    /// Those of [`Environment::providers`] that are for a device, with the device's kind. A library that was built with one
    /// may lack the provider's own, or its driver, or the device: [`Environment::drives_a_device`] tries it.
    pub fn device_providers(&self) -> impl Iterator<Item = (Provider, AcceleratorKind)> {
        built_in::ALL.iter().filter_map(|provider| match provider.place {
            ProviderPlace::Device(kind) if provider.is_available() => Some((provider.definition()?, kind)),
            _ => None,
        })
    }

    /// Whether a provider takes an operator and computes it.
    pub fn drives_a_device(&self, provider: &Provider) -> bool {
        match runs(self, provider) {
            Ok(()) => true,
            Err(detail) => {
                tracing::debug!("{} drives no device here: {detail}", provider.provider);
                false
            }
        }
    }
}

/// Runs an operator, of a few ordinary ones the first that the provider takes, on its device.
///
/// # Errors
/// Why none runs there.
fn runs(environment: &Environment, provider: &Provider) -> Result<(), String> {
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
