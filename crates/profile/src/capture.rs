//! The values that a frame turns into on the way through the network.

use std::collections::HashMap;

use millstream_backend::{Segment, Tensor};
use millstream_board::Processor;
use millstream_graph::{OperatorId, ValueId};

use crate::error::ProfileError;
use crate::stretches::pieces;
use crate::workload::Workload;

/// Runs a frame through consecutive parts of the network and keeps every value that crosses between them. Each part runs
/// on the first processor that runs all of it, or on several where there is none.
pub(crate) fn capture(
    workload: &Workload<'_>,
    parts: &[Vec<OperatorId>],
    processors: &[Processor],
) -> Result<HashMap<ValueId, Tensor>, ProfileError> {
    let graph = workload.graph;
    let frame = workload.frame.iter().cloned();
    let mut values: HashMap<ValueId, Tensor> = graph.inputs().iter().copied().zip(frame).collect();
    let pieces = parts.iter().flat_map(|part| pieces(workload, part, processors));
    for (operators, processor) in pieces {
        let failed = |source| {
            let blocks = workload.blocks_of(operators);
            ProfileError::Segment { start: blocks.start, end: blocks.end, processor: processor.clone(), source }
        };
        let segment = Segment::new(graph, operators.to_vec());
        let mut prepared = workload.backend.prepare(&segment, processor).map_err(failed)?;
        let inputs = segment.inputs_from(&values);
        let outputs = prepared.run(&inputs).map_err(failed)?;
        values.extend(segment.boundary.outputs.iter().copied().zip(outputs));
    }
    Ok(values)
}
