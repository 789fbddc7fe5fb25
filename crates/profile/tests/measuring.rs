//! Measuring through a backend with known times.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream_backend::{
    Backend, BackendError, Observed, OperatorTimes, PreparedSegment, Segment, Tensor, TransferTimes,
};
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_board::Processor;
use millstream_frames::FrameMaker;
use millstream_graph::{Graph, OperatorId};
use millstream_partition::Chain;
use millstream_predict::samples::{OperatorSample, PartSample, SegmentSample};
use millstream_profile::{
    OperatorSettings, PartSettings, ProfileSettings, Workload, measure, measure_operators, measure_parts,
    measure_transfers,
};

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

impl Observed for Clockwork {
    fn trace(
        &self,
        _: &Segment,
        _: &Processor,
        _: &[Tensor],
        _: &mut dyn FnMut(Duration) -> bool,
    ) -> Result<Vec<OperatorTimes>, BackendError> {
        Err(BackendError::failed("a clock has no operators"))
    }

    fn transfer_times(&self, _: &Processor, _: u64) -> Result<Option<TransferTimes>, BackendError> {
        Ok(None)
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

/// A network, and a clock to run it.
struct TinyDarknet {
    graph: Arc<Graph>,
    chain: Chain,
    backend: Clockwork,
    frame: Vec<Tensor>,
}

impl TinyDarknet {
    fn new(fails: bool) -> Self {
        let model = millstream_zoo::build("tiny-darknet").unwrap();
        let chain = Chain::of(model.graph());
        let frame = FrameMaker::new(&model).frame(0).unwrap();
        Self { graph: Arc::clone(model.graph()), chain, backend: Clockwork { fails }, frame }
    }

    fn workload(&self) -> Workload<'_> {
        Workload { graph: &self.graph, chain: &self.chain, backend: &self.backend, frame: &self.frame }
    }
}

#[test]
fn every_class_gets_samples_of_every_scale() {
    let network = TinyDarknet::new(false);
    let (workload, chain) = (network.workload(), &network.chain);
    let settings = ProfileSettings { budget: Duration::from_millis(600), leaves: 8, accuracy: 0.5 };
    let board = millstream_machine::detect().unwrap();
    let mut steps = Vec::new();
    let samples = measure(&workload, &board, &settings, &[], &mut |progress| {
        steps.push(progress.done);
        true
    })
    .unwrap();
    assert_eq!(steps, (1..=steps.len()).collect::<Vec<_>>());
    for class in board.processor_classes() {
        let of_class: Vec<_> = samples.iter().filter(|sample| sample.processor == class).collect();
        assert_eq!(of_class.len(), 1 + 2 + 4 + 8, "{class}");
        assert_eq!((of_class[0].start, of_class[0].end, of_class[0].input_bytes), (0, chain.blocks().len(), 0));
        assert!(of_class[2].input_bytes > 0);
        for sample in of_class {
            let operators = chain.operators(sample.start..sample.end).len();
            // Busy for so long at least; how much longer depends on the machine.
            assert!(sample.time.median_seconds >= 20e-6 * operators as f64, "{sample:?}");
        }
    }
}

/// An engine that was left out on one cluster is measured on the other one beside what works there in its place.
#[test]
fn a_cluster_without_an_engine_works_beside_those_that_are_measured_with_it() {
    let network = TinyDarknet::new(false);
    let (workload, chain) = (network.workload(), &network.chain);
    let board = millstream_test_support::board("B1@openvino+s1:500@onnxruntime,openvino");

    let settings = ProfileSettings { budget: Duration::from_millis(100), leaves: 2, accuracy: 0.5 };
    let samples = measure(&workload, &board, &settings, &[], &mut |_| true).unwrap();
    let settings = PartSettings { budget: Duration::from_millis(100), operators: 2, accuracy: 0.5 };
    let parts = measure_parts(&workload, &board, &settings, &mut |_| true).unwrap();
    for class in board.processor_classes() {
        let whole = 0..chain.blocks().len();
        let of_class = samples.iter().filter(|sample| sample.processor == class && (sample.start..sample.end) == whole);
        assert_eq!(of_class.map(|sample| sample.concurrent).collect::<Vec<_>>(), [2], "{class}");
        let mut of_class: Vec<_> = parts.iter().filter(|part| part.processor == class).collect();
        assert!(!of_class.is_empty() && of_class.iter().all(|part| part.concurrent == 2), "{class}");
        let key = |part: &PartSample| (part.operators.clone(), part.along, part.channels);
        of_class.dedup_by_key(|part| key(part));
        assert_eq!(of_class.len(), parts.iter().filter(|part| part.processor == class).count(), "{class}");
    }
}

#[test]
fn failures_and_interruptions_are_errors() {
    let measure = |fails: bool, go_on: bool| {
        let network = TinyDarknet::new(fails);
        let workload = network.workload();
        let settings = ProfileSettings { budget: Duration::from_millis(50), leaves: 2, accuracy: 0.5 };
        measure(&workload, &millstream_machine::detect().unwrap(), &settings, &[], &mut |_| go_on)
    };
    assert!(measure(true, true).unwrap_err().to_string().contains("no such kernel"));
    let interrupted = measure(false, false).unwrap();
    assert_eq!(interrupted.len(), millstream_machine::detect().unwrap().clusters().len(), "what was measured is kept");
}

#[test]
fn what_is_known_is_not_measured_again() {
    let network = TinyDarknet::new(false);
    let workload = network.workload();
    let settings = ProfileSettings { budget: Duration::from_millis(100), leaves: 2, accuracy: 0.5 };
    let board = millstream_machine::detect().unwrap();
    let all = measure(&workload, &board, &settings, &[], &mut |_| true).unwrap();
    let rest = measure(&workload, &board, &settings, &all[1..], &mut |_| true).unwrap();
    let key = |sample: &SegmentSample| (sample.processor.clone(), sample.start, sample.end);
    assert_eq!(rest.iter().map(key).collect::<Vec<_>>(), [key(&all[0])]);
}

#[test]
fn every_operator_is_timed_in_context_on_every_class() {
    let model = Arc::new(millstream_zoo::build("squeezenet").unwrap());
    let chain = Chain::of(model.graph());
    let backend = OrtBackend::new(&Environment::load().unwrap(), Arc::clone(&model));
    let frame = FrameMaker::new(&model).frame(0).unwrap();
    let workload = Workload { graph: model.graph(), chain: &chain, backend: &backend, frame: &frame };
    let settings = OperatorSettings { budget: Duration::from_millis(300), half_width: 0.5 };
    let board = millstream_machine::detect().unwrap();
    let samples = measure_operators(&workload, &board, &settings, &mut |_| true).unwrap();
    let in_order = chain.operators(chain.whole());
    let is_convolution = |operator: &OperatorId| model.graph().operator(*operator).op_type == "Conv";
    let convolutions = in_order.iter().filter(|operator| is_convolution(operator)).count();
    for class in board.processor_classes() {
        let of_class: Vec<_> = samples.iter().filter(|sample| sample.processor == class).collect();
        let covered: usize = of_class.iter().map(|sample| sample.operators.len()).sum();
        assert_eq!(covered, model.graph().operators().len(), "{class}");
        // How long each takes is the machine's business, and that of whoever disturbs it.
        assert!(of_class.iter().all(|sample| sample.time.median_seconds > 0.0), "{class}");
        assert!(of_class.iter().all(|sample| sample.conditions.steal_fraction <= 1.0));
        // The runtime joins activations to convolutions, but no two convolutions, and not what is between them.
        let joined = |sample: &OperatorSample| {
            sample.operators.iter().filter(|&&place| is_convolution(&in_order[place])).count()
        };
        assert!(of_class.iter().all(|sample| joined(sample) <= 1), "{class}");
        assert!(convolutions > 0 && of_class.len() > convolutions, "{class}: {} {convolutions}", of_class.len());
    }
}

#[test]
fn every_pair_of_clusters_gets_transfers_of_several_sizes() {
    let board = millstream_machine::detect().unwrap();
    let samples = measure_transfers(&board).unwrap();
    let pairs: HashSet<(String, String)> =
        samples.iter().map(|sample| (sample.from.clone(), sample.to.clone())).collect();
    let expected: usize = board
        .clusters()
        .iter()
        .map(|from| board.clusters().iter().filter(|to| to.label != from.label || to.cores.len() > 1).count())
        .sum();
    assert_eq!(pairs.len(), expected);
    assert_eq!(samples.len(), 4 * expected);
    assert!(samples.iter().all(|sample| sample.time.median_seconds > 0.0 && sample.time.repetitions >= 20));
}
