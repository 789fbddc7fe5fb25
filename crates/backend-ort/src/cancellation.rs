//! Ending a run from another thread.

use std::sync::{Arc, Mutex, MutexGuard};

use millstream_backend::{BackendError, Canceller};
use ort::session::{RunOptions, SelectedOutputMarker};

use crate::lock::lock;

/// Knows the run of one session that is under way, if any, and ends it when it is told to.
///
/// Every run has options of its own, so that no word to end one can reach the next.
#[derive(Default)]
pub(crate) struct Cancellation(Mutex<Option<Running>>);

struct Running {
    options: Arc<dyn Terminate>,
    is_cancelled: bool,
}

impl Cancellation {
    /// Does what runs the session with `options`, which can be ended until it returns. `device` is what computes, if
    /// that may go away.
    pub(crate) fn during<O: SelectedOutputMarker + 'static, R>(
        &self,
        options: RunOptions<O>,
        device: Option<&str>,
        work: impl FnOnce(&RunOptions<O>) -> ort::Result<R>,
    ) -> Result<R, BackendError> {
        let options = Arc::new(Options(options));
        *self.state() = Some(Running { options: Arc::clone(&options) as _, is_cancelled: false });
        let end = End(self);
        let made = work(&options.0);
        let was_cancelled = end.now();
        made.map_err(|error| if was_cancelled { BackendError::Cancelled } else { failure(&error, device) })
    }

    fn state(&self) -> MutexGuard<'_, Option<Running>> {
        lock(&self.0)
    }
}

/// Why a run failed. Of a device, what its provider says of itself and not of a frame means that no later frame will
/// succeed.
fn failure(error: &ort::Error, device: Option<&str>) -> BackendError {
    use ort::error::ErrorCode::{DeviceReset, EngineError, ExecutionProviderFailure};

    let detail = error.to_string();
    match device {
        Some(device) if [DeviceReset, EngineError, ExecutionProviderFailure].contains(&error.code()) => {
            BackendError::DeviceLost { backend: device.to_owned(), detail }
        }
        Some(device) => BackendError::failed(format!("the engine {device}: {detail}")),
        None => BackendError::failed(detail),
    }
}

impl Canceller for Cancellation {
    fn cancel(&self) {
        if let Some(running) = &mut *self.state() {
            running.is_cancelled = running.options.terminate();
        }
    }
}

/// Forgets the run, however it ends.
struct End<'a>(&'a Cancellation);

impl End<'_> {
    /// Whether the run had been told to end.
    fn now(self) -> bool {
        self.0.state().take().is_some_and(|running| running.is_cancelled)
    }
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.state().take();
    }
}

/// What can be told to end, and whether it was possible to tell.
trait Terminate: Send + Sync {
    fn terminate(&self) -> bool;
}

/// Options that one thread runs with, and that others only reach as [`Terminate`].
struct Options<O: SelectedOutputMarker>(RunOptions<O>);

#[expect(
    unsafe_code,
    reason = "the library shares options with outputs among no threads, as these could run with them at once"
)]
// SAFETY: the library's options can be shared but for the outputs that they may contain. Those are used only by a run,
// and the only run is the one in `Cancellation::during`, which lends the options to nobody else; other threads have
// `dyn Terminate`, which sets a flag of ONNX Runtime's that is made to be set while another thread runs.
unsafe impl<O: SelectedOutputMarker> Sync for Options<O> {}

impl<O: SelectedOutputMarker> Terminate for Options<O> {
    fn terminate(&self) -> bool {
        self.0.terminate().is_ok()
    }
}

#[cfg(test)]
mod tests {
    use ort::error::ErrorCode;

    use super::*;

    #[test]
    fn a_provider_that_fails_as_a_whole_has_lost_its_device() {
        let error = |code| ort::Error::new_with_code(code, "NPU crashed");
        for code in [ErrorCode::DeviceReset, ErrorCode::EngineError, ErrorCode::ExecutionProviderFailure] {
            let lost = failure(&error(code), Some("htp (QNNExecutionProvider)"));
            assert!(
                matches!(&lost, BackendError::DeviceLost { backend, .. } if backend == "htp (QNNExecutionProvider)")
            );
            assert!(matches!(failure(&error(code), None), BackendError::Failed { .. }), "cores stay");
        }
        let frame = failure(&error(ErrorCode::InvalidArgument), Some("htp (QNNExecutionProvider)"));
        assert!(
            matches!(&frame, BackendError::Failed { detail } if detail.contains("htp") && detail.contains("NPU crashed"))
        );
    }
}
