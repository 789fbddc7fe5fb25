//! Tensors from numpy's arrays and back.

use std::any::Any;
use std::sync::Arc;

use millstream_api::backend::Storage;
use millstream_api::graph::{DataType, Shape, Value};
use millstream_api::{Tensor, bindings};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::InputError;

/// Element types by their names in numpy; strings are objects there.
const NAMES: [(DataType, &str); 13] = [
    (DataType::F32, "float32"),
    (DataType::F64, "float64"),
    (DataType::F16, "float16"),
    (DataType::Bf16, "bfloat16"),
    (DataType::I8, "int8"),
    (DataType::I16, "int16"),
    (DataType::I32, "int32"),
    (DataType::I64, "int64"),
    (DataType::U8, "uint8"),
    (DataType::U16, "uint16"),
    (DataType::U32, "uint32"),
    (DataType::U64, "uint64"),
    (DataType::Bool, "bool"),
];

/// The name of an element type in numpy.
pub(crate) fn name(data_type: DataType) -> &'static str {
    NAMES.iter().find(|(known, _)| *known == data_type).map_or("object", |(_, name)| name)
}

/// Elements that were copied out of an array: an immutable object of Python's, which the array's owner can't change any
/// more.
struct Copied(PyBackedBytes);

impl Storage for Copied {
    fn bytes(&self) -> Option<&[u8]> {
        Some(&self.0)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A tensor with the elements of whatever numpy makes an array of, for an input of a network.
pub(crate) fn from_array(object: &Bound<'_, PyAny>, value: &Value) -> PyResult<Tensor> {
    let numpy = object.py().import("numpy")?;
    let array = numpy.call_method1("asarray", (object,)).map_err(|reason| no_array(object.py(), value, reason))?;
    let shape = Shape::from(array.getattr("shape")?.extract::<Vec<usize>>()?);
    let dtype = array.getattr("dtype")?;
    let kind = dtype.getattr("name")?.extract::<String>()?;
    let tensor = match NAMES.iter().find(|(_, name)| *name == kind) {
        Some(&(data_type, name)) => {
            let is_native = dtype.getattr("isnative")?.extract::<bool>()?;
            let array = if is_native { array } else { array.call_method1("astype", (name,))? };
            let bytes = array.call_method0("tobytes")?.extract::<PyBackedBytes>()?;
            Tensor::new(data_type, shape, Arc::new(Copied(bytes)))
        }
        None => strings(&array, &shape).ok_or_else(|| misfit(value, &format!("numpy's {kind} {shape}")))?,
    };
    match tensor.check_fits(value) {
        Ok(()) => Ok(tensor),
        Err(_) => Err(misfit(value, &tensor.description())),
    }
}

/// An array of texts.
fn strings(array: &Bound<'_, PyAny>, shape: &Shape) -> Option<Tensor> {
    let flat = array.call_method0("flatten").and_then(|flat| flat.call_method0("tolist")).ok()?;
    Some(Tensor::from_strings(shape.clone(), flat.extract::<Vec<String>>().ok()?))
}

/// What numpy makes no array of, such as rows that are not equally long. Whatever else goes wrong there is no fault of
/// the frame.
fn no_array(py: Python<'_>, value: &Value, reason: PyErr) -> PyErr {
    if !reason.is_instance_of::<PyValueError>(py) {
        return reason;
    }
    let error = misfit(value, &format!("no array, as numpy says: {}", reason.value(py)));
    error.set_cause(py, Some(reason));
    error
}

/// In the engine's words.
fn misfit(value: &Value, found: &str) -> PyErr {
    InputError::new_err(bindings::misfit(value, found).to_string())
}

/// Elements of a tensor, for numpy to look at where they are.
#[pyclass(frozen, module = "millstream")]
struct Elements(Tensor);

#[pymethods]
impl Elements {
    /// Numpy's array interface, version 3: an address that nobody may write to. It stays valid because the array keeps
    /// this object, this object the tensor, and a tensor never changes.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let address = self.0.bytes().map_or(0, |bytes| bytes.as_ptr().addr());
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", type_string(self.0.data_type()))?;
        interface.set_item("shape", shape(py, self.0.shape())?)?;
        interface.set_item("data", (address, true))?;
        Ok(interface)
    }
}

/// As numpy's array interface names a type.
fn type_string(data_type: DataType) -> String {
    let kind = match data_type {
        DataType::F32 | DataType::F64 | DataType::F16 => 'f',
        DataType::I8 | DataType::I16 | DataType::I32 | DataType::I64 => 'i',
        DataType::Bool => 'b',
        // Numpy itself knows no `bfloat16`.
        _ => 'u',
    };
    let order = if cfg!(target_endian = "little") { '<' } else { '>' };
    format!("{order}{kind}{}", data_type.bytes().unwrap_or(1))
}

pub(crate) fn shape<'py>(py: Python<'py>, shape: &Shape) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, shape.dimensions())
}

/// An array over a tensor's elements, which can't be written to; a copy only of strings.
pub(crate) fn to_array<'py>(py: Python<'py>, tensor: Tensor) -> PyResult<Bound<'py, PyAny>> {
    let numpy = py.import("numpy")?;
    let shape = shape(py, tensor.shape())?;
    if let Some(strings) = tensor.strings() {
        let options = PyDict::new(py);
        options.set_item("dtype", "object")?;
        return numpy.call_method("array", (strings,), Some(&options))?.call_method1("reshape", (shape,));
    }
    let data_type = tensor.data_type();
    let dtype = dtype(py, data_type)?;
    if tensor.shape().elements() == 0 {
        return numpy.call_method1("empty", (shape, dtype));
    }
    if tensor.bytes().is_none() {
        let message = format!("the elements of a result, {}, are not in the host's memory", tensor.description());
        return Err(crate::errors::Error::new_err(message));
    }
    let array = numpy.call_method1("asarray", (Bound::new(py, Elements(tensor))?,))?;
    if data_type == DataType::Bf16 { array.call_method1("view", (dtype,)) } else { Ok(array) }
}

/// Numpy's object for an element type; that of `bfloat16` comes with the package `ml_dtypes`.
pub(crate) fn dtype(py: Python<'_>, data_type: DataType) -> PyResult<Bound<'_, PyAny>> {
    let kind = match data_type {
        DataType::Bf16 => py.import("ml_dtypes")?.getattr("bfloat16")?,
        other => name(other).into_pyobject(py)?.into_any(),
    };
    py.import("numpy")?.call_method1("dtype", (kind,))
}
