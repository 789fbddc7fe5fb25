//! The conformance suite over OpenVINO, beside ONNX Runtime.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use millstream_backend::{Backend, BackendError, Observed};
use millstream_backend_openvino::{OpenVino, OpenVinoBackend};
use millstream_backend_ort::{Environment, OrtBackend, SessionSettings};
use millstream_backend_test::{Point, Subject};
use millstream_board::Processor;
use millstream_graph::OperatorId;
use millstream_onnx::Model;

fn open(model: &Arc<Model>) -> Result<Box<dyn Observed>, BackendError> {
    Ok(Box::new(OpenVinoBackend::new(&OpenVino::load()?, Arc::clone(model))))
}

/// Products of integers with exact sums: on processors with instructions for them, ONNX Runtime has these without its
/// optimisations only, and on others with them only.
fn reference(model: &Arc<Model>) -> Result<Box<dyn Backend>, BackendError> {
    let optimised = !has_integer_products();
    let settings = SessionSettings { optimised, exact_integers: true, ..SessionSettings::default() };
    Ok(Box::new(OrtBackend::with_settings(&Environment::load()?, Arc::clone(model), settings)))
}

#[cfg(target_arch = "x86_64")]
fn has_integer_products() -> bool {
    std::arch::is_x86_feature_detected!("avx512vnni") || std::arch::is_x86_feature_detected!("avxvnni")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_integer_products() -> bool {
    true
}

/// Products of quantised values whose columns have scales of their own.
fn may_refuse(model: &Model, id: OperatorId) -> bool {
    model.graph().operator(id).op_type == "QLinearMatMul"
}

fn subject() -> Subject {
    let processor = Processor::new("B", [0]);
    let subject = Subject::new(processor.clone(), Processor::accelerator("G"), open);
    subject.compared_with(processor, reference).rounding_otherwise().refusing(may_refuse)
}

/// Networks with most kinds of layers, of bytes as well: preparing all of the zoo takes minutes.
const SOME: [&str; 6] =
    ["googlenet", "squeezenet", "mobilenet-v2", "bevformer-like", "mobilenet-v2-int8", "minilm-like-int8"];

millstream_backend_test::conformance!(subject().networks(SOME));

#[test]
#[ignore = "takes minutes: `cargo xtask long-tests`"]
fn all_networks() -> Result<(), String> {
    Point::Networks.check(&subject())
}
