//! Making up frames, and the values that they turn into on the way through the network.

use std::collections::HashMap;
use std::ops::Range;

use millstream_backend::{Segment, Tensor};
use millstream_board::Processor;
use millstream_graph::{DataType, Graph, ValueId};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{ProfileError, Workload};

/// A frame of made-up numbers for the network: uniform floats between 0 and 1, zeros of other types. The same seed gives
/// the same frame.
///
/// # Errors
/// [`ProfileError::Input`] if the type or shape of an input is not known.
pub fn sample_frame(graph: &Graph, seed: u64) -> Result<Vec<Tensor>, ProfileError> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    graph
        .inputs()
        .iter()
        .map(|&id| {
            let value = graph.value(id);
            let unknown = |what: &'static str| ProfileError::Input { value: value.name.clone(), what };
            let shape = value.shape.clone().ok_or_else(|| unknown("shape"))?;
            let data_type = value.data_type.ok_or_else(|| unknown("element type"))?;
            if data_type == DataType::F32 {
                let elements = (0..shape.elements()).map(|_| random.random::<f32>()).collect();
                return Ok(Tensor::from_f32(shape, elements));
            }
            let size = data_type.bytes().ok_or_else(|| unknown("element size"))?;
            Ok(Tensor::from_bytes(data_type, shape.clone(), vec![0; shape.elements() as usize * size]))
        })
        .collect()
}

/// Runs a frame through consecutive ranges of the chain and keeps every value that crosses between them.
pub(crate) fn capture(
    workload: &Workload<'_>,
    ranges: &[Range<usize>],
    processor: &Processor,
) -> Result<HashMap<ValueId, Tensor>, ProfileError> {
    let graph = workload.graph;
    let mut values: HashMap<ValueId, Tensor> = graph.inputs().iter().copied().zip(sample_frame(graph, 0)?).collect();
    for range in ranges {
        let failed =
            |source| ProfileError::Segment { start: range.start, end: range.end, processor: processor.clone(), source };
        let segment = Segment::new(graph, workload.chain.operators(range.clone()));
        let mut prepared = workload.backend.prepare(&segment, processor).map_err(failed)?;
        let inputs: Vec<Tensor> =
            segment.boundary.inputs.iter().filter_map(|value| values.get(value).cloned()).collect();
        let outputs = prepared.run(&inputs).map_err(failed)?;
        values.extend(segment.boundary.outputs.iter().copied().zip(outputs));
    }
    Ok(values)
}
