//! The outputs of a frame, kept so that C can look at them where they are.

use std::ffi::{CString, c_char};

use millstream_api::Tensor;
use millstream_api::runtime::FrameResult;

use crate::failure::Failure;
use crate::last_error::text;
use crate::ports::Port;

/// The outputs of a frame that got through.
pub(crate) struct Outputs {
    pub(crate) sequence: u64,
    pub(crate) outputs: Vec<Output>,
}

/// One of them.
pub(crate) struct Output {
    pub(crate) name: CString,
    pub(crate) tensor: Tensor,
    /// Of a tensor of strings, pointers to the elements, which are kept beside them.
    pub(crate) pointers: Vec<*const c_char>,
    _strings: Vec<CString>,
}

impl Outputs {
    pub(crate) fn new(ports: &[Port], result: FrameResult) -> Result<Self, Failure> {
        let sequence = result.sequence;
        let tensors = result.outcome.map_err(|error| Failure::of_frame(sequence, &error))?;
        let outputs = ports.iter().zip(tensors).map(|(port, tensor)| Output::new(port.name.clone(), tensor));
        Ok(Self { sequence, outputs: outputs.collect() })
    }
}

impl Output {
    pub(crate) fn new(name: CString, tensor: Tensor) -> Self {
        let strings: Vec<CString> = tensor.strings().unwrap_or_default().iter().map(|string| text(string)).collect();
        let pointers = strings.iter().map(|string| string.as_ptr()).collect();
        Self { name, tensor, pointers, _strings: strings }
    }
}
