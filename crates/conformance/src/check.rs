//! One model, by every way of running it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use millstream_backend::{Tensor, WholeNetwork};
use millstream_backend_ort::{OrtBackend, PlainSession, SessionSettings};
use millstream_frames::{FrameMaker, Tolerance, compare, largest_difference};
use millstream_graph::{Graph, ValueId};
use millstream_onnx::proto::ModelProto;
use millstream_onnx::{Model, ReadOptions};
use millstream_partition::Chain;
use prost::Message;

use crate::case::{Case, Data};
use crate::engine::EngineUnderTest;
use crate::ways;

/// What became of a model.
#[derive(Debug, Clone, PartialEq)]
pub enum CheckOutcome {
    /// Everything ran and agreed.
    Agrees {
        /// Whether there was something to cut into two stages.
        has_two_stages: bool,
        /// Whether some operator could be divided by channels.
        has_splits: bool,
        /// Whether some block could be divided by rows.
        has_tiles: bool,
        /// Whether ONNX Runtime's own results differ from those that the suite expects.
        differs_from_suite: bool,
    },
    /// ONNX Runtime itself does not run it.
    NotByOnnxRuntime {
        /// What it says.
        detail: String,
    },
    /// It is refused here, with this error.
    Refused {
        /// The error.
        detail: String,
    },
    /// Something ran and gave other results, or failed after it had been accepted.
    Wrong {
        /// What and where.
        detail: String,
    },
}

/// Runs a case in plain ONNX Runtime and in every way here, with an engine.
pub fn check(case: &Case, engine: &EngineUnderTest) -> CheckOutcome {
    let mut plain = match PlainSession::load(engine.reference(), &case.model) {
        Ok(plain) => plain,
        Err(error) => return CheckOutcome::NotByOnnxRuntime { detail: error.to_string() },
    };
    let data = std::fs::read(&case.model)
        .map_err(|error| error.to_string())
        .and_then(|bytes| ModelProto::decode(bytes.as_slice()).map_err(|error| error.to_string()))
        .and_then(|proto| case.read_data(&proto));
    let expected = match &data {
        Err(detail) => Err(detail.clone()),
        Ok(data) => plain.run(&data.inputs).map_err(|error| error.to_string()),
    };
    let own = read(&case.model, &data);
    match (own, expected, data) {
        (Ok(model), Ok(expected), Ok(data)) => outcome(compare_with_suite(&model, &data, &expected, engine)),
        (Err(detail), Ok(_), _) => CheckOutcome::Refused { detail },
        // What is no tensor can't be given to either: the reader's word is what a user gets.
        (Err(detail), Err(_), Err(_)) => CheckOutcome::Refused { detail },
        (Ok(model), Err(_), Err(detail)) => refusal_without_data(&model, engine, &detail),
        (_, Err(detail), Ok(_)) => CheckOutcome::NotByOnnxRuntime { detail },
        (Ok(_), Ok(_), Err(detail)) => CheckOutcome::Wrong { detail },
    }
}

/// Runs a network, of which nobody has test data, on made-up frames: in plain ONNX Runtime and in every way here.
pub fn check_network(path: &Path, options: &ReadOptions, engine: &EngineUnderTest) -> CheckOutcome {
    let compared = || -> Result<CheckOutcome, Failure> {
        let model = Model::read(path, options).map_err(|error| Failure::Refused(error.to_string()))?;
        let graph = model.graph();
        let backend = engine.backend(&model);
        let mut whole = WholeNetwork::prepare(graph, &*backend, &ways::processor(0))
            .map_err(|error| Failure::Refused(error.to_string()))?;
        let frame = FrameMaker::tried(&model, &mut whole).and_then(|maker| maker.frame(1));
        let frame = frame.map_err(|error| Failure::Refused(error.to_string()))?;
        let names = graph.inputs().iter().map(|&id| graph.value(id).name.clone());
        let inputs: BTreeMap<String, Tensor> = names.zip(frame.iter().cloned()).collect();
        let expected = PlainSession::load(engine.reference(), path).and_then(|mut plain| plain.run(&inputs));
        let expected = expected.map_err(|error| Failure::Wrong(format!("plain ONNX Runtime: {error}")))?;
        let (has_two_stages, has_splits, has_tiles) = compare_ways(&model, &frame, &expected, engine)?;
        Ok(CheckOutcome::Agrees { has_two_stages, has_splits, has_tiles, differs_from_suite: false })
    };
    outcome(compared())
}

fn outcome(compared: Result<CheckOutcome, Failure>) -> CheckOutcome {
    match compared {
        Ok(outcome) => outcome,
        Err(Failure::Refused(detail)) => CheckOutcome::Refused { detail },
        Err(Failure::Wrong(detail)) => CheckOutcome::Wrong { detail },
    }
}

enum Failure {
    Refused(String),
    Wrong(String),
}

/// Reads the model, with open dimensions as the data have them.
fn read(path: &Path, data: &Result<Data, String>) -> Result<Model, String> {
    let mut options = ReadOptions::default();
    for (name, tensor) in data.iter().flat_map(|data| &data.inputs) {
        let sizes = tensor.shape().dimensions().iter().enumerate();
        options.dimensions.extend(sizes.map(|(place, &size)| (format!("{name}.{place}"), size)));
    }
    Model::read(path, &options).map_err(|error| error.to_string())
}

/// A model whose data are no tensors: it must say so when it is prepared.
fn refusal_without_data(model: &Model, engine: &EngineUnderTest, data: &str) -> CheckOutcome {
    let backend = engine.backend(model);
    let segment = millstream_backend::Segment::whole(model.graph());
    match backend.prepare(&segment, &ways::processor(0)) {
        Err(error) => CheckOutcome::Refused { detail: error.to_string() },
        Ok(_) => CheckOutcome::Wrong { detail: format!("the model is prepared although its data can't be: {data}") },
    }
}

/// Runs a case of the suite in every way.
fn compare_with_suite(
    model: &Model,
    data: &Data,
    expected: &[Tensor],
    engine: &EngineUnderTest,
) -> Result<CheckOutcome, Failure> {
    let graph = model.graph();
    let frame: Option<Vec<Tensor>> =
        graph.inputs().iter().map(|&id| data.inputs.get(&graph.value(id).name).cloned()).collect();
    let frame = frame.ok_or_else(|| Failure::Wrong("an input that the data do not have".to_owned()))?;
    let (has_two_stages, has_splits, has_tiles) = compare_ways(model, &frame, expected, engine)?;
    let differs_from_suite = differs(expected, &data.expected, is_random(graph), Tolerance::default()).is_some();
    Ok(CheckOutcome::Agrees { has_two_stages, has_splits, has_tiles, differs_from_suite })
}

/// Whether results are different each time; `Dropout` draws as well where it is there for training.
fn is_random(graph: &Graph) -> bool {
    graph.operators().iter().any(|operator| operator.is_random() || operator.op_type == "Dropout")
}

/// Runs a frame in every way and compares the results with expected ones. Returns whether there was something to cut
/// into two stages, something to divide by channels, and something to divide by rows.
fn compare_ways(
    model: &Model,
    frame: &[Tensor],
    expected: &[Tensor],
    engine: &EngineUnderTest,
) -> Result<(bool, bool, bool), Failure> {
    let graph = model.graph();
    let chain = Chain::of(graph);
    let backend = engine.backend(model);
    let is_random = is_random(graph);
    let mut tolerance = Tolerance::default();
    let mut agree = |way: &str, results: &[Tensor]| {
        if differs(results, expected, is_random, tolerance).is_some() && tolerance.rounding == 0.0 {
            tolerance.rounding = rounding(model, frame, expected, engine).map_err(Failure::Wrong)?;
        }
        match differs(results, expected, is_random, tolerance) {
            None => Ok(()),
            Some(detail) => Err(Failure::Wrong(format!("{way}: {detail}"))),
        }
    };
    let wrong = |way: &str, detail: String| Failure::Wrong(format!("{way}: {detail}"));

    let whole = ways::whole(graph, &*backend, frame).map_err(Failure::Refused)?;
    agree("whole", &whole)?;
    // Integers do not depend on who computes them: quantised networks give the same bits in every way.
    let is_quantised = graph.operators().iter().any(|operator| operator.op_type.contains("QuantizeLinear"));
    let same_bits = |way: &str, results: &[Tensor]| {
        let differs = results.iter().zip(&whole).any(|(result, whole)| result.bytes() != whole.bytes());
        if is_quantised && differs {
            Err(Failure::Wrong(format!("{way}: the results are not the same bits as those of the whole")))
        } else {
            Ok(())
        }
    };
    check_shapes(graph, expected).map_err(|detail| wrong("shapes", detail))?;

    let values = ways::blocks(graph, &chain, &*backend, frame).map_err(|detail| wrong("block by block", detail))?;
    check_values(graph, &values).map_err(|detail| wrong("shapes", detail))?;

    let two_stages = ways::two_stages(&chain);
    let divided = ways::divided(graph, &chain);
    let tiled = ways::tiled(graph, &chain);
    let schedules = [
        ("two stages", two_stages.as_ref()),
        ("replicas", Some(&ways::replicas(graph))),
        ("divided by channels", divided.as_ref()),
        ("divided by rows", tiled.as_ref()),
    ];
    for (way, schedule) in schedules.into_iter().filter_map(|(way, schedule)| Some((way, schedule?))) {
        let all = ways::stream(graph, schedule, &backend, frame).map_err(|detail| wrong(way, detail))?;
        for results in &all {
            agree(way, results)?;
            same_bits(way, results)?;
        }
    }
    Ok((two_stages.is_some(), divided.is_some(), tiled.is_some()))
}

/// Whether values have the types and shapes that were inferred.
fn check_values(graph: &Graph, values: &HashMap<ValueId, Tensor>) -> Result<(), String> {
    for (&id, tensor) in values {
        let value = graph.value(id);
        let detail = |inferred| format!("'{}' is {}, inferred {inferred}", value.name, tensor.description());
        tensor.check_fits(value).map_err(detail)?;
    }
    Ok(())
}

/// How much results differ if ONNX Runtime computes and rounds every operator by itself: what rounding alone does to
/// the network.
fn rounding(model: &Model, frame: &[Tensor], expected: &[Tensor], engine: &EngineUnderTest) -> Result<f64, String> {
    let settings = SessionSettings { optimised: false, ..SessionSettings::default() };
    let backend = OrtBackend::with_settings(engine.reference(), Arc::new(model.clone()), settings);
    let results = ways::whole(model.graph(), &backend, frame)?;
    largest_difference(&results, expected).map_err(|error| error.to_string())
}

/// Shapes of results as they were inferred, against those that came out.
fn check_shapes(graph: &Graph, results: &[Tensor]) -> Result<(), String> {
    for (&id, result) in graph.outputs().iter().zip(results) {
        let value = graph.value(id);
        let description = result.description();
        result
            .check_fits(value)
            .map_err(|inferred| format!("'{}' is {description}, inferred {inferred}", value.name))?;
    }
    Ok(())
}

/// How results differ from expected ones, if they do.
fn differs(results: &[Tensor], expected: &[Tensor], is_random: bool, tolerance: Tolerance) -> Option<String> {
    if results.len() != expected.len() {
        return Some(format!("{} results where {} are expected", results.len(), expected.len()));
    }
    results.iter().zip(expected).enumerate().find_map(|(index, (result, expected))| {
        if is_random {
            let is_alike = result.shape() == expected.shape() && result.data_type() == expected.data_type();
            return (!is_alike)
                .then(|| format!("result {index} is {}, not {}", result.description(), expected.description()));
        }
        match compare(result, expected, tolerance) {
            Err(error) => Some(format!("result {index}: {error}")),
            Ok(difference) if difference.wrong > 0 => {
                let worst = &difference.worst[0];
                Some(format!(
                    "result {index}: {} elements differ, at {:?} it is {} where {} is expected",
                    difference.wrong, worst.index, worst.found, worst.expected
                ))
            }
            Ok(_) => None,
        }
    })
}
