//! What ONNX Runtime writes of a session's operators.

use std::collections::HashSet;

use millstream_backend_ort::operator_times;

use crate::network::SETTING;

pub(crate) fn run(data: &[u8]) {
    let Some((&warm_up, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let graph = SETTING.model.graph();
    let Ok(times) = operator_times(text, graph, graph.order(), usize::from(warm_up % 4)) else { return };
    let mut seen = HashSet::new();
    for own in times {
        assert!(own.operators.iter().all(|&operator| seen.insert(operator)), "an operator's time counts once");
        assert!(own.seconds.iter().all(|seconds| seconds.is_finite() && *seconds >= 0.0), "{:?}", own.seconds);
    }
}
