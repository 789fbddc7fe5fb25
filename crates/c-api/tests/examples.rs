//! The examples in C and C++, built as users build them, give what sequential inference gives.

#![cfg(all(unix, feature = "ort"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::path::Path;

use millstream_api::backend::WholeNetwork;
use millstream_api::board::Processor;
use millstream_api::frames::{FrameMaker, Tolerance, compare};
use millstream_api::{Network, ReadOptions, Tensor};
use millstream_backend_ort::{Environment, OrtBackend};
use support::{Language, Workplace, library, small_network, told};

/// A session that is planned for in a moment.
const QUICK: &str = r#"{ "profile_seconds": 0.2 }"#;

/// Frames of a network with one input and one output, and what they become.
struct Expected {
    inputs: Vec<u8>,
    outputs: Vec<Tensor>,
}

impl Expected {
    /// By sequential inference, without any schedule.
    fn new(model: &str, frames: u64) -> Self {
        let network = Network::open(model, ReadOptions::default()).unwrap();
        let backend = OrtBackend::new(&Environment::load().unwrap(), network.model().clone());
        let mut whole = WholeNetwork::prepare(network.graph(), &backend, &Processor::new("B", [0])).unwrap();
        let maker = FrameMaker::new(network.model());
        let frames: Vec<Vec<Tensor>> = (0..frames).map(|seed| maker.frame(seed).unwrap()).collect();
        let inputs = frames.iter().flat_map(|frame| frame[0].bytes().unwrap()).copied().collect();
        let outputs = frames.iter().map(|frame| whole.run(frame).unwrap().remove(0)).collect();
        Self { inputs, outputs }
    }

    /// Compares a file of outputs, one after another, with what they should be.
    fn check(&self, file: &Path) {
        let bytes = std::fs::read(file).unwrap();
        let size = self.outputs[0].bytes().unwrap().len();
        assert_eq!(bytes.len(), size * self.outputs.len());
        for (frame, (found, expected)) in bytes.chunks(size).zip(&self.outputs).enumerate() {
            let found = Tensor::from_bytes(expected.data_type(), expected.shape().clone(), found.to_vec());
            let difference = compare(&found, expected, Tolerance::default()).unwrap();
            assert_eq!(difference.wrong, 0, "frame {frame}: {difference:?}");
        }
        let differ = self.outputs.windows(2).all(|pair| pair[0].bytes() != pair[1].bytes());
        assert!(differ, "frames that are all alike would show no wrong order");
    }
}

#[test]
fn the_example_in_c_runs_a_frame() {
    let workplace = Workplace::new();
    let program = workplace.compile(Language::C, "examples/run.c", library());
    let small = workplace.write("small.onnx", &small_network());
    for model in [small.to_str().unwrap(), "zoo:squeezenet"] {
        let expected = Expected::new(model, 1);
        workplace.write("input", &expected.inputs);
        let told = workplace.succeed(&program, &[model, "input", "output", QUICK]);
        assert!(told.contains("input ") && told.contains("output ") && told.contains("type 1, [1, "), "{told}");
        expected.check(&workplace.path("output"));
    }
}

#[test]
fn the_example_in_cpp_streams_frames_in_order() {
    let workplace = Workplace::new();
    let program = workplace.compile(Language::Cpp, "examples/stream.cpp", library());
    let small = workplace.write("small.onnx", &small_network());
    for (model, frames) in [(small.to_str().unwrap(), 200), ("zoo:squeezenet", 6)] {
        let expected = Expected::new(model, frames);
        workplace.write("input", &expected.inputs);
        let report = workplace.succeed(&program, &[model, "input", "output", QUICK]);
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        assert_eq!((&report["frames"], &report["failed_frames"]), (&frames.into(), &0.into()));
        expected.check(&workplace.path("output"));
    }
}

#[test]
fn examples_tell_what_is_wrong() {
    let workplace = Workplace::new();
    let program = workplace.compile(Language::Cpp, "examples/stream.cpp", library());
    workplace.write("small.onnx", &small_network());
    workplace.write("input", &[0; 8192]);
    let fail = |arguments: &[&str]| {
        let output = workplace.command(&program, arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", told(&output));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(fail(&["none.onnx", "input", "output"]).contains("none.onnx"));
    assert!(fail(&["small.onnx", "none", "output"]).contains("none can't be read"));
    assert!(fail(&["small.onnx", "input", "output", r#"{ "objective": "speed" }"#]).contains("speed"));
    workplace.write("text.onnx", b"no model");
    assert!(fail(&["text.onnx", "input", "output"]).contains("text.onnx"));
}

/// The header's version is the library's, and numbers and text are the same; a program can tell at its start.
#[test]
fn the_header_says_which_library_it_is_of() {
    let workplace = Workplace::new();
    let source = workplace.write("version.c", VERSION.as_bytes());
    let program = workplace.compile(Language::C, source.to_str().unwrap(), library());
    assert_eq!(workplace.succeed(&program, &[]), concat!(env!("CARGO_PKG_VERSION"), "\n"));
}

const VERSION: &str = r#"#include <millstream.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    char numbers[40];
    snprintf(numbers, sizeof numbers, "%d.%d.%d", MILLSTREAM_VERSION_MAJOR, MILLSTREAM_VERSION_MINOR, MILLSTREAM_VERSION_PATCH);
    puts(ms_version());
    return strcmp(ms_version(), MILLSTREAM_VERSION) != 0 || strncmp(ms_version(), numbers, strlen(numbers)) != 0;
}
"#;

/// A program that needs no other file of Millstream's.
#[test]
fn the_static_library_is_linked_as_the_readme_says() {
    let workplace = Workplace::new();
    let program = workplace.compile_static("examples/run.c");
    let small = workplace.write("small.onnx", &small_network());
    let small = small.to_str().unwrap();
    let expected = Expected::new(small, 1);
    workplace.write("input", &expected.inputs);
    workplace.succeed(&program, &[small, "input", "output", QUICK]);
    expected.check(&workplace.path("output"));
}

/// As a package has them: the engine's library beside this one, and no variable that names it.
#[test]
fn the_engine_is_found_beside_the_library_or_said_to_be_missing() {
    let Some(engine) = std::env::var_os("ORT_DYLIB_PATH") else { panic!("ORT_DYLIB_PATH names no ONNX Runtime") };
    let workplace = Workplace::new();
    let folder = workplace.path("lib");
    std::fs::create_dir(&folder).unwrap();
    let name = if cfg!(target_os = "macos") { "libmillstream.dylib" } else { "libmillstream.so" };
    std::fs::copy(library().join(name), folder.join(name)).unwrap();
    let program = workplace.compile(Language::C, "examples/run.c", &folder);
    workplace.write("small.onnx", &small_network());
    workplace.write("input", &[0; 8192]);
    let run = || {
        let mut command = workplace.command(&program, &["small.onnx", "input", "output", QUICK]);
        command.env_remove("ORT_DYLIB_PATH").output().unwrap()
    };
    let missing = run();
    let place = folder.canonicalize().unwrap().join("libonnxruntime.so");
    let message = told(&missing);
    assert!(!missing.status.success() && message.contains(place.to_str().unwrap()), "{message}");
    assert!(message.contains("set ORT_DYLIB_PATH") && !message.contains("cargo"), "{message}");

    // A link would be as good; Cargo's variable is relative to the workspace.
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(engine).canonicalize().unwrap();
    std::os::unix::fs::symlink(engine, &place).unwrap();
    let found = run();
    assert!(found.status.success(), "{}", told(&found));
}
