//! The backend under test, as the suite sees it.

use std::sync::Arc;
use std::time::Duration;

use millstream_backend::{Backend, BackendError, Observed};
use millstream_board::Processor;
use millstream_graph::OperatorId;
use millstream_onnx::Model;

/// Opens the backend for a model.
type Open = dyn Fn(&Arc<Model>) -> Result<Box<dyn Observed>, BackendError> + Send + Sync;
/// Opens a backend whose results count as right.
type OpenReference = dyn Fn(&Arc<Model>) -> Result<Box<dyn Backend>, BackendError> + Send + Sync;
/// Opens the backend for a model on a device of its own, which can be taken away.
type OpenLosable = dyn Fn(&Arc<Model>) -> Result<Losable, BackendError> + Send + Sync;
/// Whether the backend may refuse an operator.
type MayRefuse = dyn Fn(&Model, OperatorId) -> bool + Send + Sync;

/// A backend with what takes its device away.
pub struct Losable {
    /// The backend.
    pub backend: Box<dyn Observed>,
    /// Takes the device away, as if it had been unplugged.
    pub lose: Box<dyn FnOnce() + Send>,
}

/// A backend under test: how to open it, where it runs, and what may be asked of it.
pub struct Subject {
    pub(crate) open: Box<Open>,
    pub(crate) processor: Processor,
    pub(crate) foreign: Processor,
    pub(crate) reference: Option<(Box<OpenReference>, Processor)>,
    pub(crate) losable: Option<Box<OpenLosable>>,
    pub(crate) may_refuse: Box<MayRefuse>,
    pub(crate) tolerance: f32,
    pub(crate) steps: u8,
    pub(crate) networks: Vec<&'static str>,
    pub(crate) slow: Option<Slow>,
    pub(crate) patience: Duration,
    pub(crate) makes_tiles: bool,
}

/// What is left out on a device that computes slowly.
pub(crate) struct Slow {
    /// The networks that it runs as a whole nevertheless.
    pub(crate) whole: Vec<&'static str>,
    /// Of operators with more multiply-accumulates, a part runs.
    pub(crate) most_macs: u64,
}

impl Subject {
    /// A backend that runs on `processor` and must refuse `foreign`. It must support every operator of the suite,
    /// agrees to a ten-thousandth, and is compared with known values and with itself.
    pub fn new(
        processor: Processor,
        foreign: Processor,
        open: impl Fn(&Arc<Model>) -> Result<Box<dyn Observed>, BackendError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            open: Box::new(open),
            processor,
            foreign,
            reference: None,
            losable: None,
            may_refuse: Box::new(|_, _| false),
            tolerance: 1e-4,
            steps: 0,
            networks: millstream_zoo::names().collect(),
            slow: None,
            patience: Duration::from_secs(60),
            makes_tiles: true,
        }
    }

    /// It makes no tiles of rows, and refuses them.
    #[must_use]
    pub fn without_tiles(mut self) -> Self {
        self.makes_tiles = false;
        self
    }

    /// Also compares it with another backend, whose results count as right.
    #[must_use]
    pub fn compared_with(
        mut self,
        processor: Processor,
        open: impl Fn(&Arc<Model>) -> Result<Box<dyn Backend>, BackendError> + Send + Sync + 'static,
    ) -> Self {
        self.reference = Some((Box::new(open), processor));
        self
    }

    /// Lets it refuse some operators. Those that it supports nevertheless are tested.
    #[must_use]
    pub fn refusing(mut self, may_refuse: impl Fn(&Model, OperatorId) -> bool + Send + Sync + 'static) -> Self {
        self.may_refuse = Box::new(may_refuse);
        self
    }

    /// Says that it can lose its device. `open` opens it on a device that nobody else uses.
    #[must_use]
    pub fn losing(
        mut self,
        open: impl Fn(&Arc<Model>) -> Result<Losable, BackendError> + Send + Sync + 'static,
    ) -> Self {
        self.losable = Some(Box::new(open));
        self
    }

    /// The largest difference of an element of one operator's result, relative to the result's largest element. Whole
    /// networks, where differences add up, may differ ten times as much.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f32) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Lets it round halves otherwise than the reference when it quantises: an operator's results of 8 bits may differ
    /// by one step. Whole quantised networks, along which steps add up to anything, are then compared with themselves
    /// only.
    #[must_use]
    pub fn rounding_otherwise(mut self) -> Self {
        self.steps = 1;
        self
    }

    /// Tests only these networks of the zoo.
    #[must_use]
    pub fn networks(mut self, names: impl IntoIterator<Item = &'static str>) -> Self {
        self.networks = names.into_iter().collect();
        self
    }

    /// Runs only these networks as a whole, and of operators with more than so many multiply-accumulates only a part:
    /// for devices that are emulated.
    #[must_use]
    pub fn slow(mut self, whole: impl IntoIterator<Item = &'static str>, most_macs: u64) -> Self {
        self.slow = Some(Slow { whole: whole.into_iter().collect(), most_macs });
        self
    }

    /// How long a frame may take on a device that is lost before it counts as hanging.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }
}
