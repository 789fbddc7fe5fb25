//! What a file says of itself beside its graph.

use bytes::Bytes;

use crate::proto::OperatorSetIdProto;

/// What every sub-model repeats.
#[derive(Debug, Clone, Default)]
pub(crate) struct Header {
    pub(crate) ir_version: Option<i64>,
    pub(crate) opset_import: Vec<OperatorSetIdProto>,
    pub(crate) functions: Vec<Bytes>,
}
