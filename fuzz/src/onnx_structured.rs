//! ONNX files whose messages are sound and whose operators, attributes, shapes and constants are not.

use arbitrary::Unstructured;
use millstream_onnx::Model;
use prost::Message;

use crate::examine::{examine, options};
use crate::made_model::model;

pub(crate) fn run(data: &[u8]) {
    let Ok(proto) = model(&mut Unstructured::new(data)) else { return };
    if let Ok(model) = Model::from_bytes(proto.encode_to_vec().into(), &options()) {
        examine(&model);
    }
}
