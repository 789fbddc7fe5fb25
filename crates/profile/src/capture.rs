//! The values that a frame turns into on the way through the network.

use std::collections::HashMap;
use std::ops::Range;

use millstream_backend::{Segment, Tensor};
use millstream_board::Processor;
use millstream_graph::ValueId;

use crate::error::ProfileError;
use crate::workload::Workload;

/// Runs a frame through consecutive ranges of the chain and keeps every value that crosses between them.
pub(crate) fn capture(
    workload: &Workload<'_>,
    ranges: &[Range<usize>],
    processor: &Processor,
) -> Result<HashMap<ValueId, Tensor>, ProfileError> {
    let graph = workload.graph;
    let frame = workload.frame.iter().cloned();
    let mut values: HashMap<ValueId, Tensor> = graph.inputs().iter().copied().zip(frame).collect();
    for range in ranges {
        let failed =
            |source| ProfileError::Segment { start: range.start, end: range.end, processor: processor.clone(), source };
        let segment = Segment::new(graph, workload.chain.operators(range.clone()));
        let mut prepared = workload.backend.prepare(&segment, processor).map_err(failed)?;
        let inputs = segment.inputs_from(&values);
        let outputs = prepared.run(&inputs).map_err(failed)?;
        values.extend(segment.boundary.outputs.iter().copied().zip(outputs));
    }
    Ok(values)
}
