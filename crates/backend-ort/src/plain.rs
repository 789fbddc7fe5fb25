//! Inference by ONNX Runtime alone, as the reference for results.

use std::collections::BTreeMap;
use std::path::Path;

use millstream_backend::{BackendError, Tensor};
use millstream_graph::{DataType, Shape};
use ort::session::builder::SessionBuilder;
use ort::session::{Session, SessionInputValue};
use ort::value::{Outlet, ValueType};

use crate::convert;
use crate::environment::Environment;

/// A model file as ONNX Runtime itself runs it, with nothing of ours in between: what our results are compared with.
pub struct PlainSession {
    session: Session,
}

/// An input or output as the session declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// Its name.
    pub name: String,
    /// Element type; `None` if it is no tensor, or of a type that is not supported.
    pub data_type: Option<DataType>,
    /// Shape, if all dimensions are fixed.
    pub shape: Option<Shape>,
}

impl PlainSession {
    /// Loads a model file with one thread.
    ///
    /// # Errors
    /// [`BackendError::Failed`] with what ONNX Runtime says.
    pub fn load(environment: &Environment, model: &Path) -> Result<Self, BackendError> {
        let failed = |error: ort::Error<SessionBuilder>| BackendError::failed(error.to_string());
        let plain = |error: ort::Error| BackendError::failed(error.to_string());
        let builder = Session::builder(&environment.inner).map_err(plain)?;
        let mut builder = builder.with_intra_threads(1).map_err(failed)?;
        Ok(Self { session: builder.commit_from_file(model).map_err(plain)? })
    }

    /// What the session takes.
    pub fn inputs(&self) -> Vec<Declared> {
        self.session.inputs().iter().map(declared).collect()
    }

    /// What the session makes.
    pub fn outputs(&self) -> Vec<Declared> {
        self.session.outputs().iter().map(declared).collect()
    }

    /// Runs one frame of named tensors and returns the outputs in the order of [`PlainSession::outputs`].
    ///
    /// # Errors
    /// [`BackendError::Failed`] with what ONNX Runtime says, or if an output is no tensor.
    pub fn run(&mut self, inputs: &BTreeMap<String, Tensor>) -> Result<Vec<Tensor>, BackendError> {
        let mut values: Vec<(String, SessionInputValue<'_>)> = Vec::with_capacity(inputs.len());
        for (name, tensor) in inputs {
            values.push((name.clone(), convert::input(tensor).map_err(BackendError::failed)?));
        }
        let outputs = self.session.run(values).map_err(|error| BackendError::failed(error.to_string()))?;
        outputs.into_iter().map(|(_, value)| convert::tensor(value).map_err(BackendError::failed)).collect()
    }
}

fn declared(outlet: &Outlet) -> Declared {
    let name = outlet.name().to_owned();
    let ValueType::Tensor { ty, shape, .. } = outlet.dtype() else {
        return Declared { name, data_type: None, shape: None };
    };
    let sizes: Option<Vec<usize>> = shape.iter().map(|&size| usize::try_from(size).ok()).collect();
    Declared { name, data_type: convert::data_type(*ty), shape: sizes.map(Shape::from) }
}
