//! Sessions of whole networks that work side by side.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, unbounded};
use millstream_backend::{Backend, BackendError, Tensor, WholeNetwork};
use millstream_board::Processor;

use super::measurement::Measurement;
use crate::error::Error;
use crate::network::Network;
use crate::threads::{SetOnDrop, thread};

/// Whole-network sessions, each on a thread of its own that sleeps between turns.
pub(super) struct Sessions {
    orders: Vec<Sender<Order>>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

/// A turn: work until asked to stop, then return how long each frame took.
struct Order {
    frame: Vec<Tensor>,
    /// Where it reports that it is ready, and waits until the other end is closed.
    ready: Sender<()>,
    go: Receiver<()>,
    stop: Arc<AtomicBool>,
    report: Sender<Result<(Vec<f64>, Instant), BackendError>>,
}

impl Sessions {
    /// Prepares the network on each of the processors, whose threads are pinned to their first core if `is_pinned`.
    pub(super) fn start(
        network: &Network,
        processors: Vec<Processor>,
        backend: &Arc<dyn Backend>,
        is_pinned: bool,
    ) -> Result<Self, Error> {
        let graph = Arc::clone(network.graph());
        let mut sessions = Self { orders: Vec::new(), threads: Vec::new() };
        let failure: Arc<Mutex<Option<BackendError>>> = Arc::default();
        let mut ready: Vec<Receiver<()>> = Vec::new();

        for processor in processors {
            let (orders, incoming) = unbounded::<Order>();
            let (ready_sender, is_ready) = unbounded();
            let (graph, backend, failure) = (Arc::clone(&graph), Arc::clone(backend), Arc::clone(&failure));
            let body = move || {
                if is_pinned && let Some(core) = processor.cores.first() {
                    let _ = millstream_machine::pin_current_thread(*core);
                }
                match WholeNetwork::prepare(&graph, &*backend, &processor) {
                    Ok(mut prepared) => {
                        drop(ready_sender);
                        for Order { frame, ready, go, stop, report } in incoming {
                            let _ = ready.send(());
                            // Whoever waits for all to be ready would wait for ever for one that has ended if others
                            // held this.
                            drop(ready);
                            let _ = go.recv();
                            let times = repeated(&mut prepared, &frame, &stop);
                            let _ = report.send(times.map(|times| (times, Instant::now())));
                        }
                    }
                    Err(error) => *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error),
                }
            };
            let no_thread = |source| Error::Thread { what: "cannot start an instance".to_owned(), source };
            sessions.threads.push(thread("instance").spawn(body).map_err(no_thread)?);
            sessions.orders.push(orders);
            ready.push(is_ready);
        }

        for is_ready in ready {
            // Ends when the thread drops its sender, which it does when it is ready or has failed.
            let _ = is_ready.recv();
        }
        match failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error.into()),
            None => Ok(sessions),
        }
    }

    /// Works on copies of the frame for about the given time.
    pub(super) fn measure(&self, frame: &[Tensor], time: Duration) -> Result<Measurement, Error> {
        let stop = Arc::new(AtomicBool::new(false));
        // However this ends, or instances would work for ever.
        let over = SetOnDrop(&stop);
        let (report, reports) = unbounded();
        let (ready, are_ready) = unbounded();
        let (start, go) = unbounded();

        for orders in &self.orders {
            let order = Order {
                frame: frame.to_vec(),
                ready: ready.clone(),
                go: go.clone(),
                stop: Arc::clone(&stop),
                report: report.clone(),
            };
            orders.send(order).map_err(|_| has_ended())?;
        }

        // Whoever has ended holds none of these.
        drop((ready, report));
        for _ in &self.orders {
            are_ready.recv().map_err(|_| has_ended())?;
        }
        drop::<Sender<()>>(start);
        let begin = Instant::now();
        std::thread::sleep(time);
        drop(over);

        let mut latencies = Vec::new();
        let mut frames_per_second = 0.0;
        for _ in &self.orders {
            let (times, end) = reports.recv().map_err(|_| has_ended())??;
            // Each instance's own time: the slow ones finish their last frame later.
            frames_per_second += times.len() as f64 / end.duration_since(begin).as_secs_f64();
            latencies.extend(times);
        }
        Measurement::of(&latencies, frames_per_second, None)
    }
}

fn has_ended() -> Error {
    Error::Defect("an instance has ended".to_owned())
}

impl Drop for Sessions {
    fn drop(&mut self) {
        self.orders.clear();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Seconds of each run of a frame, again and again until `stop`; once at least, however late this thread has its turn.
fn repeated(prepared: &mut WholeNetwork, frame: &[Tensor], stop: &AtomicBool) -> Result<Vec<f64>, BackendError> {
    let mut times = Vec::new();
    loop {
        let before = Instant::now();
        prepared.run(frame)?;
        times.push(before.elapsed().as_secs_f64());
        if stop.load(Ordering::Relaxed) {
            return Ok(times);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
    use millstream_backend::{PreparedSegment, Segment};
    use millstream_graph::OperatorId;
    use millstream_onnx::{ModelBuilder, ReadOptions};

    use super::*;

    /// Panics on one of its processors, at the first frame.
    struct Panicking;

    struct Copying {
        panics: bool,
    }

    impl Backend for Panicking {
        fn name(&self) -> &str {
            "panicking"
        }

        fn supports(&self, _: OperatorId, _: &Processor) -> bool {
            true
        }

        fn prepare(&self, _: &Segment, processor: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
            Ok(Box::new(Copying { panics: processor.cluster == "bad" }))
        }
    }

    impl PreparedSegment for Copying {
        fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
            assert!(!self.panics, "the operator blew up");
            Ok(inputs.to_vec())
        }
    }

    /// Neither the measuring thread nor the other instance waits for it for ever.
    #[test]
    fn an_instance_that_panics_is_an_error() {
        let mut builder = ModelBuilder::new("one");
        let input = builder.input("x", [4]);
        let made = builder.node("Relu", &[&input]);
        builder.output(&made);
        let model = Arc::new(builder.build().unwrap());
        let network = Network::of_model(model, "one", ReadOptions::default());
        let processors = ["bad", "good"].map(Processor::accelerator);
        let backend: Arc<dyn Backend> = Arc::new(Panicking);
        let sessions = Sessions::start(&network, processors.to_vec(), &backend, false).unwrap();
        let frame = [Tensor::from_f32([4], vec![0.0; 4])];
        for _ in 0..2 {
            let measured = sessions.measure(&frame, Duration::from_millis(1));
            assert!(matches!(measured, Err(Error::Defect(_))));
        }
    }
}
