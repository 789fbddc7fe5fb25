//! Fuzz targets: each takes bytes that a machine made up and must come back, whatever they are.
//!
//! `cargo xtask fuzz` runs them under libFuzzer, which grows `corpus/TARGET` by the inputs that reach new code. An
//! ordinary test gives each file of the corpora to its target once, so what was found once is seen everywhere.
//!
//! Invariants: a target's outcome depends on its bytes alone; what a target asserts is said where it is declared.

mod cli_values;
mod documents;
#[allow(dead_code, reason = "the command uses the rest")]
#[path = "../../crates/cli/src/duration.rs"]
mod duration;
mod examine;
mod made_model;
mod network;
mod onnx_bytes;
mod onnx_external;
mod onnx_structured;
mod ort_trace;
mod system_files;
mod task_graphs;

/// One thing that takes bytes.
#[derive(Debug)]
pub struct Target {
    /// What it is called: the folder of its corpus, and the argument of `cargo xtask fuzz`.
    pub name: &'static str,
    /// Panics if something is wrong with the code under test.
    pub body: fn(&[u8]),
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "board", body: documents::board },
    Target { name: "certificate", body: documents::certificate },
    Target { name: "cli_values", body: cli_values::run },
    Target { name: "cost_models", body: documents::cost_models },
    Target { name: "measurements", body: documents::measurements },
    Target { name: "onnx_bytes", body: onnx_bytes::run },
    Target { name: "onnx_external", body: onnx_external::run },
    Target { name: "onnx_structured", body: onnx_structured::run },
    Target { name: "ort_trace", body: ort_trace::run },
    Target { name: "profile", body: documents::profile },
    Target { name: "schedule", body: documents::schedule },
    Target { name: "schedule_set", body: documents::schedule_set },
    Target { name: "schedule_sizes", body: documents::schedule_sizes },
    Target { name: "system_files", body: system_files::run },
    Target { name: "task_graphs", body: task_graphs::run },
];
