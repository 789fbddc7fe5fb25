//! What rivals may do that our schedules were not asked to do.

use millstream_board::{Board, CoreId, EngineName, ReducedPrecision};
use millstream_graph::{Graph, OperatorKind};

use super::contender::cores_of;

/// OpenVINO computes quantised networks with integers unless it is told not to.
pub(super) const OPENVINO_BY_ITSELF: EngineName = EngineName::OpenVinoWith(ReducedPrecision::Int8);

/// What there is to know where a board leaves cores out.
pub(super) fn advantage_of_plain(board: &Board, left_out: &[CoreId]) -> Option<String> {
    let list = || cores_of(board).iter().map(|core| core.0.to_string()).collect::<Vec<_>>().join(",");
    (!left_out.is_empty()).then(|| {
        format!(
            "by their own choice, ONNX Runtime (default) and OpenVINO (with its hints) also use {} cores that the board \
             leaves out; on Linux, `taskset -c {}` before the command holds them to the board's",
            left_out.len(),
            list()
        )
    })
}

/// What there is to know where rivals on OpenVINO compute quantised operators with integers, as it does by itself, and our
/// schedules may use it only as the model says, with floats. ONNX Runtime has kernels with integers for both.
pub(super) fn advantage_of_integers(board: &Board, graph: &Graph) -> Option<String> {
    let uses = |engine| board.engines_in_use().any(|used| used == engine);
    let is_quantised =
        |kind: &OperatorKind| matches!(kind, OperatorKind::Quantization | OperatorKind::DynamicQuantization);
    let has_quantised = graph.operators().iter().any(|operator| is_quantised(&operator.kind));
    let (own, integers) = (EngineName::OpenVino, OPENVINO_BY_ITSELF);
    (has_quantised && uses(own) && !uses(integers)).then(|| {
        format!(
            "sessions of {} compute the quantised operators of this network with integers, and our stages on {own} with \
             floats, as the model says; name {integers} as well, as in --engine onnxruntime,{own},{integers}, for stages \
             that do the same: results may then be a step of quantisation off",
            own.title()
        )
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_test_support::board;

    use super::*;

    #[test]
    fn cores_that_only_rivals_use_are_told() {
        let board = board("B2#0");
        let text = advantage_of_plain(&board, &[CoreId(2), CoreId(3)]).unwrap();
        assert!(text.contains("use 2 cores") && text.contains("taskset -c 0,1"), "{text}");
        assert_eq!(advantage_of_plain(&board, &[]), None);
    }

    #[test]
    fn integers_that_only_rivals_compute_with_are_told() {
        let [quantised, floats] = ["resnet50-int8", "squeezenet"].map(|name| millstream_zoo::build(name).unwrap());
        let told = |engines: &str, model: &millstream_onnx::Model| {
            advantage_of_integers(&board(&format!("B2@{engines}")), model.graph())
        };
        let text = told("onnxruntime,openvino", &quantised).unwrap();
        assert!(text.contains("--engine onnxruntime,openvino,openvinoint8"), "{text}");
        assert_eq!(told("onnxruntime,openvino", &floats), None);
        for engines in ["onnxruntime", "onnxruntime,openvino,openvinoint8"] {
            assert_eq!(told(engines, &quantised), None, "{engines}: our stages use integers");
        }
    }
}
