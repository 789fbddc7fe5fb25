//! Times of operators in context, from ONNX Runtime's own profile of a session.

use std::collections::{BTreeMap, HashMap, HashSet};

use millstream_backend::{Node, OperatorTimes, cover};
use millstream_graph::{Graph, OperatorId};
use serde::Deserialize;

/// What ONNX Runtime appends to a node's name in its profile.
const KERNEL_SUFFIX: &str = "_kernel_time";
/// What it appends to the name of the value that a node makes when it gives the node a blocked layout.
const BLOCKED_SUFFIX: &str = "_nchwc";

/// What it puts behind the name of a product that the addition of a bias was fused with.
const PRODUCT_FUSION: &str = "/MatMulAddFusion";
/// What it puts before the name of a node that an activation was fused with.
const FUSED: &str = "fused ";

/// What the types of nodes begin with that move values from one memory to another; they are none of an operator's time.
const MOVES: &str = "Memcpy";

/// One entry of the profile.
#[derive(Debug, Deserialize)]
struct Event {
    #[serde(default)]
    cat: String,
    name: String,
    /// Start, in microseconds.
    ts: u64,
    /// Duration, in microseconds.
    dur: u64,
    #[serde(default)]
    args: Arguments,
}

#[derive(Debug, Default, Deserialize)]
struct Arguments {
    #[serde(default)]
    op_name: String,
}

impl Event {
    fn end(&self) -> u64 {
        self.ts.saturating_add(self.dur)
    }
}

fn parsed(profile: &str) -> Result<Vec<Event>, String> {
    if profile.is_empty() {
        let folder = std::env::temp_dir();
        return Err(format!(
            "ONNX Runtime has written no profile; the file system of {} may be full, and TMPDIR names another folder",
            folder.display()
        ));
    }
    serde_json::from_str(profile).map_err(|error| format!("ONNX Runtime's profile: {error}"))
}

/// Reads a profile. The first `warm_up` frames are left out.
///
/// # Errors
/// What is wrong with the text, if it is not such a profile.
pub fn operator_times(
    profile: &str,
    graph: &Graph,
    segment: &[OperatorId],
    warm_up: usize,
) -> Result<Vec<OperatorTimes>, String> {
    let mut events = parsed(profile)?;
    events.sort_by_key(|event| (event.ts, std::cmp::Reverse(event.dur)));

    let names = Names::new(graph, segment);
    let mut nodes: Vec<Node> = Vec::new();
    let mut seen: HashSet<OperatorId> = HashSet::new();
    let mut seconds: HashMap<OperatorId, Vec<f64>> = HashMap::new();
    for frame in frames(&events).into_iter().skip(warm_up) {
        let mut times: BTreeMap<OperatorId, f64> = BTreeMap::new();
        let known: Vec<Option<OperatorId>> = frame.iter().map(|event| names.find(&event.name)).collect();
        for (index, event) in frame.iter().enumerate() {
            let before = || known[..index].iter().rev().find_map(|&operator| operator);
            let after = || known[index + 1..].iter().find_map(|&operator| operator);
            // Whoever does not work on the blocked layout causes the conversions around it.
            let owner = match known[index] {
                Some(operator) => Some(operator),
                None if event.args.op_name == "ReorderInput" => before().or_else(after),
                None => after().or_else(before),
            };
            let Some(owner) = owner else { continue };
            *times.entry(owner).or_default() += event.dur as f64 * 1e-6;
            if known[index].is_some() && seen.insert(owner) {
                // A product that a sum was fused with is named after the product, and runs nothing before it.
                let is_product = event.name.contains(PRODUCT_FUSION);
                let op_type = if is_product { &graph.operator(owner).op_type } else { &event.args.op_name };
                nodes.push(Node { operator: owner, op_type: op_type.clone() });
            }
        }
        for (operator, time) in times {
            seconds.entry(operator).or_default().push(time);
        }
    }

    let groups = cover(graph, segment, &nodes);
    let mut times = |operator: OperatorId| seconds.remove(&operator).unwrap_or_default();
    Ok(nodes
        .iter()
        .zip(groups)
        .map(|(node, operators)| OperatorTimes { operators, seconds: times(node.operator) })
        .collect())
}

/// What a profile shows of frames as a whole.
pub(crate) struct Kernels {
    /// Time of all kernels of each frame, moves of values left out.
    pub(crate) seconds: Vec<f64>,
    /// Whether every kernel is that of an operator.
    pub(crate) are_known: bool,
}

/// Reads a profile of which it is not known whether its kernels are those of operators. The first `warm_up` frames are
/// left out.
///
/// # Errors
/// As [`operator_times`].
pub(crate) fn kernels(profile: &str, graph: &Graph, segment: &[OperatorId], warm_up: usize) -> Result<Kernels, String> {
    let mut events = parsed(profile)?;
    events.sort_by_key(|event| (event.ts, std::cmp::Reverse(event.dur)));
    let names = Names::new(graph, segment);
    let frames: Vec<Vec<&Event>> = frames(&events).into_iter().skip(warm_up).collect();
    let kernels = |frame: &Vec<&Event>| frame.iter().map(|event| event.dur as f64 * 1e-6).sum();
    let is_known = |event: &&Event| names.find(&event.name).is_some();
    Ok(Kernels {
        seconds: frames.iter().map(kernels).collect(),
        are_known: frames.iter().all(|frame| !frame.is_empty() && frame.iter().all(is_known)),
    })
}

/// The kernels of each frame, of events by their starts, with those that began first and ended last before those within
/// them.
fn frames(events: &[Event]) -> Vec<Vec<&Event>> {
    let mut frames: Vec<Vec<&Event>> = Vec::new();
    let mut frame_end = 0;
    let mut node_end = 0;
    for event in events {
        if event.name == "model_run" {
            frames.push(Vec::new());
            (frame_end, node_end) = (event.end(), 0);
        } else if event.cat == "Node"
            && event.name.ends_with(KERNEL_SUFFIX)
            && !event.args.op_name.starts_with(MOVES)
            && event.ts <= frame_end
        {
            // Nodes within nodes (the bodies of loops and branches) are part of the outer one's time.
            if event.end() > node_end || event.ts >= node_end {
                node_end = event.end();
                if let Some(frame) = frames.last_mut() {
                    frame.push(event);
                }
            }
        }
    }
    frames
}

/// Finds operators by what ONNX Runtime calls its nodes.
struct Names<'a> {
    operators: HashMap<&'a str, OperatorId>,
    values: HashMap<&'a str, OperatorId>,
}

impl<'a> Names<'a> {
    fn new(graph: &'a Graph, segment: &[OperatorId]) -> Self {
        let operators = segment.iter().map(|&id| (graph.operator(id).name.as_str(), id)).collect();
        let outputs = |&id: &OperatorId| {
            graph.operator(id).outputs.iter().map(move |&value| (graph.value(value).name.as_str(), id))
        };
        Self { operators, values: segment.iter().flat_map(outputs).collect() }
    }

    fn find(&self, event: &str) -> Option<OperatorId> {
        self.by_whole_name(event).or_else(|| self.by_one_of_several(event))
    }

    /// Several operators in one node are called after one of them, with what made them one behind it, such as
    /// `MatMul_0/MatMulAddFusion` or `Mul_7/LayerNormFusion/`.
    fn by_one_of_several(&self, event: &str) -> Option<OperatorId> {
        let name = event.strip_suffix(KERNEL_SUFFIX).unwrap_or(event);
        let name = name.strip_prefix(FUSED).unwrap_or(name).trim_end_matches('/');
        let (operator, made_by) = name.rsplit_once('/')?;
        self.operators.get(operator).copied().filter(|_| made_by.contains("Fusion"))
    }

    fn by_whole_name(&self, event: &str) -> Option<OperatorId> {
        let name = event.strip_suffix(KERNEL_SUFFIX).unwrap_or(event);
        let name = name.strip_prefix(FUSED).unwrap_or(name);
        let plain = name.rsplit_once("_token_").map_or(name, |(plain, _)| plain);
        let by_value = plain.strip_suffix(BLOCKED_SUFFIX).and_then(|value| self.values.get(value));
        let by_name = || [name, plain].into_iter().find_map(|name| self.operators.get(name));
        by_value.or_else(by_name).copied()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use millstream_onnx::{ModelBuilder, Weight};

    use super::*;

    pub(crate) fn event(name: &str, op: &str, ts: u64, dur: u64) -> String {
        format!(r#"{{"cat":"Node","name":"{name}_kernel_time","ts":{ts},"dur":{dur},"args":{{"op_name":"{op}"}}}}"#)
    }

    /// Frames of 100 microseconds with these nodes.
    fn profile(nodes: &[(&str, &str, u64)], frames: u64) -> String {
        let mut events = Vec::new();
        for frame in 0..frames {
            let mut now = 1000 * frame;
            events.push(format!(r#"{{"cat":"Session","name":"model_run","ts":{now},"dur":999}}"#));
            for (name, op, dur) in nodes {
                events.push(event(name, op, now, dur + frame));
                now += dur + frame;
            }
        }
        format!("[{}]", events.join(","))
    }

    #[test]
    fn fused_and_eliminated_operators_belong_to_the_node_that_ran_them() {
        let mut builder = ModelBuilder::new("chain");
        let input = builder.input("x", [1, 4]);
        let first = builder.node("Relu", &[&input]);
        let second = builder.node("Sigmoid", &[&first]);
        let third = builder.node("Mul", &[&first, &second]);
        let last = builder.node("Identity", &[&third]);
        builder.output(&last);
        let model = builder.build().unwrap();
        let graph = model.graph();
        // Sigmoid and Mul run as one; Identity is gone; a conversion comes before the fused node.
        let nodes = [("Relu_0", "Relu", 10), ("ReorderOutput", "ReorderOutput", 3), ("Mul_2", "QuickGelu", 20)];
        let times = operator_times(&profile(&nodes, 3), graph, graph.order(), 1).unwrap();
        let names: Vec<Vec<&str>> = times
            .iter()
            .map(|times| times.operators.iter().map(|&id| graph.operator(id).name.as_str()).collect())
            .collect();
        assert_eq!(names, [vec!["Relu_0"], vec!["Sigmoid_1", "Mul_2", "Identity_3"]]);
        assert_eq!(times[0].seconds, [11e-6, 12e-6]);
        assert!((times[1].seconds[0] - 25e-6).abs() < 1e-12, "{:?}", times[1].seconds);
    }

    /// The operators that ran as one, by their places.
    fn groups(times: &[OperatorTimes]) -> Vec<Vec<usize>> {
        times.iter().map(|times| times.operators.iter().map(|id| id.index()).collect()).collect()
    }

    #[test]
    fn a_product_runs_the_sum_and_the_activation_behind_it() {
        let mut builder = ModelBuilder::new("perceptron");
        let mut value = builder.input("x", [1, 4]);
        let matrix = builder.weight("w", &Weight::from_f32([4, 4], vec![0.5; 16]));
        let bias = builder.weight("b", &Weight::from_f32([4], vec![0.5; 4]));
        for _ in 0..2 {
            let product = builder.node("MatMul", &[&value, &matrix]);
            let sum = builder.node("Add", &[&product, &bias]);
            value = builder.node("Relu", &[&sum]);
        }
        builder.output(&value);
        let model = builder.build().unwrap();
        let graph = model.graph();
        let nodes = [
            ("fused MatMul_0/MatMulAddFusion", "FusedGemm", 10),
            ("fused MatMul_3/MatMulAddFusion_token_0", "FusedGemm", 20),
        ];
        let times = operator_times(&profile(&nodes, 2), graph, graph.order(), 1).unwrap();
        assert_eq!(groups(&times), [[0, 1, 2], [3, 4, 5]]);
        assert_eq!(times[1].seconds, [21e-6]);
    }

    #[test]
    fn a_normalisation_runs_the_operators_before_the_one_that_it_is_named_after() {
        let mut builder = ModelBuilder::new("normalisation");
        let input = builder.input("x", [1, 4]);
        let first = builder.node("Relu", &[&input]);
        let mean = builder.node("ReduceMean", &[&first]);
        let rest = builder.node("Sub", &[&first, &mean]);
        let scale = builder.weight("s", &Weight::from_f32([4], vec![2.0; 4]));
        let scaled = builder.node("Mul", &[&rest, &scale]);
        builder.output(&scaled);
        let model = builder.build().unwrap();
        let graph = model.graph();
        let nodes = [("Relu_0", "Relu", 10), ("Mul_3/LayerNormFusion/", "LayerNormalization", 20)];
        let times = operator_times(&profile(&nodes, 2), graph, graph.order(), 1).unwrap();
        assert_eq!(groups(&times), [vec![0], vec![1, 2, 3]]);

        // What is behind another operator's name, but not by fusing it, is that of none.
        let names = Names::new(graph, graph.order());
        assert_eq!(names.find("Mul_3/Other_kernel_time"), None);
        assert!(names.find("Mul_3_kernel_time").is_some());
    }

    #[test]
    fn a_damaged_profile_is_an_error() {
        let model = millstream_zoo::build("tiny-darknet").unwrap();
        assert!(operator_times("[{", model.graph(), model.graph().order(), 0).is_err());
    }

    /// Found by fuzzing: times that end after the last moment that there is.
    #[test]
    fn times_beyond_all_clocks_are_read() {
        let mut builder = ModelBuilder::new("one");
        let input = builder.input("x", [1, 4]);
        let made = builder.node("Relu", &[&input]);
        builder.output(&made);
        let model = builder.build().unwrap();
        let last = u64::MAX;
        let run = format!(r#"{{"cat":"Session","name":"model_run","ts":{last},"dur":{last}}}"#);
        let profile = format!("[{run},{}]", event("Relu_0", "Relu", last, 7));
        let times = operator_times(&profile, model.graph(), model.graph().order(), 0).unwrap();
        assert_eq!((times.len(), times[0].seconds.clone()), (1, vec![7e-6]));
    }
}
