//! What ONNX Runtime writes of a session's operators.

use std::collections::HashSet;
use std::sync::LazyLock;

use millstream_backend_ort::operator_times;
use serde_json::Value;

use crate::documents::text;
use crate::network::SETTING;

/// Three frames of the small network.
static SOUND: LazyLock<Vec<Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../documents/ort-trace.json")).into_iter().collect());

pub(crate) fn run(data: &[u8]) {
    let Some((&warm_up, rest)) = data.split_first() else { return };
    let Some(text) = text(rest, &SOUND) else { return };
    let graph = SETTING.model.graph();
    let Ok(times) = operator_times(&text, graph, graph.order(), usize::from(warm_up % 4)) else { return };
    let mut seen = HashSet::new();
    for own in times {
        assert!(own.operators.iter().all(|&operator| seen.insert(operator)), "an operator's time counts once");
        assert!(own.seconds.iter().all(|seconds| seconds.is_finite() && *seconds >= 0.0), "{:?}", own.seconds);
    }
}
