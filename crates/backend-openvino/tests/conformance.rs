//! The conformance suite over OpenVINO, beside ONNX Runtime.

#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use millstream_backend::{Backend, BackendError, Observed};
use millstream_backend_openvino::{OpenVino, OpenVinoBackend};
use millstream_backend_ort::{Environment, OrtBackend, SessionSettings};
use millstream_backend_test::Subject;
use millstream_board::Processor;
use millstream_graph::OperatorId;
use millstream_onnx::Model;

fn open(model: &Arc<Model>) -> Result<Box<dyn Observed>, BackendError> {
    Ok(Box::new(OpenVinoBackend::new(&OpenVino::load()?, Arc::clone(model))))
}

/// Each operator computed by itself. With its optimisations, ONNX Runtime computes products of integers as processors without instructions
/// for them do: with sums that do not fit cut off.
fn reference(model: &Arc<Model>) -> Result<Box<dyn Backend>, BackendError> {
    let settings = SessionSettings { optimised: false, ..SessionSettings::default() };
    Ok(Box::new(OrtBackend::with_settings(&Environment::load()?, Arc::clone(model), settings)))
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

millstream_backend_test::conformance!(subject());
