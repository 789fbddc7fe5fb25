//! Measuring through a backend with known times.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::{Duration, Instant};

use millstream_backend::{Backend, BackendError, PreparedSegment, Segment, Tensor};
use millstream_board::{Board, Processor};
use millstream_graph::OperatorId;
use millstream_partition::Chain;
use millstream_profile::{ProfileError, Settings, Workload, measure};

/// Takes 20 microseconds per operator, busily, and makes empty outputs.
struct Clockwork {
    fails: bool,
}

struct Busy {
    time: Duration,
    outputs: usize,
    fails: bool,
}

impl Backend for Clockwork {
    fn name(&self) -> &str {
        "clockwork"
    }

    fn supports(&self, _: OperatorId, _: &Processor) -> bool {
        true
    }

    fn prepare(&self, segment: &Segment, _: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
        let time = Duration::from_micros(20) * segment.operators.len() as u32;
        Ok(Box::new(Busy { time, outputs: segment.boundary.outputs.len(), fails: self.fails }))
    }
}

impl PreparedSegment for Busy {
    fn run(&mut self, _: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
        if self.fails {
            return Err(BackendError::failed("no such kernel"));
        }
        let start = Instant::now();
        while start.elapsed() < self.time {
            std::hint::spin_loop();
        }
        Ok((0..self.outputs).map(|_| Tensor::from_f32([0], Vec::new())).collect())
    }
}

#[test]
fn every_class_gets_samples_of_every_scale() {
    let model = millstream_zoo::build("tiny-darknet").unwrap();
    let chain = Chain::of(model.graph());
    let backend = Clockwork { fails: false };
    let workload = Workload { graph: model.graph(), chain: &chain, backend: &backend };
    let settings = Settings { budget: Duration::from_millis(600), leaves: 8, accuracy: 0.5 };
    let board = Board::detect().unwrap();
    let mut steps = Vec::new();
    let samples = measure(&workload, &board, &settings, &mut |progress| {
        steps.push(progress.done);
        true
    })
    .unwrap();
    assert_eq!(steps, (1..=steps.len()).collect::<Vec<_>>());
    for class in board.processor_classes() {
        let own: Vec<_> = samples.iter().filter(|sample| sample.processor == class).collect();
        assert_eq!(own.len(), 1 + 2 + 4 + 8, "{class}");
        assert_eq!((own[0].start, own[0].end, own[0].input_bytes), (0, chain.blocks().len(), 0));
        assert!(own[2].input_bytes > 0);
        for sample in own {
            let operators = chain.operators(sample.start..sample.end).len();
            // Busy for so long at least; how much longer depends on the machine.
            assert!(sample.time.median_seconds >= 20e-6 * operators as f64, "{sample:?}");
        }
    }
}

#[test]
fn failures_and_interruptions_are_errors() {
    let model = millstream_zoo::build("tiny-darknet").unwrap();
    let chain = Chain::of(model.graph());
    let measure = |fails: bool, go_on: bool| {
        let backend = Clockwork { fails };
        let workload = Workload { graph: model.graph(), chain: &chain, backend: &backend };
        let settings = Settings { budget: Duration::from_millis(50), leaves: 2, accuracy: 0.5 };
        measure(&workload, &Board::detect().unwrap(), &settings, &mut |_| go_on)
    };
    assert!(measure(true, true).unwrap_err().to_string().contains("no such kernel"));
    assert!(matches!(measure(false, false), Err(ProfileError::Interrupted)));
}
