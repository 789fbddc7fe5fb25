//! Every network of the zoo gives the same as a whole, in two segments and in the reference.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use millstream_backend::{Segment, Tensor, WholeNetwork};
use millstream_graph::{Graph, OperatorId, ValueId};

use crate::operators;
use crate::rig::{Rig, failed, zoo};
use crate::seams;
use crate::subject::Subject;
use crate::tensors::{agree, frame_of};

/// Differences add up along a network.
const ALONG_A_NETWORK: f32 = 10.0;
/// Networks of fewer multiply-accumulates run in many segments as well.
const SMALL_NETWORK: u64 = 1_000_000_000;
/// Operators of each of many segments, at least.
const SHORT_SEGMENT: usize = 7;

pub(crate) fn check(subject: &Subject) -> Result<(), String> {
    let progress = Mutex::new(Progress { left: subject.networks.clone(), ..Progress::default() });
    // Most of the time goes into preparing segments, which needs a single core.
    let all: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let workers = [0; 2].map(|_| scope.spawn(|| work(subject, &progress)));
        let ended =
            workers.map(|worker| worker.join().unwrap_or_else(|_| Err("a network ended its thread".to_owned())));
        ended.into()
    });
    all.into_iter().collect::<Result<(), String>>()?;
    if lock(&progress).whole == 0 { Err("no network runs as a whole".to_owned()) } else { Ok(()) }
}

/// What those who work on networks have done together, and what is left to do.
#[derive(Default)]
struct Progress {
    left: Vec<&'static str>,
    /// Operators that somebody has looked at.
    seen: HashSet<String>,
    /// Networks that ran as a whole.
    whole: usize,
}

fn lock(progress: &Mutex<Progress>) -> MutexGuard<'_, Progress> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks at one network after the other until none is left.
fn work(subject: &Subject, progress: &Mutex<Progress>) -> Result<(), String> {
    loop {
        let Some(name) = lock(progress).left.pop() else { return Ok(()) };
        let model = zoo(name)?;
        let rig = Rig::of(subject, &model)?;
        let reference = Rig::reference(subject, &model)?;
        let supports_all = rig.graph().operator_ids().all(|id| rig.supports(id));
        if supports_all && subject.slow.as_ref().is_none_or(|slow| slow.whole.contains(&name)) {
            network(subject, &rig, reference.as_ref()).map_err(failed(name))?;
            lock(progress).whole += 1;
        }
        let is_new = |operator: String| lock(progress).seen.insert(operator);
        operators::check(subject, &rig, reference.as_ref(), is_new).map_err(failed(name))?;
    }
}

fn network(subject: &Subject, rig: &Rig, reference: Option<&Rig>) -> Result<(), String> {
    let graph = rig.graph();
    let tolerance = ALONG_A_NETWORK * subject.tolerance;
    let frames = [frame_of(graph, 1)?, frame_of(graph, 2)?];
    let mut prepared =
        WholeNetwork::prepare(graph, &*rig.backend, &rig.processor).map_err(failed("preparing the network"))?;
    let made: Result<Vec<Vec<Tensor>>, String> =
        frames.iter().map(|frame| prepared.run(frame).map_err(failed("running the network"))).collect();
    let made = made?;
    drop(prepared);

    for (&id, made) in graph.outputs().iter().zip(&made[0]) {
        let value = graph.value(id);
        made.check_fits(value)
            .map_err(|expected| format!("'{}' is {}, not {expected}", value.name, made.description()))?;
    }
    let is_quantised = || graph.operators().iter().any(|operator| operator.op_type.contains("QuantizeLinear"));

    if let Some(reference) = reference.filter(|_| subject.steps == 0 || !is_quantised()) {
        let expected = reference.run_network(&frames[0])?;
        agree(&made[0], &expected, tolerance).map_err(failed("beside the reference"))?;
    }

    // The second frame: its result must not depend on the first one.
    let half = graph.order().len().div_ceil(2);
    let is_small = graph.macs() < SMALL_NETWORK;
    for at_least in [Some(half), is_small.then_some(SHORT_SEGMENT)].into_iter().flatten() {
        let segments = segments(graph, at_least);
        let what = format!("in {} segments", segments.len());
        let divided = in_segments(rig, &segments, &frames[1])?;
        agree(&divided, &made[1], tolerance).map_err(failed(&what))?;
    }
    if seams::has_fixed_sums(graph) { same_bits(subject, rig, &frames[1], &made[1]) } else { Ok(()) }
}

/// Whether a frame has the results of the whole, bit by bit, in two segments that the backend runs nothing across.
fn same_bits(subject: &Subject, rig: &Rig, frame: &[Tensor], whole: &[Tensor]) -> Result<(), String> {
    let places = seams::seams(subject, &rig.model)?;
    if places.is_empty() {
        return Err("its trace has everything as one, so that it can't be cut".to_owned());
    }
    for place in places {
        let divided = in_segments(rig, &seams::halves(rig.graph(), place), frame)?;
        if !seams::are_same(&divided, whole) {
            return Err(format!("cut before operator {place}, its two segments give other bits than the whole"));
        }
    }
    Ok(())
}

/// The operators in order, in segments of at least so many. What engines run as one quantised operator stays together.
fn segments(graph: &Graph, at_least: usize) -> Vec<Vec<OperatorId>> {
    let mut segments = Vec::new();
    let mut current: Vec<OperatorId> = Vec::new();
    let place: HashMap<OperatorId, usize> = graph.order().iter().copied().zip(0..).collect();
    // Up to where operators are tied to one that has come already.
    let mut tied = 0;
    for (index, &id) in graph.order().iter().enumerate() {
        if current.len() >= at_least && index > tied {
            segments.push(std::mem::take(&mut current));
        }
        current.push(id);
        let readers = graph.operator(id).outputs.iter().flat_map(|&value| graph.readers(value));
        let ties = readers.filter(|&&reader| graph.is_one_quantised_operator(id, reader));
        tied = ties.filter_map(|reader| place.get(reader).copied()).fold(tied, usize::max);
    }
    segments.push(current);
    segments
}

/// Segment after segment, the results of each handed to the next as they are.
fn in_segments(rig: &Rig, segments: &[Vec<OperatorId>], frame: &[Tensor]) -> Result<Vec<Tensor>, String> {
    let graph = rig.graph();
    let mut values: HashMap<ValueId, Tensor> = graph.inputs().iter().copied().zip(frame.iter().cloned()).collect();
    for operators in segments {
        let segment = Segment::new(graph, operators.clone());
        let made = rig.run(&segment, &segment.inputs_from(&values))?;
        values.extend(segment.boundary.outputs.iter().copied().zip(made));
    }
    Ok(graph.outputs().iter().filter_map(|id| values.get(id).cloned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_cut_where_no_quantised_operator_is() {
        for name in ["squeezenet", "resnet50-int8", "minilm-like-int8"] {
            let model = zoo(name).unwrap();
            let graph = model.graph();
            let segments = segments(graph, SHORT_SEGMENT);
            assert!(segments.len() > 3, "{name}");
            assert_eq!(segments.concat(), graph.order());
            let of = |id: OperatorId| segments.iter().position(|segment| segment.contains(&id));
            for &id in graph.order() {
                assert!(graph.tied_producers(id).all(|producer| of(producer) == of(id)), "{name}");
            }
        }
    }
}
