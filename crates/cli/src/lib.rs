//! From an ONNX network and a machine to frames through it: measure, plan, stream, adapt.
//!
//! A [`Machine`] is a board, often this computer; a [`Network`] an ONNX file or a built-in one. [`Machine::plan`]
//! measures the network if it was not measured before, searches for a schedule that suits an [`Aim`], and tries it out;
//! a [`Stream`] runs it. [`Control`] reports progress to the caller, and ends it early.
//!
//! ```no_run
//! use millstream::{Aim, Constraints, Control, EngineOptions, Machine, Network, Objective, ReadOptions, Stream, Tensor};
//!
//! let control = Control::new();
//! let machine = Machine::detect()?;
//! let network = Network::open("zoo:squeezenet", ReadOptions::default())?;
//! machine.profile(&network, std::time::Duration::from_secs(5), &control)?;
//! let within = Constraints { max_latency: Some(std::time::Duration::from_secs(1).into()), ..Constraints::default() };
//! let scheduled = machine.plan(network, &Aim::best(Objective::Throughput).within(within), &control)?;
//! let stream = Stream::start(&machine, &scheduled, &EngineOptions::default())?;
//! let frame = || vec![Tensor::from_f32([1, 3, 224, 224], vec![0.5; 3 * 224 * 224])];
//! stream.run_adapting((0..50).map(|_| frame()), &control, |result| {
//!     println!("frame {}: {:?}", result.sequence, result.outcome.map(|outputs| outputs[0].shape().clone()));
//! })?;
//! println!("{}: {}", scheduled.document.configuration, stream.latency());
//! # Ok::<(), millstream::Error>(())
//! ```
//!
//! [`plan_published`] makes schedules by algorithms that others published, and [`compare_published`] sets all of them
//! beside Millstream's own. Several networks share a board with [`plan_shared`]; [`run()`] streams frames through one
//! or several schedules at once and checks every result; [`tune()`] searches by running schedules; [`compare()`] sets
//! ours beside plain ONNX Runtime and OpenVINO. A single network is a set of one in all of them.
//!
//! The [`tutorial`] goes through it step by step.
//!
//! A [`Session`] is what interfaces for other languages are made of: a stream that any number of callers share, each
//! with frames of its own. What else those interfaces share is in [`bindings`].
//!
//! # The command
//!
//! `cargo install millstream` compiles the command `millstream`:
//!
//! ```text
//! millstream schedule --model my.onnx   # measures this machine, and plans how to run the network on it
//! millstream run                        # streams frames through that, and checks every result
//! ```
//!
//! The solver HiGHS needs libclang, CMake and a C++ compiler for that. Without it, Rust and a C compiler are enough:
//! `cargo install millstream --no-default-features --features command,ort,openvino,wgpu`. What computes is ONNX
//! Runtime's library, which is taken from the file that `ORT_DYLIB_PATH` names, else from `../lib` beside the program's
//! own folder, else from where the system looks.
//!
//! # Features
//!
//! All are on by default: `command` is the command, which programs that use the library leave out
//! (`default-features = false`); `ort` runs operators on cores with ONNX Runtime, `openvino` with OpenVINO, `wgpu` on
//! graphics devices, `highs` brings the integer programs of operator mapping, which give stronger bounds. Without
//! engines, networks can be planned for on costs that are known, and simulated.
//!
//! Invariants: the library prints nothing; every error is an [`Error`]; files are written whole or not at all. What it
//! does is in the package `millstream-api`, so that the command depends on it like any other program.

#[doc(inline)]
pub use millstream_api::*;

/// First steps, from a network to frames through it.
// Its examples run networks.
#[cfg(any(not(doctest), feature = "ort"))]
#[doc = include_str!("../docs/rust-program.md")]
pub mod tutorial {}
