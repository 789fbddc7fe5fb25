//! The conformance suite over a graphics device, beside ONNX Runtime. Without any graphics device (not even an emulated
//! one) there is nothing to test, unless `MILLSTREAM_NEEDS_GPU` is set, as in CI.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use millstream_backend::{Backend, BackendError, Observed};
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_backend_test::{Losable, Point, Subject};
use millstream_backend_wgpu::{Gpu, WgpuBackend};
use millstream_board::Processor;
use millstream_graph::{DataType, OperatorId, OperatorKind, ValueId};
use millstream_onnx::Model;
use millstream_test_support::not_tested;

/// Operators of more multiply-accumulates run in parts: the device may be an emulated one.
const MOST_MACS: u64 = 4_000_000;

fn reference(model: &Arc<Model>) -> Result<Box<dyn Backend>, BackendError> {
    Ok(Box::new(OrtBackend::new(&Environment::load()?, Arc::clone(model))))
}

fn losable(model: &Arc<Model>) -> Result<Losable, BackendError> {
    let gpu = Gpu::open(None)?;
    let backend = Box::new(WgpuBackend::new(&gpu, "G", Arc::clone(model)));
    Ok(Losable { backend, lose: Box::new(move || gpu.destroy()) })
}

/// Everything but the operators on floats of convolutional networks.
fn may_refuse(model: &Model, id: OperatorId) -> bool {
    let graph = model.graph();
    let operator = graph.operator(id);
    let shape = |value: &ValueId| graph.value(*value).shape.clone();
    let is_float = |value: &ValueId| graph.value(*value).data_type == Some(DataType::F32);
    let is_float = operator.inputs.iter().chain(&operator.outputs).all(is_float);
    let is_even =
        operator.inputs.iter().chain(&operator.outputs).all(|value| shape(value) == shape(&operator.outputs[0]));
    let is_row = operator.outputs.first().and_then(shape).is_some_and(|shape| shape.dimensions().len() == 2);
    let is_expected = match operator.op_type.as_str() {
        "Conv" => matches!(operator.kind, OperatorKind::Convolution(_)),
        "Gemm" | "MatMul" => operator.kind == OperatorKind::FullyConnected && is_row,
        "MaxPool" | "AveragePool" | "GlobalAveragePool" | "Relu" | "LeakyRelu" | "Clip" | "Sigmoid"
        | "BatchNormalization" | "LRN" | "Concat" | "Softmax" | "Reshape" | "Flatten" => true,
        "Add" | "Mul" | "Sub" | "Div" => is_even && operator.inputs.len() == 2,
        _ => false,
    };
    !is_float || !is_expected
}

fn subject() -> Option<Subject> {
    let gpu = Gpu::open(None).map_err(|error| not_tested("GPU", error)).ok()?;
    let open = move |model: &Arc<Model>| -> Result<Box<dyn Observed>, BackendError> {
        Ok(Box::new(WgpuBackend::new(&gpu, "G", Arc::clone(model))))
    };
    let subject = Subject::new(Processor::accelerator("G"), Processor::new("B", [0]), open);
    let subject = subject.compared_with(Processor::new("B", [0]), reference).losing(losable).refusing(may_refuse);
    Some(subject.tolerance(2e-4).slow(["squeezenet", "mobilenet-v2"], MOST_MACS))
}

/// Networks with most kinds of layers: the operators of all of the zoo take minutes on a device that is emulated.
const SOME: [&str; 5] = ["googlenet", "squeezenet", "mobilenet-v2", "tiny-darknet", "bevformer-like"];

millstream_backend_test::conformance!(subject().map(|subject| subject.networks(SOME)));

#[test]
#[ignore = "takes minutes: `cargo xtask long-tests`"]
fn all_networks() -> Result<(), String> {
    subject().map_or(Ok(()), |subject| Point::Networks.check(&subject))
}
