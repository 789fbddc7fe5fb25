//! Expected results: one file for each frame, or one for all of them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;

use millstream_backend::Tensor;
use millstream_frames::{Frame, FramesError, Golden, Tolerance, write_results};
use millstream_onnx::{Model, ModelBuilder};

/// A network whose only output has three elements.
fn model() -> Model {
    let mut builder = ModelBuilder::new("small");
    let input = builder.input("input", [1, 3]);
    let output = builder.node("Relu", &[&input]);
    builder.output(&output);
    builder.build().unwrap()
}

fn frames(labels: &[&str]) -> Vec<Frame> {
    labels.iter().map(|&label| Frame { label: label.to_owned(), tensors: Vec::new() }).collect()
}

/// Writes what is expected of the output.
fn expect(model: &Model, folder: &Path, label: &str, tensor: Tensor) {
    let output = model.graph().value(model.graph().outputs()[0]).name.clone();
    write_results(folder, label, &[(output, tensor)]).unwrap();
}

#[test]
fn each_frame_is_compared_with_its_own_results() {
    let (model, folder) = (model(), tempfile::tempdir().unwrap());
    let result = |first: f32| Tensor::from_f32([1, 3], vec![first, 2.0, 4.0]);
    expect(&model, folder.path(), "a", result(1.0));
    expect(&model, folder.path(), "b", result(3.0));
    let golden = Golden::read(folder.path(), model.graph(), &frames(&["a", "b"])).unwrap();
    let check = |number, first| golden.check(number, "frame", &[result(first)], Tolerance::default()).unwrap();
    assert_eq!((check(0, 1.0).ok(), check(1, 3.0).ok()), (Some(0.0), Some(0.0)));
    // One element that is wrong is enough.
    let mismatch = check(1, 1.0).unwrap_err();
    assert_eq!((mismatch.difference.wrong, mismatch.difference.largest), (1, 0.5));
    // What is within the tolerance is told.
    assert!(check(0, 1.0001).is_ok_and(|largest| largest > 1e-5 && largest < 1e-4));
}

#[test]
fn a_file_has_results_of_as_many_frames_as_there_are() {
    let (model, folder) = (model(), tempfile::tempdir().unwrap());
    expect(&model, folder.path(), "all", Tensor::from_f32([2, 3], (0..6_u8).map(f32::from).collect()));
    let file = folder.path().join("all.npz");
    let read = |labels: &[&str]| Golden::read(&file, model.graph(), &frames(labels));
    let golden = read(&["a", "b"]).unwrap();
    let second = Tensor::from_f32([1, 3], vec![3.0, 4.0, 5.0]);
    assert_eq!(golden.check(1, "b", &[second], Tolerance::default()).unwrap().ok(), Some(0.0));
    for labels in [&["a"][..], &["a", "b", "c"]] {
        let refused = read(labels).unwrap_err();
        let FramesError::Format { detail, .. } = &refused else { panic!("{refused}") };
        assert!(detail.contains("results of 2 frames"), "{detail}");
    }
}
