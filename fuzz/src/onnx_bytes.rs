//! ONNX files, byte by byte: a model or an error, and then whatever can be cut from the model.

use bytes::Bytes;
use millstream_onnx::Model;

use crate::examine::{examine, options};

pub(crate) fn run(data: &[u8]) {
    if let Ok(model) = Model::from_bytes(Bytes::copy_from_slice(data), &options()) {
        examine(&model);
    }
}
