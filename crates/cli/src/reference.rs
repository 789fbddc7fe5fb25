//! What sequential inference gives for some frames, to compare with.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use millstream_backend::{Backend, Segment, Tensor};
use millstream_board::{Board, Processor};
use millstream_profile::sample_frame;
use millstream_runtime::FrameError;

use crate::model::Network;

/// Different frames that take turns.
const DIFFERENT_FRAMES: u64 = 4;
/// Results may differ from sequential inference by this much, relative to the largest element.
const TOLERANCE: f32 = 1e-4;

/// Some frames, and the network's outputs for them, made on one core without any schedule.
pub(crate) struct Reference {
    frames: Vec<Vec<Tensor>>,
    expected: Vec<Vec<Tensor>>,
}

impl Reference {
    /// Runs the network as a whole on the different frames.
    pub(crate) fn new(network: &Network, backend: &Arc<dyn Backend>, board: &Board) -> Result<Self> {
        let graph = network.model.graph();
        let frames = (0..DIFFERENT_FRAMES).map(|seed| sample_frame(graph, seed)).collect::<Result<Vec<_>, _>>()?;
        let cluster = board.clusters().first().context("the board has no cluster")?;
        let core = cluster.cores.first().context("the cluster has no core")?.id;
        let processor = Processor { cluster: cluster.label.clone(), cores: vec![core] };
        let segment = Segment::whole(graph);
        // The segment's outputs are in an order of its own.
        let place = |output| segment.boundary.outputs.iter().position(|value| value == output);
        let places: Vec<usize> = graph.outputs().iter().filter_map(place).collect();
        let mut whole = backend.prepare(&segment, &processor)?;
        let mut expected = Vec::with_capacity(frames.len());
        for frame in &frames {
            let made = whole.run(frame)?;
            expected.push(places.iter().filter_map(|&place| made.get(place).cloned()).collect());
        }
        Ok(Self { frames, expected })
    }

    /// The frame of this number; they take turns.
    pub(crate) fn frame(&self, number: u64) -> Vec<Tensor> {
        self.frames[(number % DIFFERENT_FRAMES) as usize].clone()
    }

    /// Compares what came of a frame with sequential inference, and returns the largest difference.
    pub(crate) fn check(&self, number: u64, outcome: Result<Vec<Tensor>, FrameError>) -> Result<f32> {
        let made = outcome.with_context(|| format!("frame {number}"))?;
        let difference = self.difference(number, &made)?;
        if difference > TOLERANCE || difference.is_nan() {
            bail!(
                "results differ from sequential inference by {difference:.1e} (relative to the largest element), more than \
                 {TOLERANCE:.0e}"
            );
        }
        Ok(difference)
    }

    /// The largest difference of a frame's outputs, element by element, relative to the largest element.
    fn difference(&self, number: u64, made: &[Tensor]) -> Result<f32> {
        let expected = &self.expected[(number % DIFFERENT_FRAMES) as usize];
        if made.len() != expected.len() {
            bail!("a frame has {} outputs where sequential inference gives {}", made.len(), expected.len());
        }
        made.iter().zip(expected).try_fold(0.0, |largest: f32, (one, other)| Ok(largest.max(difference(one, other)?)))
    }
}

fn difference(tensor: &Tensor, reference: &Tensor) -> Result<f32> {
    if tensor.shape() != reference.shape() || tensor.data_type() != reference.data_type() {
        bail!("an output is {} where sequential inference gives {}", tensor.description(), reference.description());
    }
    match (tensor.as_f32(), reference.as_f32()) {
        (Some(left), Some(right)) => {
            let scale = right.iter().fold(f32::MIN_POSITIVE, |largest, value| largest.max(value.abs()));
            // NaN in one and not in the other must not be lost in a maximum.
            let differs =
                |(left, right): (&f32, &f32)| if left.is_nan() == right.is_nan() { 0.0 } else { f32::INFINITY };
            let apart = |(left, right): (&f32, &f32)| ((left - right).abs() / scale).max(0.0);
            Ok(left.iter().zip(right).map(|pair| apart(pair).max(differs(pair))).fold(0.0, f32::max))
        }
        _ => Ok(if tensor.bytes() == reference.bytes() { 0.0 } else { f32::INFINITY }),
    }
}
