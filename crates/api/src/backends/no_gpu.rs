//! No engine for graphics devices.

use std::sync::Arc;

use millstream_backend::Observed;
use millstream_board::Accelerator;
use millstream_onnx::Model;
use millstream_predict::Profile;

use crate::control::Control;
use crate::error::Error;

/// Whether graphics devices can be used.
pub(super) const IS_BUILT_IN: bool = false;

/// No devices.
pub(super) struct Gpus;

impl Gpus {
    pub(super) fn new(_: &Arc<Model>) -> Self {
        Self
    }

    pub(super) fn open(&mut self, _: &Accelerator) -> Result<Arc<dyn Observed>, Error> {
        Err(Error::MissingFeature { what: "running operators on graphics devices", feature: "wgpu" })
    }

    pub(super) fn choose_work(&self, _: Option<&Profile>) {}

    #[expect(clippy::unnecessary_wraps, reason = "as with devices")]
    pub(super) fn measure_granularity(&self, _: &mut Profile, _: &Control) -> Result<(), Error> {
        Ok(())
    }
}

#[expect(clippy::unnecessary_wraps, reason = "as with devices")]
pub(super) fn check(_: &Accelerator) -> Result<(), Error> {
    Ok(())
}

pub(super) fn accelerators(_: bool) -> Vec<Accelerator> {
    Vec::new()
}
