//! Times of operators in parts, as divisions by channels and by rows run them.

use std::time::Duration;

use millstream_backend::{Segment, Tensor};
use millstream_board::{Board, Processor};
use millstream_graph::{Along, ChannelUnits, Graph, OperatorId, TileRegion};
use millstream_predict::makes_tiles;
use millstream_predict::samples::PartSample;

use crate::error::ProfileError;
use crate::measure::{Effort, MeasuringProgress, together};
use crate::rounds::{Round, rounds};
use crate::workload::Workload;

/// Which parts are measured, and for how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PartSettings {
    /// Time for measuring; preparing comes on top.
    pub budget: Duration,
    /// Operators that are measured: those with the most work, of different shapes.
    pub operators: usize,
    /// Relative standard error at which a measurement ends before its time is used up.
    pub accuracy: f64,
}

impl Default for PartSettings {
    fn default() -> Self {
        Self { budget: Duration::from_secs(5), operators: 8, accuracy: 0.01 }
    }
}

/// Times operators whole, with half of their output channels and with half of their rows, each together with what
/// follows it channel by channel, on every number of cores of every cluster, side by side as far as there are cores.
/// `progress` is called after the measurements of each operator and now and then meanwhile; returning `false` ends
/// measuring, with the samples so far.
///
/// # Errors
/// Any [`ProfileError`].
pub fn measure_parts(
    workload: &Workload<'_>,
    board: &Board,
    settings: &PartSettings,
    progress: &mut dyn FnMut(MeasuringProgress) -> bool,
) -> Result<Vec<PartSample>, ProfileError> {
    let graph = workload.graph;
    let heads = heads(graph, settings.operators);
    let rounds = rounds(board);
    let order = workload.chain.operators(workload.chain.whole());
    let place = |id: OperatorId| order.iter().position(|&other| other == id).unwrap_or(0);
    let total = heads.len() * rounds.len() * 3;
    let time = settings.budget / u32::try_from(total.max(1)).unwrap_or(u32::MAX);
    let effort = Effort { time, accuracy: settings.accuracy };

    let mut samples = Vec::new();
    for head in heads {
        let Some(units) = graph.channel_units(head) else { continue };
        let mut operators = vec![head];
        operators.extend(graph.channel_followers(head));
        let places: Vec<usize> = operators.iter().map(|&id| place(id)).collect();
        let Some(inputs) = made_up(graph, &operators) else { continue };
        let block = workload.chain.blocks().iter().position(|block| block.operators.contains(&head)).unwrap_or(0);

        for (along, channels, of) in portions(graph, &operators, units) {
            let segment = portion(graph, &operators, along, channels, of);

            let accelerators =
                board.accelerators().iter().map(|accelerator| Processor::accelerator(accelerator.label.clone()));
            let all = rounds.iter().cloned().chain(accelerators.map(|processor| Round::alone(vec![processor])));
            for round in all {
                let runs = |own: &Processor| may_run(along, own, board) && workload.runs(&segment.operators, own);
                let round = round.for_work(board, runs);
                if round.measured.is_empty() {
                    continue;
                }
                let go_on = &mut || progress(MeasuringProgress { done: samples.len().min(total), total });
                let blocks = block..block + 1;
                let measured = together(workload, board, &round, &segment, &blocks, &inputs, effort, go_on)?;
                let Some(measured) = measured else { return Ok(samples) };
                for (processor, (times, conditions)) in measured {
                    samples.extend(times.statistics().map(|time| PartSample {
                        processor,
                        operators: places.clone(),
                        along,
                        channels,
                        of,
                        concurrent: round.processors().len(),
                        time,
                        conditions,
                    }));
                }
            }
        }
        if !progress(MeasuringProgress { done: samples.len().min(total), total }) {
            break;
        }
    }
    Ok(samples)
}

/// Whether a processor makes parts along this: tiles are made on some only.
fn may_run(along: Along, processor: &Processor, board: &Board) -> bool {
    along == Along::Channels || makes_tiles(&processor.class(), board)
}

/// Operators that make so many of their channels or rows, or all.
fn portion(graph: &Graph, operators: &[OperatorId], along: Along, count: usize, of: usize) -> Segment {
    match along {
        _ if count == of => Segment::new(graph, operators.to_vec()),
        Along::Channels => Segment::part(graph, operators.to_vec(), 0..count),
        along => Segment::tile(graph, operators.to_vec(), along, 0..count),
    }
}

/// What is measured of operators that go together: all of them, half of their channels and, where they can be divided
/// by rows, half of these. Each with what it is divided along, how many, and of how many.
fn portions(graph: &Graph, operators: &[OperatorId], units: ChannelUnits) -> Vec<(Along, usize, usize)> {
    let half = (units.channels / units.unit / 2).max(1) * units.unit;
    let rows = TileRegion::new(graph, operators, Along::Rows).map(|region| region.rows());
    let by_channels = [units.channels, half].map(|channels| (Along::Channels, channels, units.channels));
    by_channels.into_iter().chain(rows.map(|rows| (Along::Rows, rows / 2, rows))).collect()
}

/// The operators with the most work that can be divided, of different shapes.
fn heads(graph: &Graph, most: usize) -> Vec<OperatorId> {
    let mut heads: Vec<OperatorId> = graph.operator_ids().filter(|&id| graph.channel_units(id).is_some()).collect();
    heads.sort_by_key(|&id| std::cmp::Reverse(graph.operator(id).work.macs));
    let mut chosen: Vec<OperatorId> = Vec::new();
    for id in heads {
        let operator = graph.operator(id);
        let is_known = |&other: &OperatorId| {
            let other = graph.operator(other);
            other.kind == operator.kind && other.work == operator.work
        };
        if chosen.len() < most && !chosen.iter().any(is_known) {
            chosen.push(id);
        }
    }
    chosen
}

/// Inputs of constant elements for a segment: what dense operators take does not depend on them.
pub(crate) fn made_up(graph: &Graph, operators: &[OperatorId]) -> Option<Vec<Tensor>> {
    let input = |&value| {
        let value = graph.value(value);
        let (data_type, shape) = (value.data_type?, value.shape.clone()?);
        let elements = shape.elements() as usize;
        Some(match data_type {
            millstream_graph::DataType::F32 => Tensor::from_f32(shape, vec![0.5; elements]),
            other => Tensor::from_bytes(other, shape, vec![0; elements * other.bytes()?]),
        })
    };
    graph.boundary(operators).inputs.iter().map(input).collect()
}
