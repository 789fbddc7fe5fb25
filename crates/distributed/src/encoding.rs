//! Messages as bytes: a mark, the length of a description in JSON, the description, and the elements of all values one
//! after the other.

use std::borrow::Cow;

use millstream_backend::Tensor;
use millstream_board::TransferPrecision;
use millstream_graph::{DataType, Shape};
use serde::{Deserialize, Serialize};

use crate::error::DistributedError;
use crate::message::{FrameValue, Message, MessageKind};
use crate::narrowing::{SentAs, narrowed};

/// The beginning of every message, with the version of what follows.
const MARK: &[u8; 8] = b"millst\x00\x01";
/// Bytes before the description: the mark and a length of four bytes.
const PREFIX: usize = MARK.len() + 4;
const TYPES: [DataType; 14] = [
    DataType::F32,
    DataType::F64,
    DataType::F16,
    DataType::Bf16,
    DataType::I8,
    DataType::I16,
    DataType::I32,
    DataType::I64,
    DataType::U8,
    DataType::U16,
    DataType::U32,
    DataType::U64,
    DataType::Bool,
    DataType::String,
];

#[derive(Serialize, Deserialize)]
struct Description {
    kind: MessageKind,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    values: Vec<ValueDescription>,
}

#[derive(Serialize, Deserialize)]
struct ValueDescription {
    id: u32,
    #[serde(rename = "type")]
    data_type: String,
    shape: Vec<usize>,
    bytes: usize,
    /// If its elements have fewer bits on the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sent_as: Option<SentAs>,
}

/// The elements of a value on the way.
struct Elements<'a> {
    bytes: Cow<'a, [u8]>,
    sent_as: Option<SentAs>,
}

impl Message {
    /// The message as bytes, the elements of values in the order of this computer, which is little-endian wherever
    /// Millstream runs.
    ///
    /// # Errors
    /// [`DistributedError::Unsendable`] if elements of a value are not in this computer's memory.
    pub fn encode(&self) -> Result<Vec<u8>, DistributedError> {
        self.encode_as(TransferPrecision::F32)
    }

    /// The same, with 32-bit floats as what they are sent as. A value with elements that have no place in so few bits
    /// goes as it is.
    ///
    /// # Errors
    /// As for [`encode`](Self::encode).
    pub fn encode_as(&self, precision: TransferPrecision) -> Result<Vec<u8>, DistributedError> {
        let elements = self.values.iter().map(|value| elements(value, precision));
        let elements = elements.collect::<Result<Vec<Elements<'_>>, _>>()?;
        let describe = |(value, elements): (&FrameValue, &Elements<'_>)| ValueDescription {
            id: value.id,
            data_type: value.tensor.data_type().to_string(),
            shape: value.tensor.shape().dimensions().to_vec(),
            bytes: elements.bytes.len(),
            sent_as: elements.sent_as,
        };
        let values = self.values.iter().zip(&elements).map(describe).collect();
        let description = Description { kind: self.kind.clone(), values };
        let json = serde_json::to_vec(&description).map_err(|error| encoding(error.to_string()))?;
        let length = u32::try_from(json.len()).map_err(|_| encoding("its description is too long".to_owned()))?;

        let total = elements.iter().map(|elements| elements.bytes.len()).fold(json.len(), usize::saturating_add);
        let mut encoded = Vec::with_capacity(total.saturating_add(PREFIX));
        encoded.extend_from_slice(MARK);
        encoded.extend_from_slice(&length.to_le_bytes());
        encoded.extend_from_slice(&json);
        elements.iter().for_each(|elements| encoded.extend_from_slice(&elements.bytes));
        Ok(encoded)
    }

    /// The message that some bytes are.
    ///
    /// # Errors
    /// [`DistributedError::Encoding`] if they are none.
    pub fn decode(bytes: &[u8]) -> Result<Self, DistributedError> {
        let (mark, rest) = bytes.split_at_checked(MARK.len()).ok_or_else(too_short)?;
        if mark != MARK {
            return Err(encoding("it begins like one of another version".to_owned()));
        }
        let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(too_short)?;
        let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| too_short())?;
        let (json, mut rest) = rest.split_at_checked(length).ok_or_else(too_short)?;
        let description: Description = serde_json::from_slice(json).map_err(|error| encoding(error.to_string()))?;
        let mut values = Vec::with_capacity(description.values.len());
        for described in description.values {
            let (elements, others) = rest.split_at_checked(described.bytes).ok_or_else(too_short)?;
            values.push(FrameValue { id: described.id, tensor: tensor(described, elements)? });
            rest = others;
        }
        match rest {
            [] => Ok(Self { kind: description.kind, values }),
            more => Err(encoding(format!("{} bytes follow its end", more.len()))),
        }
    }
}

/// The elements of a value; strings as a list in JSON.
fn elements(value: &FrameValue, precision: TransferPrecision) -> Result<Elements<'_>, DistributedError> {
    if let Some(strings) = value.tensor.strings() {
        let list = serde_json::to_vec(&strings).map_err(|error| encoding(error.to_string()))?;
        return Ok(Elements { bytes: Cow::Owned(list), sent_as: None });
    }
    if let Some((sent_as, bytes)) = value.tensor.as_f32().and_then(|floats| narrowed(floats, precision)) {
        return Ok(Elements { bytes: Cow::Owned(bytes), sent_as: Some(sent_as) });
    }
    let unsendable = || DistributedError::Unsendable { id: value.id, description: value.tensor.description() };
    let bytes = value.tensor.bytes().ok_or_else(unsendable)?;
    Ok(Elements { bytes: Cow::Borrowed(bytes), sent_as: None })
}

fn tensor(described: ValueDescription, elements: &[u8]) -> Result<Tensor, DistributedError> {
    let ValueDescription { id, data_type, shape, bytes, sent_as } = described;
    let known = TYPES.into_iter().find(|candidate| candidate.to_string() == data_type);
    let data_type = known.ok_or_else(|| encoding(format!("value {id} has elements of unknown type '{data_type}'")))?;
    let count = shape.iter().try_fold(1_usize, |product, &size| product.checked_mul(size));
    let misfit = || encoding(format!("value {id} of type {data_type} and shape {shape:?} has {bytes} bytes"));
    let count = count.ok_or_else(misfit)?;
    let Some(size) = data_type.bytes() else {
        let strings: Vec<String> = serde_json::from_slice(elements).map_err(|error| encoding(error.to_string()))?;
        return if strings.len() == count { Ok(Tensor::from_strings(shape, strings)) } else { Err(misfit()) };
    };
    if let Some(sent_as) = sent_as {
        let fits = data_type == DataType::F32 && count.checked_mul(sent_as.bytes()) == Some(bytes);
        return if fits { Ok(Tensor::from_f32(shape, sent_as.widened(elements))) } else { Err(misfit()) };
    }
    if count.checked_mul(size) == Some(bytes) {
        Ok(Tensor::from_bytes(data_type, Shape::from(shape), elements.to_vec()))
    } else {
        Err(misfit())
    }
}

fn too_short() -> DistributedError {
    encoding("it ends early".to_owned())
}

fn encoding(detail: String) -> DistributedError {
    DistributedError::Encoding { detail }
}
