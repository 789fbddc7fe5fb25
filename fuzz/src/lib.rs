//! Fuzz targets: each takes bytes that a machine made up and must come back, whatever they are.
//!
//! `cargo xtask fuzz` runs them under libFuzzer, which grows `corpus/TARGET` by the inputs that reach new code. An ordinary test gives
//! each file of the corpora to its target once, so what was found once is seen everywhere.
//!
//! Invariants: a target's outcome depends on its bytes alone; what a target asserts is said where it is declared.

mod examine;
mod made_model;
mod onnx_bytes;
mod onnx_structured;

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
    Target { name: "onnx_bytes", body: onnx_bytes::run },
    Target { name: "onnx_structured", body: onnx_structured::run },
];
