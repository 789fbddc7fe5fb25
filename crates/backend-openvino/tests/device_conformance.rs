//! The conformance suite over a device of OpenVINO's: the cores by their name, which are everywhere, as an accelerator.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use millstream_backend::{Backend, BackendError, Observed};
use millstream_backend_openvino::{OpenVino, OpenVinoBackend};
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_backend_test::{Point, Subject};
use millstream_board::Processor;
use millstream_onnx::Model;

fn open(model: &Arc<Model>) -> Result<Box<dyn Observed>, BackendError> {
    Ok(Box::new(OpenVinoBackend::on_device(&OpenVino::load()?, "CPU", "V", Arc::clone(model))?))
}

fn reference(model: &Arc<Model>) -> Result<Box<dyn Backend>, BackendError> {
    Ok(Box::new(OrtBackend::new(&Environment::load()?, Arc::clone(model))))
}

fn subject() -> Subject {
    let subject = Subject::new(Processor::accelerator("V"), Processor::new("B", [0]), open);
    subject
        .compared_with(Processor::new("B", [0]), reference)
        .rounding_otherwise()
        .networks(["squeezenet", "bevformer-like"])
}

/// All points but one: nobody can unplug the cores. What is said of a device that is gone is tested beside its watch.
#[test]
fn all_points_but_the_loss_of_the_device() {
    if std::env::var_os("OPENVINO_INSTALL_DIR").is_none_or(|folder| !std::path::Path::new(&folder).exists()) {
        return millstream_test_support::not_tested("OPENVINO", "there is no OpenVINO here");
    }
    for point in Point::ALL.into_iter().filter(|point| *point != Point::LostDevice) {
        point.check(&subject()).unwrap_or_else(|error| panic!("{point:?}: {error}"));
    }
}
