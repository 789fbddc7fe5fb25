//! What the example writes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use millstream_onnx::{Model, ReadOptions};

#[path = "../examples/small_network.rs"]
#[allow(dead_code, reason = "the example has a `main` of its own")]
mod small_network;

#[test]
fn a_network_that_was_built_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.onnx");
    assert_eq!(small_network::write(&path).unwrap(), 10);
    let model = Model::read(&path, &ReadOptions::default()).unwrap();
    let types: Vec<&str> = model.graph().operators().iter().map(|operator| operator.op_type.as_str()).collect();
    assert_eq!(types, ["Conv", "Relu", "Conv", "Relu", "Conv", "Relu", "Add", "Conv", "Relu", "GlobalAveragePool"]);
}
