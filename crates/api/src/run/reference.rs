//! What sequential inference gives for some frames, to compare with.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use millstream_backend::{Backend, Tensor, WholeNetwork};
use millstream_board::{Board, Processor};
use millstream_frames::{Difference, Frame, Tolerance, compare, largest_difference};
use millstream_onnx::Model;

use crate::backends::first_core::first_core;
use crate::backends::unoptimised;
use crate::error::Error;
use crate::network::Network;
use crate::run::limited::run_within;

/// Some frames, and the network's outputs for them, made on one core without any schedule.
pub(crate) struct Reference {
    frames: Vec<Frame>,
    expected: Vec<Vec<Tensor>>,
    outputs: Vec<String>,
    model: Arc<Model>,
    processor: Processor,
    /// How much rounding alone changes the results; found out when somebody has to know.
    rounding: OnceLock<f64>,
}

impl Reference {
    /// Runs the network as a whole on its frames, each for as long as `limit` at most.
    pub(crate) fn new(
        network: &Network,
        backend: &dyn Backend,
        board: &Board,
        limit: Option<Duration>,
    ) -> Result<Self, Error> {
        let graph = network.graph();
        let frames = network.frames(backend, board)?.to_vec();
        let mut whole = network.prepare_whole(backend, board)?;
        let mut expected = Vec::with_capacity(frames.len());
        for frame in &frames {
            let results = run_within(&mut whole, &frame.tensors, limit);
            expected.push(results.map_err(|source| Error::Refused { label: frame.label.clone(), source })?);
        }
        let outputs = graph.outputs().iter().map(|&id| graph.value(id).name.clone()).collect();
        Ok(Self {
            frames,
            expected,
            outputs,
            model: Arc::clone(network.model()),
            processor: first_core(board, backend, graph)?,
            rounding: OnceLock::new(),
        })
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
            turn => format!("{label}@{}", turn + 1),
        }
    }

    /// The names of the results, in order.
    pub(crate) fn outputs(&self) -> &[String] {
        &self.outputs
    }

    /// Compares what came of a frame with sequential inference, and returns the largest difference, relative to the
    /// largest element. A network that enlarges what is rounded may differ by more than others do: by what rounding
    /// alone does to it.
    pub(crate) fn check(&self, number: u64, results: &[Tensor]) -> Result<f64, Error> {
        let expected = &self.expected[self.place(number)];
        if results.len() != expected.len() {
            let (found, wanted) = (results.len(), expected.len());
            return Err(Error::Defect(format!("a frame has {found} outputs, sequential inference gives {wanted}")));
        }
        let mut largest: f64 = 0.0;
        for ((output, result), expected) in self.outputs.iter().zip(results).zip(expected) {
            let mut difference = compare(result, expected, Tolerance::default())?;
            if difference.wrong > 0 && difference.largest.is_finite() {
                let tolerance = Tolerance { rounding: self.rounding()?, ..Tolerance::default() };
                difference = compare(result, expected, tolerance)?;
            }
            if difference.wrong > 0 {
                return Err(self.different(output, number, &difference));
            }
            largest = largest.max(difference.largest);
        }
        Ok(largest)
    }

    fn different(&self, output: &str, number: u64, difference: &Difference) -> Error {
        let random = self.model.graph().operators().iter().find(|operator| operator.is_random());
        let why = random.map_or_else(String::new, |operator| {
            format!("; the network draws random numbers ('{}'), so no two runs agree", operator.name)
        });
        let detail = format!("{}{why}", describe(difference));
        Error::Different { output: output.to_owned(), frame: self.label(number), detail }
    }

    /// How much results differ if every operator is computed and rounded by itself.
    fn rounding(&self) -> Result<f64, Error> {
        if let Some(rounding) = self.rounding.get() {
            return Ok(*rounding);
        }
        let backend = unoptimised(&self.model)?;
        let mut plain = WholeNetwork::prepare(self.model.graph(), &*backend, &self.processor)?;
        let mut rounding: f64 = 0.0;
        for (frame, expected) in self.frames.iter().zip(&self.expected) {
            rounding = rounding.max(largest_difference(&plain.run(&frame.tensors)?, expected)?);
        }
        tracing::info!(rounding, "the network enlarges what is rounded");
        Ok(*self.rounding.get_or_init(|| rounding))
    }
}

/// How many elements differ, and the worst of them.
pub(crate) fn describe(difference: &Difference) -> String {
    let elements = if difference.wrong == 1 { "element" } else { "elements" };
    let worst = difference
        .worst
        .iter()
        .map(|worst| format!("{:?} is {} instead of {}", worst.index, worst.found, worst.expected));
    format!(
        "{} {elements} by up to {:.1e} of the largest; {}",
        difference.wrong,
        difference.largest,
        worst.collect::<Vec<_>>().join(", ")
    )
}
