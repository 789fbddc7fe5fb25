//! What a file says of itself beside its graph.

use crate::proto::OperatorSetIdProto;
use bytes::Bytes;

/// What every sub-model repeats.
#[derive(Debug, Clone, Default)]
pub(crate) struct Header {
    pub(crate) ir_version: Option<i64>,
    pub(crate) opset_import: Vec<OperatorSetIdProto>,
    pub(crate) functions: Vec<Bytes>,
}
