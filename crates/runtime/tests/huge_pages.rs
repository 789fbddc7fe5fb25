//! What a stage's segments have allocated lies in huge pages. In a process of its own: it counts the process's pages.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;

use millstream_backend::{Backend, BackendError, PreparedSegment, Segment, Tensor};
use millstream_board::Processor;
use millstream_graph::OperatorId;
use millstream_runtime::{Engine, EngineOptions};
use millstream_test_support::{bytes_in_huge_pages, refused_huge_pages, were_refused_since};
use support::{chain, pipeline};

const WEIGHTS: usize = 8 << 20;
const BYTES: usize = 4 * WEIGHTS;

/// Adds the last of many weights.
struct Heavy;

struct Weighted(Vec<f32>);

impl Backend for Heavy {
    fn name(&self) -> &str {
        "heavy"
    }

    fn supports(&self, _: OperatorId, _: &Processor) -> bool {
        true
    }

    fn prepare(&self, _: &Segment, _: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
        Ok(Box::new(Weighted((0..WEIGHTS).map(|index| index as f32).collect())))
    }
}

impl PreparedSegment for Weighted {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
        Ok(vec![Tensor::from_f32([1], vec![inputs[0].as_f32().unwrap()[0] + self.0[WEIGHTS - 1]])])
    }
}

#[test]
fn weights_of_every_replica_are_moved_before_the_first_frame() {
    let Some(before) = bytes_in_huge_pages() else { return };
    let refused_before = refused_huge_pages();
    let graph = chain(2);
    let schedule = pipeline(&graph, &[1, 2]);
    let engine = Engine::new(&graph, &schedule, &[Arc::new(Heavy)], &EngineOptions::default()).unwrap();
    let huge = bytes_in_huge_pages().unwrap().saturating_sub(before);
    assert!(huge >= 3 * BYTES / 8 * 7 || were_refused_since(refused_before), "{huge}");

    let frames = (0..4).map(|index| vec![Tensor::from_f32([1], vec![index as f32])]);
    for (index, result) in engine.run(frames).enumerate() {
        assert_eq!(result.outcome.unwrap()[0].as_f32().unwrap(), [index as f32 + 2.0 * (WEIGHTS - 1) as f32]);
    }
}
