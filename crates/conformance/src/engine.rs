//! Engines to be tested, each with its list of refusals and the least numbers of models that must agree.

use std::sync::Arc;

use millstream_backend::{Backend, BackendError};
use millstream_backend_openvino::{OpenVino, OpenVinoBackend};
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_onnx::Model;

/// The engine that models run in here, and ONNX Runtime, whose own results count as right.
pub struct EngineUnderTest {
    reference: Environment,
    openvino: Option<OpenVino>,
}

impl EngineUnderTest {
    /// ONNX Runtime.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`] if its library is not found.
    pub fn onnx_runtime() -> Result<Self, BackendError> {
        Ok(Self { reference: Environment::load()?, openvino: None })
    }

    /// OpenVINO.
    ///
    /// # Errors
    /// [`BackendError::Unavailable`] if one of the libraries is not found.
    pub fn openvino() -> Result<Self, BackendError> {
        Ok(Self { openvino: Some(OpenVino::load()?), ..Self::onnx_runtime()? })
    }

    /// The engine of this name.
    ///
    /// # Errors
    /// As of these; `None` if there is no such engine.
    pub fn named(name: &str) -> Option<Result<Self, BackendError>> {
        match name {
            "onnxruntime" => Some(Self::onnx_runtime()),
            millstream_backend_openvino::NAME => Some(Self::openvino()),
            _ => None,
        }
    }

    /// What runs a model here.
    pub(crate) fn backend(&self, model: &Model) -> Arc<dyn Backend> {
        let model = Arc::new(model.clone());
        match &self.openvino {
            None => Arc::new(OrtBackend::new(&self.reference, model)),
            Some(library) => Arc::new(OpenVinoBackend::new(library, model)),
        }
    }

    pub(crate) fn reference(&self) -> &Environment {
        &self.reference
    }

    /// The list of models that it refuses.
    pub(crate) fn refusals(&self) -> &'static str {
        match self.openvino {
            None => include_str!("../refusals.txt"),
            Some(_) => include_str!("../refusals-openvino.txt"),
        }
    }

    /// Whether as many models as ever agree, are cut in two and are divided by channels and by rows: a fault that ONNX
    /// Runtime seems to share would be counted as its own.
    pub fn has_enough(&self, agree: usize, two_stages: usize, [splits, tiles]: [usize; 2]) -> bool {
        let (least_agree, least_two_stages, least_splits, least_tiles) = match self.openvino {
            None => (1490, 340, 55, 350),
            Some(_) => (1220, 225, 50, 100),
        };
        agree >= least_agree && two_stages >= least_two_stages && splits >= least_splits && tiles >= least_tiles
    }
}
