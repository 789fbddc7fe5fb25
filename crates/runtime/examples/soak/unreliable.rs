//! A backend whose device comes and goes, and whose operators panic and hang when they are told to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use millstream_backend::{Backend, BackendError, Canceller, PreparedSegment, Segment, Tensor};
use millstream_board::Processor;
use millstream_graph::OperatorId;

/// What goes wrong.
#[derive(Default)]
pub(crate) struct Faults {
    /// Whether the accelerator is gone.
    pub(crate) is_device_gone: AtomicBool,
    /// Segments that panic from now on.
    pub(crate) panics: AtomicU64,
    /// Segments that hang from now on, until they are cancelled.
    pub(crate) hangs: AtomicU64,
}

/// Takes one away, if there is one.
fn take(count: &AtomicU64) -> bool {
    count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

/// Another backend with faults. Accelerators are its first core in disguise.
pub(crate) struct Unreliable {
    inner: Arc<dyn Backend>,
    faults: Arc<Faults>,
}

impl Unreliable {
    pub(crate) fn new(inner: Arc<dyn Backend>, faults: Arc<Faults>) -> Self {
        Self { inner, faults }
    }
}

fn device_lost() -> BackendError {
    BackendError::DeviceLost { backend: "unreliable".to_owned(), detail: "it was unplugged".to_owned() }
}

impl Backend for Unreliable {
    fn name(&self) -> &str {
        "unreliable"
    }

    fn supports(&self, _: OperatorId, _: &Processor) -> bool {
        true
    }

    fn prepare(&self, segment: &Segment, processor: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
        let is_accelerator = processor.is_accelerator();
        if is_accelerator && self.faults.is_device_gone.load(Ordering::SeqCst) {
            return Err(device_lost());
        }
        let core = Processor::new("B", [0]);
        let inner = self.inner.prepare(segment, if is_accelerator { &core } else { processor })?;
        let is_cancelled = Arc::new(Cancelled { flag: AtomicBool::new(false), inner: inner.canceller() });
        Ok(Box::new(Prepared { inner, is_accelerator, faults: Arc::clone(&self.faults), is_cancelled }))
    }

    fn begin_schedule(&self) {
        self.inner.begin_schedule();
    }
}

struct Cancelled {
    flag: AtomicBool,
    inner: Option<Arc<dyn Canceller>>,
}

impl Canceller for Cancelled {
    fn cancel(&self) {
        self.flag.store(true, Ordering::SeqCst);
        self.inner.iter().for_each(|inner| inner.cancel());
    }
}

struct Prepared {
    inner: Box<dyn PreparedSegment>,
    is_accelerator: bool,
    faults: Arc<Faults>,
    is_cancelled: Arc<Cancelled>,
}

impl Prepared {
    fn fault(&self) -> Result<(), BackendError> {
        self.is_cancelled.flag.store(false, Ordering::SeqCst);
        if self.is_accelerator && self.faults.is_device_gone.load(Ordering::SeqCst) {
            return Err(device_lost());
        }
        assert!(!take(&self.faults.panics), "a panic that was asked for");
        if take(&self.faults.hangs) {
            while !self.is_cancelled.flag.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            return Err(BackendError::failed("cancelled"));
        }
        Ok(())
    }
}

impl PreparedSegment for Prepared {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
        self.fault()?;
        self.inner.run(inputs)
    }

    fn run_into(&mut self, inputs: &[Tensor], output: &mut [u8]) -> Result<(), BackendError> {
        self.fault()?;
        self.inner.run_into(inputs, output)
    }

    fn canceller(&self) -> Option<Arc<dyn Canceller>> {
        Some(Arc::clone(&self.is_cancelled) as _)
    }
}
