//! Engines that do not run all operators are measured on those that they run.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Mutex;
use std::time::Duration;

use millstream_backend::{
    Backend, BackendError, Observed, OperatorTimes, PreparedSegment, Segment, Tensor, TransferTimes,
};
use millstream_board::{EngineName, Processor, ProcessorClass};
use millstream_frames::FrameMaker;
use millstream_graph::{DataType, Graph, GraphBuilder, NewOperator, OperatorId, OperatorKind};
use millstream_partition::Chain;
use millstream_predict::UnsupportedOperators;
use millstream_predict::samples::{OperatorSample, SegmentSample};
use millstream_profile::{
    OperatorSettings, ProfileSettings, Workload, measure, measure_operators, unsupported_operators,
};

/// Two engines, each of which refuses some operators, by their places in the order.
struct Choosy<'a> {
    graph: &'a Graph,
    order: Vec<OperatorId>,
    onnx_runtime_refuses: Range<usize>,
    openvino_refuses: Range<usize>,
    /// Where OpenVINO refuses these, if not everywhere.
    only_on: Option<&'static str>,
    /// What was prepared, one entry each time.
    prepared: Mutex<Vec<(ProcessorClass, usize)>>,
}

impl Choosy<'_> {
    fn check(&self, segment: &Segment, processor: &Processor) -> Result<(), BackendError> {
        let refused = segment.operators.iter().find(|&&id| !self.supports(id, processor));
        refused.map_or(Ok(()), |id| Err(BackendError::failed(format!("{id:?} is refused on {processor}"))))
    }
}

/// Needs all of its inputs, and makes as many outputs as the segment has.
struct Counting(usize, usize);

impl PreparedSegment for Counting {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
        if inputs.len() != self.0 {
            return Err(BackendError::failed(format!("{} inputs, not {}", inputs.len(), self.0)));
        }
        std::thread::sleep(Duration::from_micros(50));
        Ok((0..self.1).map(|_| Tensor::from_f32([0], Vec::new())).collect())
    }
}

impl Backend for Choosy<'_> {
    fn name(&self) -> &str {
        "choosy"
    }

    fn supports(&self, operator: OperatorId, processor: &Processor) -> bool {
        let refused = match processor.engine {
            EngineName::OnnxRuntime => &self.onnx_runtime_refuses,
            _ => &self.openvino_refuses,
        };
        let refuses = processor.engine.is_default() || self.only_on.is_none_or(|label| label == processor.cluster);
        let place = self.order.iter().position(|&id| id == operator);
        place.is_some_and(|place| !(refuses && refused.contains(&place)))
    }

    fn prepare(&self, segment: &Segment, processor: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
        self.check(segment, processor)?;
        self.prepared.lock().unwrap().push((processor.class(), segment.operators.len()));
        let again = Segment::new(self.graph, segment.operators.clone());
        Ok(Box::new(Counting(again.boundary.inputs.len(), again.boundary.outputs.len())))
    }
}

impl Observed for Choosy<'_> {
    fn trace(
        &self,
        segment: &Segment,
        processor: &Processor,
        inputs: &[Tensor],
        go_on: &mut dyn FnMut(Duration) -> bool,
    ) -> Result<Vec<OperatorTimes>, BackendError> {
        let mut prepared = self.prepare(segment, processor)?;
        let mut frames = 0;
        loop {
            prepared.run(inputs)?;
            frames += 1;
            if !go_on(Duration::from_micros(50)) {
                break;
            }
        }
        let times = |&id| OperatorTimes { operators: vec![id], seconds: vec![1e-6; frames] };
        Ok(segment.operators.iter().map(times).collect())
    }

    fn transfer_times(&self, _: &Processor, _: u64) -> Result<Option<TransferTimes>, BackendError> {
        Ok(None)
    }
}

/// What was measured of a network with two engines that refuse operators.
struct Measured {
    operators: Vec<OperatorSample>,
    segments: Vec<SegmentSample>,
    /// How often each class was prepared for the whole network, for operators and for segments.
    whole: [BTreeMap<ProcessorClass, usize>; 2],
    unsupported: Vec<UnsupportedOperators>,
    /// The places of each block's operators.
    blocks: Vec<Range<usize>>,
}

fn measured(onnx_runtime_refuses: Range<usize>, openvino_refuses: Range<usize>) -> Measured {
    measured_on("B1@onnxruntime,openvino", onnx_runtime_refuses, openvino_refuses, None)
}

fn measured_on(
    board: &str,
    onnx_runtime_refuses: Range<usize>,
    openvino_refuses: Range<usize>,
    only_on: Option<&'static str>,
) -> Measured {
    let model = millstream_zoo::build("tiny-darknet").unwrap();
    let chain = Chain::of(model.graph());
    let order = chain.operators(chain.whole());
    let (count, prepared) = (order.len(), Mutex::default());
    let backend = Choosy { graph: model.graph(), order, onnx_runtime_refuses, openvino_refuses, only_on, prepared };
    let whole = || {
        let mut times = BTreeMap::new();
        let prepared = std::mem::take(&mut *backend.prepared.lock().unwrap());
        prepared
            .into_iter()
            .filter(|(_, operators)| *operators == count)
            .for_each(|(class, _)| *times.entry(class).or_default() += 1);
        times
    };
    let frame = FrameMaker::new(&model).frame(0).unwrap();
    let workload = Workload { graph: model.graph(), chain: &chain, backend: &backend, frame: &frame };
    let board = millstream_test_support::board(board);

    let settings = OperatorSettings { budget: Duration::from_millis(20), half_width: 0.9 };
    let operators = measure_operators(&workload, &board, &settings, &mut |_| true).unwrap();
    let traced = whole();
    let settings = ProfileSettings { budget: Duration::from_millis(50), leaves: 8, accuracy: 0.9 };
    let segments = measure(&workload, &board, &settings, &[], &mut |_| true).unwrap();
    let whole = [traced, whole()];
    let mut end = 0;
    let blocks = chain.blocks().iter().map(|block| {
        let start = end;
        end += block.operators.len();
        start..end
    });
    Measured {
        operators,
        segments,
        whole,
        unsupported: unsupported_operators(&workload, &board),
        blocks: blocks.collect(),
    }
}

impl Measured {
    /// How many operators there are.
    fn count(&self) -> usize {
        self.blocks.last().unwrap().end
    }

    /// The places of the operators that were timed with an engine.
    fn timed(&self, engine: EngineName) -> BTreeSet<usize> {
        let own = self.operators.iter().filter(|sample| sample.processor.engine == engine);
        own.flat_map(|sample| sample.operators.iter().copied()).collect()
    }
}

#[test]
fn an_engine_is_measured_on_what_it_runs() {
    let measured = measured(0..0, 9..11);
    let count = measured.count();
    assert_eq!(measured.timed(EngineName::OnnxRuntime), (0..count).collect());
    assert_eq!(measured.timed(EngineName::OpenVino), (0..9).chain(11..count).collect());

    let expected =
        UnsupportedOperators { cluster: "B".to_owned(), engine: EngineName::OpenVino, operators: vec![9, 10] };
    assert_eq!(measured.unsupported, [expected]);
    let of = |engine| measured.segments.iter().filter(move |sample| sample.processor.engine == engine);
    assert_eq!(of(EngineName::OnnxRuntime).count(), 1 + 2 + 4 + 8);
    let is_refused = |sample: &SegmentSample| {
        measured.blocks[sample.start..sample.end].iter().any(|block| block.contains(&9) || block.contains(&10))
    };
    assert!(of(EngineName::OpenVino).count() > 4 && !of(EngineName::OpenVino).any(is_refused));
}

/// No engine runs the whole network: what each takes in is made by the other.
#[test]
fn a_network_that_no_engine_runs_alone_is_measured() {
    let measured = measured(3..4, 9..11);
    let count = measured.count();
    assert_eq!(measured.timed(EngineName::OnnxRuntime), (0..3).chain(4..count).collect());
    assert_eq!(measured.timed(EngineName::OpenVino), (0..9).chain(11..count).collect());
    assert_eq!(measured.unsupported.len(), 2);
    assert!(!measured.segments.is_empty());
}

/// A cluster without an engine works beside the others with the one it has, wherever that runs what they run.
#[test]
fn others_work_beside_what_is_measured_as_far_as_they_can() {
    for refused in [0..0, 9..11] {
        let measured = measured_on("B1@openvino+s1:500@onnxruntime,openvino", 0..0, refused.clone(), None);
        let is_usual = |processor: &ProcessorClass| processor.engine.is_default();
        let mut seen = BTreeSet::new();
        for sample in &measured.operators {
            let expected = if is_usual(&sample.processor) && !refused.is_empty() { 1 } else { 2 };
            assert_eq!(sample.concurrent, expected, "{sample:?}");
            assert!(seen.insert((sample.processor.clone(), sample.operators.clone())), "once: {sample:?}");
        }
        assert_eq!(seen.iter().filter(|(processor, _)| is_usual(processor)).count(), measured.count());

        let mut seen = BTreeSet::new();
        for sample in &measured.segments {
            let mut blocks = measured.blocks[sample.start..sample.end].iter();
            let is_refused = blocks.any(|block| refused.clone().any(|place| block.contains(&place)));
            assert_eq!(sample.concurrent, if is_refused { 1 } else { 2 }, "{sample:?}");
            assert!(seen.insert((sample.processor.clone(), sample.start, sample.end)), "once: {sample:?}");
        }
        assert_eq!(seen.iter().filter(|(processor, ..)| is_usual(processor)).count(), 1 + 2 + 4 + 8);

        // Once to be measured and once beside the other cluster; more often where something was disturbed.
        for whole in measured.whole {
            let of_big_core: usize =
                whole.iter().filter(|(class, _)| class.cluster == "B").map(|(_, times)| times).sum();
            assert!(if refused.is_empty() { of_big_core >= 2 } else { of_big_core == 0 }, "{whole:?}");
        }
    }
}

/// One cluster refuses operators that the other one runs with the same engine: the other one works beside it on each of
/// its stretches, and the whole network is measured beside nobody.
#[test]
fn a_cluster_that_runs_all_works_beside_the_stretches_of_one_that_does_not() {
    let measured = measured_on("B1@openvino+s1:500@openvino", 0..0, 9..11, Some("B"));
    let of = |cluster: &str| {
        measured.operators.iter().filter(|sample| sample.processor.cluster == cluster).collect::<Vec<_>>()
    };
    let (big, small) = (of("B"), of("s"));
    assert_eq!((big.len(), small.len()), (measured.count() - 2, measured.count()));
    assert!(big.iter().all(|sample| sample.concurrent == 2) && small.iter().all(|sample| sample.concurrent == 1));
}

/// No segment starts or ends at a value without a known element type, so that an engine runs all that share such values,
/// or none of them.
#[test]
fn an_engine_that_refuses_a_reader_of_an_untyped_value_runs_nothing_that_shares_it() {
    let mut builder = GraphBuilder::new("untyped");
    let types = [Some(DataType::F32); 6].into_iter().enumerate();
    let value = |(place, known): (usize, Option<DataType>)| {
        builder.value(format!("v{place}"), known.filter(|_| place != 2), Some([4].into())).unwrap()
    };
    let values: Vec<_> = types.map(value).collect();
    builder.input(values[0]);
    // What the second operator makes is read by the third and the last: the fourth has nothing to do with it.
    for (place, reads) in [vec![0], vec![1], vec![2], vec![3], vec![2, 4]].into_iter().enumerate() {
        let operator = NewOperator::new(format!("o{place}"), "Any", OperatorKind::Opaque);
        let reads = reads.into_iter().map(|value: usize| values[value]);
        builder.operator(operator.reads(reads).makes([values[place + 1]])).unwrap();
    }
    builder.output(values[5]);
    let graph = builder.build().unwrap();

    let board = millstream_test_support::board("B1@onnxruntime,openvino");
    for (refused, expected) in
        [(3..4, Some(vec![1, 2, 3, 4])), (4..5, Some(vec![1, 2, 3, 4])), (0..1, Some(vec![0])), (0..0, None)]
    {
        let (chain, prepared) = (Chain::of(&graph), Mutex::default());
        let order = chain.operators(chain.whole());
        let (onnx_runtime_refuses, openvino_refuses, only_on) = (0..0, refused, None);
        let backend = Choosy { graph: &graph, order, onnx_runtime_refuses, openvino_refuses, only_on, prepared };
        let frame = [Tensor::from_f32([4], vec![0.0; 4])];
        let workload = Workload { graph: &graph, chain: &chain, backend: &backend, frame: &frame };
        let unsupported = unsupported_operators(&workload, &board).pop().map(|refused| refused.operators);
        assert_eq!(unsupported, expected);

        let settings = OperatorSettings { budget: Duration::from_millis(10), half_width: 0.9 };
        let samples = measure_operators(&workload, &board, &settings, &mut |_| true).unwrap();
        let own = samples.iter().filter(|sample| !sample.processor.engine.is_default());
        assert_eq!(own.count(), 5 - expected.map_or(0, |refused| refused.len()));
    }
}
