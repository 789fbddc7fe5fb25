//! Running an iterator of frames.

use millstream_backend::Tensor;

use crate::engine::Engine;
use crate::packet::FrameResult;
use crate::sync::{lock, thread};

/// Results of [`Engine::run`], in the order of the frames.
pub struct Results<'a, I> {
    engine: &'a Engine,
    /// `None` once the frames have ended.
    frames: Option<I>,
    /// A frame that found no room.
    held: Option<Vec<Tensor>>,
}

impl<'a, I> Results<'a, I> {
    pub(crate) fn new(engine: &'a Engine, frames: I) -> Self {
        Self { engine, frames: Some(frames), held: None }
    }
}

impl Engine {
    /// Streams frames through the engine: submits while there is room and yields the results in order.
    pub fn run<I: IntoIterator<Item = Vec<Tensor>>>(&self, frames: I) -> Results<'_, I::IntoIter> {
        Results::new(self, frames.into_iter())
    }
}

impl<I: Iterator<Item = Vec<Tensor>>> Iterator for Results<'_, I> {
    type Item = FrameResult;

    fn next(&mut self) -> Option<FrameResult> {
        loop {
            self.submit_all();
            let mut buffer = lock(&self.engine.reorder_buffer);
            if let Some(result) = self.engine.take_ready(&mut buffer) {
                return Some(result);
            }
            // Any frame that leaves the last stage makes room for another, even if it is not its turn yet.
            if self.engine.await_any(&mut buffer).is_none() {
                self.held.as_ref()?;
                // Nothing is in the engine and yet a frame found no room: another thread was submitting at that moment.
                drop(buffer);
                thread::yield_now();
            }
        }
    }
}

impl<I: Iterator<Item = Vec<Tensor>>> Results<'_, I> {
    /// Submits frames while there is room and there are any.
    fn submit_all(&mut self) {
        while let Some(frame) = self.held.take().or_else(|| self.frames.as_mut().and_then(Iterator::next)) {
            match self.engine.try_submit(frame) {
                Ok(Ok(_)) => {}
                Ok(Err(frame)) => {
                    self.held = Some(frame);
                    return;
                }
                Err(_) => break,
            }
        }
        self.frames = None;
    }
}
