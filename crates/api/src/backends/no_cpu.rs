//! No engine on the cores: networks can be planned for and simulated, not run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use millstream_backend::{Backend, Observed};
use millstream_board::{AcceleratorKind, EngineLabel, Provider};
use millstream_graph::Family;
use millstream_onnx::Model;

use crate::backends::core_engine::{CoreEngine, SessionThreads};
use crate::error::Error;

const MISSING: Error = Error::MissingFeature { what: "running operators on cores", feature: "ort" };

/// An engine that can't be opened.
pub(super) enum Cpu {}

impl Cpu {
    pub(super) fn open(_: &Arc<Model>, _: Option<PathBuf>) -> Result<Self, Error> {
        Err(MISSING)
    }

    pub(super) fn with_provider(_: &Arc<Model>, _: &Provider) -> Result<Self, Error> {
        Err(MISSING)
    }
}

impl CoreEngine for Cpu {
    fn backend(&self) -> Arc<dyn Observed> {
        match *self {}
    }

    fn choose_threads(&self, _: &str, _: BTreeMap<Family, usize>) {
        match *self {}
    }
}

pub(super) fn version() -> Result<String, Error> {
    Err(MISSING)
}

pub(super) fn providers() -> Result<Vec<&'static str>, Error> {
    Err(MISSING)
}

pub(super) fn core_providers() -> Result<Vec<Provider>, Error> {
    Err(MISSING)
}

pub(super) fn missing_provider(_: EngineLabel) -> Option<Error> {
    None
}

pub(super) fn device_providers() -> Vec<(Provider, AcceleratorKind)> {
    Vec::new()
}

pub(super) fn device_on_cores(_: &Provider) -> Result<Option<String>, Error> {
    Err(MISSING)
}

pub(super) fn drives_a_device(_: &Provider) -> bool {
    false
}

pub(super) fn device_of(_: &Provider) -> Result<Option<String>, Error> {
    Err(MISSING)
}

pub(super) fn on_device(_: &Provider, _: &str, _: &Arc<Model>) -> Result<Arc<dyn Observed>, Error> {
    Err(MISSING)
}

pub(super) fn unoptimised(_: &Arc<Model>) -> Result<Arc<dyn Backend>, Error> {
    Err(MISSING)
}

pub(super) fn session(_: &Arc<Model>, _: SessionThreads, _: bool) -> Result<Arc<dyn Backend>, Error> {
    Err(MISSING)
}

pub(super) fn by_default(_: &Arc<Model>) -> Result<Arc<dyn Backend>, Error> {
    Err(MISSING)
}

pub(super) fn on_all_cores(_: &Arc<Model>) -> Result<Arc<dyn Backend>, Error> {
    Err(MISSING)
}
