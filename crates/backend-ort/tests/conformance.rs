//! The conformance suite over ONNX Runtime.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use millstream_backend::{BackendError, Observed};
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_backend_test::Subject;
use millstream_board::Processor;
use millstream_onnx::Model;

fn open(model: &Arc<Model>) -> Result<Box<dyn Observed>, BackendError> {
    Ok(Box::new(OrtBackend::new(&Environment::load()?, Arc::clone(model))))
}

millstream_backend_test::conformance!(Subject::new(Processor::new("B", [0]), Processor::accelerator("G"), open));
