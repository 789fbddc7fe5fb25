//! A choice among backends, segment by segment, behind the interface of one.

use std::sync::Arc;
use std::time::Duration;

use millstream_board::Processor;
use millstream_graph::OperatorId;

use crate::backend::{Backend, PreparedSegment};
use crate::error::BackendError;
use crate::observed::{Observed, OperatorTimes, TransferTimes};
use crate::segment::Segment;
use crate::tensor::Tensor;

/// Several backends as one: each segment goes to the first of them that supports all its operators. Those that are all
/// [`Observed`] are so together.
pub struct Several<B: ?Sized>(Vec<Arc<B>>);

impl<B: ?Sized> Several<B> {
    /// These backends, the first ones preferred.
    pub fn new(backends: Vec<Arc<B>>) -> Self {
        Self(backends)
    }
}

impl<B: Backend + ?Sized> Several<B> {
    fn find(&self, operators: &[OperatorId], processor: &Processor) -> Result<&Arc<B>, BackendError> {
        let supports = |backend: &&Arc<B>| operators.iter().all(|&id| backend.supports(id, processor));
        self.0.iter().find(supports).ok_or_else(|| BackendError::Unavailable {
            backend: self.name().to_owned(),
            detail: format!("no backend runs all operators of the segment on {processor}"),
        })
    }
}

impl<B: Backend + ?Sized> Backend for Several<B> {
    fn name(&self) -> &str {
        "several"
    }

    fn supports(&self, operator: OperatorId, processor: &Processor) -> bool {
        self.0.iter().any(|backend| backend.supports(operator, processor))
    }

    fn why_refused(&self, operator: OperatorId, processor: &Processor) -> Option<String> {
        self.0.iter().find_map(|backend| backend.why_refused(operator, processor))
    }

    fn prepare(&self, segment: &Segment, processor: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
        self.find(&segment.operators, processor)?.prepare(segment, processor)
    }

    fn begin_schedule(&self) {
        self.0.iter().for_each(|backend| backend.begin_schedule());
    }
}

impl<B: Observed + ?Sized> Observed for Several<B> {
    fn trace(
        &self,
        segment: &Segment,
        processor: &Processor,
        inputs: &[Tensor],
        go_on: &mut dyn FnMut(Duration) -> bool,
    ) -> Result<Vec<OperatorTimes>, BackendError> {
        self.find(&segment.operators, processor)?.trace(segment, processor, inputs, go_on)
    }

    fn transfer_times(&self, processor: &Processor, bytes: u64) -> Result<Option<TransferTimes>, BackendError> {
        for backend in &self.0 {
            if let Some(times) = backend.transfer_times(processor, bytes)? {
                return Ok(Some(times));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use millstream_graph::{Boundary, DataType, Graph, GraphBuilder, NewOperator, OperatorKind, Shape};

    use super::*;
    use crate::whole::WholeNetwork;

    /// Runs the operators at these places on one cluster, and makes its own number of everything.
    struct Numbered {
        cluster: &'static str,
        places: std::ops::Range<usize>,
        number: f32,
    }

    struct Ready(f32, usize);

    impl PreparedSegment for Ready {
        fn run(&mut self, _: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
            Ok(vec![Tensor::from_f32([1], vec![self.0]); self.1])
        }
    }

    impl Backend for Numbered {
        fn name(&self) -> &str {
            "numbered"
        }

        fn supports(&self, operator: OperatorId, processor: &Processor) -> bool {
            processor.cluster == self.cluster && self.places.contains(&operator.index())
        }

        fn prepare(&self, segment: &Segment, _: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
            Ok(Box::new(Ready(self.number, segment.boundary.outputs.len())))
        }
    }

    impl Observed for Numbered {
        fn trace(
            &self,
            segment: &Segment,
            _: &Processor,
            _: &[Tensor],
            _: &mut dyn FnMut(Duration) -> bool,
        ) -> Result<Vec<OperatorTimes>, BackendError> {
            Ok(vec![OperatorTimes { operators: segment.operators.clone(), seconds: vec![f64::from(self.number)] }])
        }

        fn transfer_times(&self, processor: &Processor, bytes: u64) -> Result<Option<TransferTimes>, BackendError> {
            let time = Duration::from_nanos(bytes);
            Ok((processor.cluster == self.cluster && self.number > 1.5)
                .then_some(TransferTimes { upload: time, download: 2 * time }))
        }
    }

    /// Two operators in a row; the network also hands its input on.
    fn graph() -> Graph {
        let mut builder = GraphBuilder::new("two");
        let [x, y, z] =
            ["x", "y", "z"].map(|name| builder.value(name, Some(DataType::F32), Some(Shape::from([1]))).unwrap());
        builder.input(x);
        for (name, read, made) in [("first", x, y), ("second", y, z)] {
            builder
                .operator(NewOperator::new(name, "Relu", OperatorKind::Activation).reads([read]).makes([made]))
                .unwrap();
        }
        builder.output(z);
        builder.output(x);
        builder.build().unwrap()
    }

    fn both() -> Several<dyn Observed> {
        let all = Numbered { cluster: "B", places: 0..2, number: 1.0 };
        let second = Numbered { cluster: "G", places: 1..2, number: 2.0 };
        Several::new(vec![Arc::new(all), Arc::new(second)])
    }

    #[test]
    fn a_segment_goes_to_the_first_that_supports_all_of_it() {
        let (graph, both) = (graph(), both());
        let (cores, device) = (Processor::new("B", [0]), Processor::accelerator("G"));
        let [first, second] = [0, 1].map(|place| graph.order()[place]);
        assert!(both.supports(first, &cores) && both.supports(second, &device) && !both.supports(first, &device));
        let run = |operators: &[OperatorId], processor: &Processor| {
            let mut prepared = both.prepare(&Segment::new(&graph, operators.to_vec()), processor)?;
            Ok::<_, BackendError>(prepared.run(&[])?[0].as_f32().map(<[f32]>::to_vec))
        };
        assert_eq!(run(&[first, second], &cores).unwrap(), Some(vec![1.0]));
        assert_eq!(run(&[second], &device).unwrap(), Some(vec![2.0]));
        assert!(matches!(run(&[first, second], &device), Err(BackendError::Unavailable { .. })));
    }

    #[test]
    fn times_come_from_whoever_runs_it() {
        let (graph, both) = (graph(), both());
        let second = Segment::new(&graph, graph.order()[1..].to_vec());
        let device = Processor::accelerator("G");
        assert_eq!(both.trace(&second, &device, &[], &mut |_| false).unwrap()[0].seconds, [2.0]);
        assert!(both.trace(&Segment::whole(&graph), &device, &[], &mut |_| false).is_err());
        let times = both.transfer_times(&device, 8).unwrap().unwrap();
        assert_eq!((times.upload.as_nanos(), times.download.as_nanos()), (8, 16));
        assert_eq!(both.transfer_times(&Processor::new("B", [0]), 8).unwrap(), None);
    }

    #[test]
    fn a_network_takes_and_gives_what_it_declares() {
        let (graph, both) = (graph(), both());
        let whole = Segment::whole(&graph);
        assert_eq!(whole.boundary, Boundary { inputs: vec![graph.inputs()[0]], outputs: vec![graph.outputs()[0]] });
        let mut network = WholeNetwork::prepare(&graph, &both, &Processor::new("B", [0])).unwrap();
        let made = network.run(&[Tensor::from_f32([1], vec![7.0])]).unwrap();
        let made: Vec<_> = made.iter().map(|tensor| tensor.as_f32().unwrap()[0]).collect();
        assert_eq!(made, [1.0, 7.0], "what no operator makes is handed on");
        assert!(network.run(&[]).is_err());
    }
}
