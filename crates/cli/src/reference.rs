//! What sequential inference gives for some frames, to compare with.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use millstream_backend::{Backend, Tensor};
use millstream_board::Board;
use millstream_frames::{Difference, Frame, Tolerance, compare};

use crate::model::Network;

/// Some frames, and the network's outputs for them, made on one core without any schedule.
pub(crate) struct Reference {
    frames: Vec<Frame>,
    expected: Vec<Vec<Tensor>>,
    outputs: Vec<String>,
}

impl Reference {
    /// Runs the network as a whole on its frames.
    pub(crate) fn new(network: &Network, backend: &Arc<dyn Backend>, board: &Board) -> Result<Self> {
        let graph = network.model.graph();
        let frames = network.frames(&**backend, board)?.to_vec();
        let mut whole = network.prepare_whole(&**backend, board)?;
        let mut expected = Vec::with_capacity(frames.len());
        for frame in &frames {
            let results = whole.run(&frame.tensors);
            expected.push(results.with_context(|| format!("the network refuses the frame '{}'", frame.label))?);
        }
        let outputs = graph.outputs().iter().map(|&id| graph.value(id).name.clone()).collect();
        Ok(Self { frames, expected, outputs })
    }

    /// How many different frames there are.
    pub(crate) fn different_frames(&self) -> usize {
        self.frames.len()
    }

    /// The place of the frame of this number among the different ones; they take turns.
    pub(crate) fn place(&self, number: u64) -> usize {
        (number % self.frames.len().max(1) as u64) as usize
    }

    /// The frame of this number.
    pub(crate) fn frame(&self, number: u64) -> Vec<Tensor> {
        self.frames[self.place(number)].tensors.clone()
    }

    /// What the frame of this number is called; the same frame has another name each time that it comes.
    pub(crate) fn label(&self, number: u64) -> String {
        let label = &self.frames[self.place(number)].label;
        match number / self.frames.len().max(1) as u64 {
            0 => label.clone(),
            turn => format!("{label}-{}", turn + 1),
        }
    }

    /// The names of the results, in order.
    pub(crate) fn outputs(&self) -> &[String] {
        &self.outputs
    }

    /// Compares what came of a frame with sequential inference, and returns the largest difference, relative to the largest element.
    pub(crate) fn check(&self, number: u64, results: &[Tensor]) -> Result<f64> {
        let expected = &self.expected[self.place(number)];
        if results.len() != expected.len() {
            bail!("a frame has {} outputs where sequential inference gives {}", results.len(), expected.len());
        }
        let mut largest: f64 = 0.0;
        for ((output, result), expected) in self.outputs.iter().zip(results).zip(expected) {
            let difference = compare(result, expected, Tolerance::default())
                .with_context(|| format!("the result '{output}' of {}", self.label(number)))?;
            if difference.wrong > 0 {
                bail!(
                    "the result '{output}' of {} differs from sequential inference: {}",
                    self.label(number),
                    describe(&difference)
                );
            }
            largest = largest.max(difference.largest);
        }
        Ok(largest)
    }
}

/// How many elements differ, and the worst of them.
pub(crate) fn describe(difference: &Difference) -> String {
    let elements = if difference.wrong == 1 { "element" } else { "elements" };
    let worst = difference
        .worst
        .iter()
        .map(|worst| format!("{:?} is {} instead of {}", worst.index, worst.found, worst.expected));
    format!("{} {elements} by up to {:.1e} of the largest; {}", difference.wrong, difference.largest, worst.collect::<Vec<_>>().join(", "))
}
