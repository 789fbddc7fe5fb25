//! Boards: this machine, and others that are only described.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use millstream_api::board::{Accelerator, Board as Described, Cluster};
use millstream_api::{Machine, files};
use pyo3::prelude::*;

use crate::documents::{Document, file, to_python};
use crate::errors;
use crate::waiting::do_long;

/// What networks run on: clusters of cores, and accelerators.
///
/// Board.detect() is this machine, Board.load() one that a file describes.
#[pyclass(frozen, module = "millstream")]
pub(crate) struct Board {
    machine: Machine,
}

#[pymethods]
impl Board {
    /// This machine, with its graphics devices.
    ///
    /// engine: "onnxruntime", "openvino" (with less precision "openvinoint8", "openvinof16", "openvinobf16"), several
    /// with commas between them, or "all" (openvino only if it is installed), instead of what plans and profiles say.
    /// cache_folder: where profiles and optimised sessions are kept; by default in the user's cache folder.
    #[staticmethod]
    #[pyo3(signature = (*, engine=None, cache_folder=None))]
    fn detect(py: Python<'_>, engine: Option<&str>, cache_folder: Option<PathBuf>) -> PyResult<Self> {
        Self::with(this_machine(py)?, engine, cache_folder)
    }

    /// The board of a file, of JSON, or of a dictionary, or a built-in one by its name, such as khadas-vim3.
    #[staticmethod]
    #[pyo3(signature = (document, *, engine=None, cache_folder=None))]
    fn load(document: &Bound<'_, PyAny>, engine: Option<&str>, cache_folder: Option<PathBuf>) -> PyResult<Self> {
        Self::with(described(document)?, engine, cache_folder)
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        self.machine.board().name()
    }

    /// The board's file, as JSON.
    fn to_json(&self) -> PyResult<String> {
        files::to_json(&self.machine.board().to_document()).map_err(|error| errors::of(&error))
    }

    /// The board's file, as a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.machine.board().to_document())
    }

    fn __str__(&self) -> String {
        let board = self.machine.board();
        let mut text = board.name().to_owned();
        board.clusters().iter().for_each(|cluster| text.push_str(&of_cluster(cluster)));
        board.accelerators().iter().for_each(|accelerator| text.push_str(&of_accelerator(accelerator)));
        text
    }

    fn __repr__(&self) -> String {
        format!("<millstream.Board '{}'>", self.name())
    }
}

impl Board {
    fn with(machine: Machine, engine: Option<&str>, cache_folder: Option<PathBuf>) -> PyResult<Self> {
        let machine = machine.as_asked(engine, cache_folder).map_err(|error| errors::of(&error))?;
        Ok(Self { machine })
    }

    /// The machine that a caller names, as a board or as what [`Board::load`] takes, or this one.
    pub(crate) fn machine_or_this(py: Python<'_>, board: Option<&Bound<'_, PyAny>>) -> PyResult<Machine> {
        match board {
            Some(object) => match object.cast::<Self>() {
                Ok(board) => Ok(board.get().machine.clone()),
                Err(_) => described(object),
            },
            None => this_machine(py),
        }
    }
}

/// The board of a file, of JSON, of a dictionary, or a built-in one.
fn described(document: &Bound<'_, PyAny>) -> PyResult<Machine> {
    let machine = match file(document)? {
        Some(path) => Machine::read(&path),
        None => Document::read(document)?.parse(Described::from_json).map(Machine::of_board),
    };
    machine.map_err(|error| errors::of(&error))
}

/// This computer. Its graphics devices are asked, which takes as long as their drivers like.
fn this_machine(py: Python<'_>) -> PyResult<Machine> {
    do_long(py, &Arc::default(), Machine::detect)?.map_err(|error| errors::of(&error))
}

fn of_cluster(cluster: &Cluster) -> String {
    let cores: Vec<String> = cluster.cores.iter().map(|core| core.id.to_string()).collect();
    let mut text = format!("\n  {}: cores {}, capacity {}", cluster.label, cores.join(" "), cluster.capacity);
    if let Some(kind) = &cluster.core_type {
        let _ = write!(text, ", {kind}");
    }
    let _ = write!(text, ", {}", cluster.engines);
    text
}

fn of_accelerator(accelerator: &Accelerator) -> String {
    let name = accelerator.name.as_deref().map_or(String::new(), |name| format!(" {name}"));
    format!("\n  {}: {}{name}", accelerator.label, accelerator.kind)
}
