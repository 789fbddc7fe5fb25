//! What sequential inference gives for some frames, to compare with.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use millstream_backend::{Backend, Tensor, WholeNetwork};
use millstream_board::{Board, EngineName, Processor};
use millstream_frames::{Difference, Frame, Tolerance, WrongElement, compare, largest_difference};
use millstream_graph::OperatorId;
use millstream_onnx::Model;

use crate::backends::first_core::first_core;
use crate::backends::unoptimised;
use crate::error::Error;
use crate::network::Network;
use crate::run::limited::run_within;
use crate::run::precisions::ResultMakers;

/// What the precision of a device may do to the results at the most: a few times what that of floats of 16 bits does to
/// deep networks. A driver that computes something else is not excused by doing so always.
const MOST_OF_DEVICES: f64 = 0.02;

/// The same of values that are sent in fewer bits.
const MOST_OF_TRANSFERS: f64 = 0.05;

/// Some frames, and the network's outputs for them, made on one core without any schedule.
pub(crate) struct Reference {
    frames: Vec<Frame>,
    expected: Vec<Vec<Tensor>>,
    outputs: Vec<String>,
    model: Arc<Model>,
    backend: Arc<dyn Backend>,
    processor: Processor,
    /// Those that have, or may have, another precision than what made `expected`.
    other_precisions: Vec<Processor>,
    /// What else than the engine of `expected` makes results that are checked.
    others: Vec<String>,
    /// Whether OpenVINO is among these.
    may_be_openvino: bool,
    /// How long a frame may take.
    limit: Option<Duration>,
    /// How much rounding and other precisions change the results; found out when somebody has to know.
    rounding: OnceLock<f64>,
    /// How much values change them that are sent in fewer bits.
    transfers: f64,
}

impl Reference {
    /// Runs the network as a whole on its frames, each for as long as `limit` at most. `makers` are those whose results
    /// will be checked.
    pub(crate) fn new(
        network: &Network,
        backend: Arc<dyn Backend>,
        board: &Board,
        makers: &ResultMakers,
        limit: Option<Duration>,
    ) -> Result<Self, Error> {
        let graph = network.graph();
        let frames = network.frames(&*backend, board)?.to_vec();
        let mut whole = network.prepare_whole(&*backend, board)?;
        let mut expected = Vec::with_capacity(frames.len());
        for frame in &frames {
            let results = run_within(&mut whole, &frame.tensors, limit);
            expected.push(results.map_err(|source| Error::Refused { label: frame.label.clone(), source })?);
        }

        let outputs = graph.outputs().iter().map(|&id| graph.value(id).name.clone()).collect();
        let processor = first_core(board, &*backend, graph)?;
        Ok(Self {
            frames,
            expected,
            outputs,
            model: Arc::clone(network.model()),
            backend,
            other_precisions: makers.of_other_precision(board, processor.engine),
            others: makers.beside(processor.engine),
            may_be_openvino: makers.have_openvino(board),
            processor,
            limit,
            rounding: OnceLock::new(),
            transfers: 0.0,
        })
    }

    /// The same where values that are sent in fewer bits change the results by so much of the largest element.
    pub(crate) fn with_transfers(self, transfers: f64) -> Self {
        Self { transfers: transfers.min(MOST_OF_TRANSFERS), ..self }
    }

    /// The largest difference of results, each for the frame of its place, from what is expected, relative to the
    /// largest element.
    pub(crate) fn largest_difference(&self, results: &[Vec<Tensor>]) -> Result<f64, Error> {
        let mut differences =
            results.iter().zip(&self.expected).map(|(results, expected)| largest_difference(results, expected));
        differences.try_fold(0.0, |largest: f64, difference| Ok(largest.max(difference?)))
    }

    /// The different frames.
    pub(crate) fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// What computes it.
    pub(crate) fn engine(&self) -> EngineName {
        self.processor.engine
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
    /// alone does to it, another precision of the engines that compute it, or of what is sent between hosts.
    pub(crate) fn check(&self, number: u64, results: &[Tensor]) -> Result<f64, Error> {
        let expected = &self.expected[self.place(number)];
        if results.len() != expected.len() {
            let (found, wanted) = (results.len(), expected.len());
            return Err(Error::Defect(format!("a frame has {found} outputs, sequential inference gives {wanted}")));
        }
        let mut largest: f64 = 0.0;
        for ((output, result), expected) in self.outputs.iter().zip(results).zip(expected) {
            let mut difference = compare(result, expected, Tolerance::default())?;
            // What sending does is known already, what rounding does takes long to find out.
            let with_rounding = |rounding| Tolerance { rounding, ..Tolerance::default() };
            if difference.wrong > 0 && difference.largest.is_finite() && self.transfers > 0.0 {
                difference = compare(result, expected, with_rounding(self.transfers))?;
            }
            if difference.wrong > 0 && difference.largest.is_finite() {
                difference = compare(result, expected, with_rounding(self.rounding()?.max(self.transfers)))?;
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
        let why = match random {
            Some(operator) => {
                format!("; the network draws random numbers ('{}'), so no two runs agree", operator.name)
            }
            None => self.suspicion(difference),
        };
        let detail = format!("{}{why}", describe(difference));
        let reference = self.processor.engine.title().to_owned();
        Error::Different { output: output.to_owned(), frame: self.label(number), reference, detail }
    }

    /// What to look at where results differ.
    fn suspicion(&self, difference: &Difference) -> String {
        let is_lost = |worst: &WrongElement| worst.expected == "NaN" && self.may_be_openvino;
        let is_missed = |worst: &WrongElement| worst.found == "NaN" && self.processor.engine.is_openvino();
        let nan = if difference.worst.iter().any(|worst| is_lost(worst) || is_missed(worst)) {
            "; where ONNX gives NaN, OpenVINO gives a number (in Relu, Clip, Max, Min and MaxPool)"
        } else {
            ""
        };
        if self.others.is_empty() {
            return nan.to_owned();
        }
        let (others, reference) = (self.others.join(", "), self.processor.engine);
        format!(
            "{nan}; {others} may have computed it: a schedule with {reference} alone shows whether that is the cause"
        )
    }

    /// How much results differ if every operator is computed and rounded by itself, or the network with another of the
    /// precisions. One with which the whole network can't be computed excuses nothing.
    fn rounding(&self) -> Result<f64, Error> {
        if let Some(rounding) = self.rounding.get() {
            return Ok(*rounding);
        }
        let unoptimised = unoptimised(&self.model)?;
        let mut rounding = self.differs_on(&*unoptimised, &self.processor)?;
        for processor in &self.other_precisions {
            let supports = |&id: &OperatorId| self.backend.supports(id, processor);
            if !self.model.graph().order().iter().all(supports) {
                continue;
            }
            match self.differs_on(&*self.backend, processor) {
                Ok(differs) if processor.is_accelerator() && differs > MOST_OF_DEVICES => {
                    tracing::warn!(%processor, differs, "that is more than the precision of a device explains");
                    rounding = rounding.max(MOST_OF_DEVICES);
                }
                Ok(differs) => rounding = rounding.max(differs),
                Err(error) => {
                    tracing::warn!(%processor, %error, "what this precision does to the network is not known");
                }
            }
        }
        tracing::info!(rounding, "results may differ by a few times what rounding and other precisions change");
        Ok(*self.rounding.get_or_init(|| rounding))
    }

    /// By how much the network's results as a whole on a processor differ from what is expected, at the most.
    fn differs_on(&self, backend: &dyn Backend, processor: &Processor) -> Result<f64, Error> {
        let mut whole = WholeNetwork::prepare(self.model.graph(), backend, processor)?;
        let mut largest: f64 = 0.0;
        for (frame, expected) in self.frames.iter().zip(&self.expected) {
            let results = run_within(&mut whole, &frame.tensors, self.limit)?;
            largest = largest.max(largest_difference(&results, expected)?);
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
    format!(
        "{} {elements} by up to {:.1e} of the largest; {}",
        difference.wrong,
        difference.largest,
        worst.collect::<Vec<_>>().join(", ")
    )
}

#[cfg(all(test, feature = "ort"))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_backend::{BackendError, PreparedSegment, Segment};
    use millstream_board::{Accelerator, AcceleratorKind, EngineSet};
    use millstream_onnx::{ModelBuilder, ReadOptions};

    use super::*;
    use crate::machine::Machine;

    /// Computes a network of one rectifier, with less precision so many times too large as it says.
    struct Rectifying {
        reduced: f32,
        /// Whether it is refused with less precision.
        is_refused: bool,
    }

    struct Rectified(f32);

    impl Backend for Rectifying {
        fn name(&self) -> &str {
            "rectifying"
        }

        fn supports(&self, _: OperatorId, processor: &Processor) -> bool {
            processor.engine.reduced_precision().is_none() || !self.is_refused
        }

        fn prepare(&self, _: &Segment, processor: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
            let is_reduced = processor.is_accelerator() || processor.engine.reduced_precision().is_some();
            Ok(Box::new(Rectified(if is_reduced { self.reduced } else { 1.0 })))
        }
    }

    impl PreparedSegment for Rectified {
        fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
            let values = inputs.iter().filter_map(Tensor::as_f32).flatten();
            Ok(vec![Tensor::from_f32([64], values.map(|value| value.max(0.0) * self.0).collect())])
        }
    }

    /// Whether results pass that are so many times what they should be, on cores with some engines, of which those that
    /// are checked may be fewer.
    fn passes(engines: &str, checked: &str, backend: Rectifying, times: f32) -> bool {
        let machine = Machine::detect().unwrap().with_engines(engines.parse::<EngineSet>().unwrap());
        let checked = machine.board().clone().with_engines(&checked.parse::<EngineSet>().unwrap());
        passes_on(machine.board(), &checked, backend, times)
    }

    /// The same for a board, of whose parts those of another are checked.
    fn passes_on(board: &Board, checked: &Board, backend: Rectifying, times: f32) -> bool {
        let reference = reference_on(board, checked, backend);
        let expected = reference.expected[0][0].as_f32().unwrap();
        assert!(expected.iter().any(|value| *value > 0.0), "something to be wrong about");
        let result = Tensor::from_f32([64], expected.iter().map(|value| value * times).collect());
        reference.check(0, &[result]).is_ok()
    }

    /// What results on a board are compared with, of whose parts those of another are checked.
    fn reference_on(board: &Board, checked: &Board, backend: Rectifying) -> Reference {
        let mut builder = ModelBuilder::new("one");
        let input = builder.input("x", [64]);
        let made = builder.node("Relu", &[&input]);
        builder.output(&made);
        let network = Network::of_model(Arc::new(builder.build().unwrap()), "one", ReadOptions::default());

        let makers = ResultMakers::all_of(checked);
        Reference::new(&network, Arc::new(backend), board, &makers, None).unwrap()
    }

    #[test]
    fn results_may_differ_by_what_the_precision_of_an_engine_does() {
        let rectifying = || Rectifying { reduced: 1.01, is_refused: false };
        let passes_with = |engines, checked, times| passes(engines, checked, rectifying(), times);
        for engines in ["onnxruntime", "onnxruntime,openvino"] {
            let [same, other] = [1.0, 1.01].map(|times| passes_with(engines, engines, times));
            assert!(same && !other, "{engines}: all have the same precision");
        }
        for engines in ["onnxruntime,openvinobf16", "openvinof16,openvino", "openvinobf16"] {
            let [near, far] = [1.01, 1.1].map(|times| passes_with(engines, engines, times));
            assert!(near && !far, "{engines}");
        }
        assert!(
            !passes_with("onnxruntime,openvinobf16", "onnxruntime", 1.01),
            "nothing of the schedule is rounded more"
        );
        let refused = Rectifying { reduced: 1.01, is_refused: true };
        assert!(
            !passes("onnxruntime,openvinobf16", "onnxruntime,openvinobf16", refused, 1.01),
            "nobody knows by how much"
        );
    }

    #[test]
    fn a_wrong_result_is_told_with_the_engines_that_may_be_the_cause() {
        let told = |engines: &str, times: f32| {
            let machine = Machine::detect().unwrap().with_engines(engines.parse::<EngineSet>().unwrap());
            let board = machine.board().clone().with_accelerators(Vec::new()).unwrap();
            let rectifying = Rectifying { reduced: 1.0, is_refused: false };
            let reference = reference_on(&board, &board, rectifying);
            let expected = reference.expected[0][0].as_f32().unwrap();
            let result = Tensor::from_f32([64], expected.iter().map(|value| value * times).collect());
            reference.check(0, &[result]).unwrap_err().to_string()
        };
        let alone = told("onnxruntime", 2.0);
        assert!(alone.contains("differs from sequential inference by ONNX Runtime: "), "{alone}");
        assert!(!alone.contains("may have computed it") && !told("onnxruntime", f32::NAN).contains("OpenVINO"));
        let both = told("onnxruntime,openvino", 2.0);
        assert!(
            both.ends_with(
                "; OpenVINO may have computed it: a schedule with onnxruntime alone shows whether that is the cause"
            ),
            "{both}"
        );
        assert!(!both.contains("NaN"));
        // Only OpenVINO makes a number of what is none, whichever of the two is the reference.
        for (engines, is_likely) in
            [("onnxruntime,openvino", false), ("openvino", true), ("openvino,onnxruntime", true)]
        {
            let nan = told(engines, f32::NAN);
            assert_eq!(nan.contains("where ONNX gives NaN, OpenVINO gives a number"), is_likely, "{nan}");
        }
    }

    #[test]
    fn a_device_is_excused_by_its_precision_and_not_by_what_it_always_gets_wrong() {
        let mut npu = Accelerator::new("N", AcceleratorKind::Npu);
        npu.engine = "openvino".to_owned().try_into().ok();
        let board = Machine::detect().unwrap().board().with_accelerators(vec![npu]).unwrap();
        let passes_with = |reduced: f32| passes_on(&board, &board, Rectifying { reduced, is_refused: false }, reduced);
        assert!(passes_with(1.01) && !passes_with(1.5));
    }
}
