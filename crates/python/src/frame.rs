//! Frames as dictionaries of arrays.

use std::sync::Arc;

use millstream_api::Tensor;
use millstream_api::graph::{Graph, Value, ValueId};
use millstream_api::runtime::FrameResult;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping};

use crate::errors::{self, InputError};
use crate::tensor;

/// A network's inputs and outputs.
#[derive(Clone)]
pub(crate) struct Ports {
    pub(crate) graph: Arc<Graph>,
}

impl Ports {
    fn values<'a>(&'a self, ids: &'a [ValueId]) -> impl Iterator<Item = &'a Value> {
        ids.iter().map(|&id| self.graph.value(id))
    }

    /// A frame: one tensor for each input.
    pub(crate) fn frame(&self, frame: &Bound<'_, PyAny>) -> PyResult<Vec<Tensor>> {
        let Ok(frame) = frame.cast::<PyMapping>() else {
            let kind = frame.get_type().name()?;
            return Err(InputError::new_err(format!(
                "a frame is a dictionary of arrays by the names of inputs, not a {kind}"
            )));
        };
        let inputs = self.graph.inputs();
        let mut tensors = Vec::with_capacity(inputs.len());
        for value in self.values(inputs) {
            if !frame.contains(&value.name)? {
                return Err(InputError::new_err(format!("the frame has no '{}'; {}", value.name, self.all_inputs())));
            }
            tensors.push(tensor::from_array(&frame.get_item(&value.name)?, value)?);
        }
        if frame.len()? != tensors.len() {
            return Err(self.unknown(frame)?);
        }
        Ok(tensors)
    }

    /// A frame has more than the network's inputs.
    fn unknown(&self, frame: &Bound<'_, PyMapping>) -> PyResult<PyErr> {
        let mut names =
            frame.keys()?.iter().map(|name| Ok(name.str()?.to_string())).collect::<PyResult<Vec<String>>>()?;
        names.retain(|name| !self.values(self.graph.inputs()).any(|value| value.name == *name));
        let names = names.join("', '");
        Ok(InputError::new_err(format!("the network has no input '{names}'; {}", self.all_inputs())))
    }

    fn all_inputs(&self) -> String {
        let names: Vec<&str> = self.values(self.graph.inputs()).map(|value| value.name.as_str()).collect();
        format!("its inputs are '{}'", names.join("', '"))
    }

    /// The outputs of a frame, or why there are none.
    pub(crate) fn outputs<'py>(&self, py: Python<'py>, result: FrameResult) -> PyResult<Bound<'py, PyDict>> {
        let tensors = result.outcome.map_err(|error| errors::of_frame(result.sequence, &error))?;
        let outputs = PyDict::new(py);
        for (value, output) in self.values(self.graph.outputs()).zip(tensors) {
            outputs.set_item(&value.name, tensor::to_array(py, output)?)?;
        }
        Ok(outputs)
    }

    pub(crate) fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.described(py, self.graph.inputs())
    }

    pub(crate) fn all_outputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.described(py, self.graph.outputs())
    }

    /// Names, shapes and types as named tuples.
    fn described<'py>(&self, py: Python<'py>, ids: &[ValueId]) -> PyResult<Bound<'py, PyList>> {
        let class = py.import("millstream._values")?.getattr("Value")?;
        let described = self.values(ids).map(|value| {
            let shape = value.shape.as_ref().map(|shape| tensor::shape(py, shape)).transpose()?;
            class.call1((&value.name, shape, value.data_type.map(tensor::name)))
        });
        PyList::new(py, described.collect::<PyResult<Vec<_>>>()?)
    }
}
