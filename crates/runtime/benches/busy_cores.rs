//! What receiving results costs where every core has a worker with more to do: frames per second of an engine, an
//! instance on each of two cores, over those of two pinned threads that do the same and hand nothing to anybody.
//! Target: 0.99.

#![allow(clippy::print_stdout, clippy::expect_used, reason = "a benchmark prints, and fails by panicking")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use millstream_backend::{Backend, BackendError, PreparedSegment, Segment, Tensor};
use millstream_board::{CoreId, Processor};
use millstream_graph::OperatorId;
use millstream_machine::pin_current_thread;
use millstream_runtime::{Engine, EngineOptions};

const CORES: [CoreId; 2] = [CoreId(0), CoreId(1)];
const TURN: Duration = Duration::from_millis(500);
const ROUNDS: usize = 15;
const FRAME: Duration = Duration::from_millis(7);

/// Adds up numbers that fill a good part of a core's cache, as often as it is told.
#[derive(Clone)]
struct Computing {
    numbers: Arc<[f32]>,
    passes: u32,
}

impl Computing {
    /// With the work of a frame.
    fn calibrated() -> Self {
        let mut some = Self { numbers: (0..1 << 17).map(|number| number as f32).collect(), passes: 512 };
        some.compute();
        let begin = Instant::now();
        some.compute();
        some.passes = (f64::from(some.passes) * FRAME.as_secs_f64() / begin.elapsed().as_secs_f64()) as u32;
        some
    }

    fn compute(&self) {
        for _ in 0..self.passes {
            black_box(black_box(&self.numbers).iter().sum::<f32>());
        }
    }
}

impl Backend for Computing {
    fn name(&self) -> &str {
        "computing"
    }

    fn supports(&self, _: OperatorId, _: &Processor) -> bool {
        true
    }

    fn prepare(&self, _: &Segment, _: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
        let own = Self { numbers: self.numbers.iter().copied().collect(), ..self.clone() };
        Ok(Box::new(own))
    }
}

impl PreparedSegment for Computing {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
        self.compute();
        Ok(inputs.to_vec())
    }
}

/// Frames per second of threads that hand nothing to anybody.
fn alone(work: &Computing) -> f64 {
    let one = |core| {
        let work = Computing { numbers: work.numbers.iter().copied().collect(), ..work.clone() };
        thread::spawn(move || {
            let _ = pin_current_thread(core);
            let begin = Instant::now();
            let mut ends = Vec::new();
            while begin.elapsed() < TURN {
                work.compute();
                ends.push(Instant::now());
            }
            rate(&ends)
        })
    };
    CORES.map(one).into_iter().map(|thread| thread.join().expect("threads that only compute end")).sum()
}

/// Frames per second of one core, by the ends of its frames.
fn rate(ends: &[Instant]) -> f64 {
    let [first, .., last] = ends else { unreachable!("a turn has many frames") };
    (ends.len() - 1) as f64 / last.duration_since(*first).as_secs_f64()
}

/// Frames per second of an engine, whose results the calling thread receives: the sum over its replicas.
fn through(engine: &Engine) -> f64 {
    let begin = Instant::now();
    let frames = std::iter::from_fn(|| (begin.elapsed() < TURN).then(|| vec![Tensor::from_f32([1], vec![0.0])]));
    let mut ends = CORES.map(|_| Vec::new());
    for span in engine.run(frames).flat_map(|result| result.spans) {
        ends[span.replica].push(span.end);
    }
    ends.iter().map(|ends| rate(ends)).sum()
}

fn main() {
    let graph = support::chain(1);
    let schedule = support::pipeline(&graph, &[CORES.len()]);
    let work = Computing::calibrated();
    let Ok(engine) = Engine::new(&graph, &schedule, &[Arc::new(work.clone())], &EngineOptions::default()) else {
        return;
    };
    let mut ratios: Vec<f64> = (0..ROUNDS).map(|_| through(&engine) / alone(&work)).collect();
    ratios.sort_by(f64::total_cmp);
    let [low, median, high] = [ROUNDS / 4, ROUNDS / 2, 3 * ROUNDS / 4].map(|place| ratios[place]);
    println!("frames of {FRAME:?} through an engine over threads alone: {median:.3} ({low:.3} - {high:.3})");
}
