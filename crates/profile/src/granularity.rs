//! Times of convolutions on an accelerator by how much each of its threads computes.

use std::collections::HashSet;

use millstream_backend::{BackendError, Observed, Segment, Tensor};
use millstream_board::Processor;
use millstream_graph::{Graph, OperatorId, OperatorKind};

/// Frames of a measurement after one that settles caches.
const FRAMES: usize = 3;

/// A convolution that was timed with its work divided in some way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GranularityTime<W> {
    /// The convolution.
    pub operator: OperatorId,
    /// Its multiply-accumulates.
    pub macs: u64,
    /// What each thread computed.
    pub work: W,
    /// Median time on the device, without transfers.
    pub seconds: f64,
}

/// Times up to `most` convolutions of different shapes, of the largest to the smallest amount of work, with every one
/// of `works`. `choose` makes the backend divide the work of what it prepares next in that way; what it did before is
/// the caller's to restore. `go_on` is asked before each convolution.
///
/// # Errors
/// What preparing or running returns.
pub fn measure_granularity<W: Copy>(
    graph: &Graph,
    backend: &dyn Observed,
    processor: &Processor,
    works: &[W],
    choose: &mut dyn FnMut(W),
    most: usize,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Vec<GranularityTime<W>>, BackendError> {
    let mut samples = Vec::new();
    for operator in different_convolutions(graph, backend, processor, most) {
        if !go_on() {
            break;
        }

        let segment = Segment::new(graph, vec![operator]);
        let shapes = segment.boundary.inputs.iter().filter_map(|&value| graph.value(value).shape.clone());
        let inputs: Vec<Tensor> =
            shapes.map(|shape| Tensor::from_f32(shape.clone(), vec![0.5; shape.elements() as usize])).collect();

        for &work in works {
            choose(work);
            let mut frames = 0;
            let times = backend.trace(&segment, processor, &inputs, &mut |_| {
                frames += 1;
                frames < FRAMES
            })?;
            let mut seconds: Vec<f64> = times.into_iter().flat_map(|times| times.seconds).collect();
            seconds.sort_by(f64::total_cmp);
            if let Some(&median) = seconds.get(seconds.len() / 2) {
                let macs = graph.operator(operator).work.macs;
                samples.push(GranularityTime { operator, macs, work, seconds: median });
            }
        }
    }
    Ok(samples)
}

/// Convolutions that differ in shape, evenly chosen from the largest to the smallest: the largest ones matter most.
fn different_convolutions(
    graph: &Graph,
    backend: &dyn Observed,
    processor: &Processor,
    most: usize,
) -> Vec<OperatorId> {
    let mut seen = HashSet::new();
    let is_new = |&id: &OperatorId| {
        let operator = graph.operator(id);
        let is_convolution = matches!(operator.kind, OperatorKind::Convolution(_)) && backend.supports(id, processor);
        is_convolution && seen.insert(format!("{:?} {:?}", operator.kind, operator.work))
    };
    let mut convolutions: Vec<OperatorId> = graph.order().iter().copied().filter(is_new).collect();
    convolutions.sort_by_key(|&id| graph.operator(id).work.macs);
    let step = convolutions.len().div_ceil(most.max(1)).max(1);
    convolutions.into_iter().rev().step_by(step).collect()
}
