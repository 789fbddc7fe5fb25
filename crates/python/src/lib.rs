//! Millstream from Python: the package `millstream`, whose compiled part this is.
//!
//! A `Session` plans for a network on this machine, or takes a schedule, and runs it: frames one by one, as a stream,
//! or submitted and received from different threads. `Board`, `plan`, `profile` and `simulate` are what the front door
//! `millstream` has of that. The package around it, in `python/millstream`, has the exceptions, the type stubs, and
//! finds ONNX Runtime's library.
//!
//! Invariants: nothing waits with the interpreter's lock, and Ctrl-C ends whatever waits on the main thread, leaving
//! behind what does not look at it; no array is looked at after a call has returned, and no result can be written to;
//! every error is an exception with the library's words; nothing here is unsafe.

mod board;
mod core;
mod documents;
mod errors;
mod events;
mod frame;
mod functions;
mod lock;
mod numbers;
mod planning;
mod results;
mod session;
mod tensor;
mod waiting;

/// The compiled part of the package `millstream`.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::board::Board;
    #[pymodule_export]
    use crate::core::_close_all;
    #[pymodule_export]
    use crate::functions::{plan, profile, simulate};
    #[pymodule_export]
    use crate::results::Results;
    #[pymodule_export]
    use crate::session::Session;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
