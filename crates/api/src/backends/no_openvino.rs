//! No OpenVINO.

use std::collections::BTreeMap;
use std::sync::Arc;

use millstream_backend::Observed;
use millstream_board::{Accelerator, Board, EngineName};
use millstream_graph::Family;
use millstream_onnx::Model;

use crate::backends::core_engine::{CoreEngine, Plain};
use crate::backends::device_report::DeviceReport;
use crate::error::Error;

const MISSING: Error = Error::MissingFeature { what: "running operators with OpenVINO", feature: "openvino" };

/// An engine that can't be opened.
pub(super) enum OpenVino {}

impl OpenVino {
    pub(super) fn open(_: &Arc<Model>, _: EngineName) -> Result<Self, Error> {
        Err(MISSING)
    }
}

impl CoreEngine for OpenVino {
    fn backend(&self) -> Arc<dyn Observed> {
        match *self {}
    }

    fn choose_threads(&self, _: &str, _: BTreeMap<Family, usize>) {
        match *self {}
    }
}

pub(super) fn plainly(_: EngineName, _: &Arc<Model>) -> Result<Vec<Plain>, Error> {
    Err(MISSING)
}

pub(super) fn report(_: &Board) -> Result<Vec<DeviceReport>, Error> {
    Err(MISSING)
}

pub(super) fn is_lacking(_: EngineName, _: &str) -> bool {
    false
}

pub(super) fn version() -> Result<String, Error> {
    Err(MISSING)
}

pub(super) fn on_device(_: &Accelerator, _: &Arc<Model>) -> Result<Arc<dyn Observed>, Error> {
    Err(MISSING)
}

pub(super) fn devices(_: &[Accelerator]) -> Result<Vec<Accelerator>, Error> {
    Err(MISSING)
}
