//! C structures for tensors, inputs and outputs, and their conversion.

use std::ffi::{c_char, c_void};

use millstream_api::Tensor;
use millstream_api::graph::{DataType, Shape};

use super::pointers::{slice, text_or_none};
use crate::failure::Failure;
use crate::outputs::Output;
use crate::ports::Port;

/// Types of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum MsDataType {
    /// The network does not tell.
    Unknown = 0,
    /// float
    F32 = 1,
    /// double
    F64 = 2,
    /// IEEE 754 in two bytes
    F16 = 3,
    /// The upper half of a float
    Bf16 = 4,
    /// int8_t
    I8 = 5,
    /// int16_t
    I16 = 6,
    /// int32_t
    I32 = 7,
    /// int64_t
    I64 = 8,
    /// uint8_t
    U8 = 9,
    /// uint16_t
    U16 = 10,
    /// uint32_t
    U32 = 11,
    /// uint64_t
    U64 = 12,
    /// A byte that is 0 or 1
    Bool = 13,
    /// const char *, each UTF-8 that ends with a zero
    String = 14,
}

/// Each type that elements have.
const TYPES: [(MsDataType, DataType); 14] = [
    (MsDataType::F32, DataType::F32),
    (MsDataType::F64, DataType::F64),
    (MsDataType::F16, DataType::F16),
    (MsDataType::Bf16, DataType::Bf16),
    (MsDataType::I8, DataType::I8),
    (MsDataType::I16, DataType::I16),
    (MsDataType::I32, DataType::I32),
    (MsDataType::I64, DataType::I64),
    (MsDataType::U8, DataType::U8),
    (MsDataType::U16, DataType::U16),
    (MsDataType::U32, DataType::U32),
    (MsDataType::U64, DataType::U64),
    (MsDataType::Bool, DataType::Bool),
    (MsDataType::String, DataType::String),
];

/// No network has more dimensions; a greater number is none that was meant.
const MOST_DIMENSIONS: usize = 64;

/// An input or output of a network. Its pointers stay valid until the session is freed.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct MsPort {
    /// Its name.
    pub name: *const c_char,
    /// An MsDataType.
    pub data_type: i32,
    /// How many dimensions it has; -1 if the network does not tell.
    pub rank: i32,
    /// As many sizes as it has dimensions, the outermost first.
    pub dimensions: *const usize,
}

/// A tensor, which is looked at where it is. Elements are dense, the last dimension innermost, in the byte order of the
/// machine.
///
/// As an input it is the caller's: whatever it points at is copied before the call returns. As an output it belongs to
/// its result, must not be written to, and is valid until that is freed.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct MsTensor {
    /// The input or output that it is for. Inputs may leave it out (null): then they are in the order of the network's.
    pub name: *const c_char,
    /// An MsDataType.
    pub data_type: i32,
    /// How many dimensions it has.
    pub rank: usize,
    /// As many sizes as it has dimensions, the outermost first.
    pub dimensions: *const usize,
    /// The elements.
    pub data: *const c_void,
    /// How many bytes they have; of strings, those of the pointers.
    pub bytes: usize,
}

impl MsPort {
    pub(super) fn of(port: &Port) -> Self {
        let shape = port.value.shape.as_ref().map(Shape::dimensions);
        Self {
            name: port.name.as_ptr(),
            data_type: port.value.data_type.map_or(MsDataType::Unknown, type_of) as i32,
            rank: shape.map_or(-1, |shape| i32::try_from(shape.len()).unwrap_or(-1)),
            dimensions: shape.map_or(std::ptr::null(), <[usize]>::as_ptr),
        }
    }
}

fn type_of(data_type: DataType) -> MsDataType {
    TYPES.iter().find(|(_, known)| *known == data_type).map_or(MsDataType::Unknown, |(number, _)| *number)
}

impl MsTensor {
    /// A view of an output, whose elements must be in the host's memory.
    pub(super) fn of(output: &Output) -> Result<Self, Failure> {
        let tensor = &output.tensor;
        let (data, bytes) = match tensor.bytes() {
            _ if tensor.data_type() == DataType::String => {
                (output.pointers.as_ptr().cast(), size_of_val(output.pointers.as_slice()))
            }
            Some(bytes) => (bytes.as_ptr().cast(), bytes.len()),
            None => {
                let message =
                    format!("the elements of a result, {}, are not in the host's memory", tensor.description());
                return Err(Failure::new(super::MsStatus::Failed, message));
            }
        };
        let dimensions = tensor.shape().dimensions();
        Ok(Self {
            name: output.name.as_ptr(),
            data_type: type_of(tensor.data_type()) as i32,
            rank: dimensions.len(),
            dimensions: dimensions.as_ptr(),
            data,
            bytes,
        })
    }

    /// A copy of a caller's tensor, with the name that it gave it.
    ///
    /// # Safety
    /// Its pointers are null or point at as much as its numbers say, and the elements of strings at texts.
    pub(super) unsafe fn read(&self, position: usize) -> Result<(Option<String>, Tensor), Failure> {
        let which = format!("tensor {position} of the frame");
        let refuse = |what: String| Failure::argument(format!("{which}: {what}"));
        // SAFETY: as asked of the caller.
        let name = unsafe { text_or_none(self.name, &format!("{which}: name")) }?;
        let data_type = TYPES.iter().find(|(number, _)| *number as i32 == self.data_type).map(|(_, known)| *known);
        let data_type = data_type.ok_or_else(|| refuse(format!("{} is no MsDataType of elements", self.data_type)))?;
        if self.rank > MOST_DIMENSIONS {
            return Err(refuse(format!("it has {} dimensions; {MOST_DIMENSIONS} are the most", self.rank)));
        }
        // SAFETY: as asked of the caller.
        let dimensions = unsafe { slice(self.dimensions, self.rank, &format!("{which}: dimensions")) }?;
        let element = data_type.bytes().unwrap_or(size_of::<*const c_char>());
        let bytes = dimensions.iter().try_fold(element, |bytes, &size| bytes.checked_mul(size));
        let shape = Shape::from(dimensions.to_vec());
        if bytes != Some(self.bytes) {
            let expected = bytes.map_or_else(|| "more than any memory has".to_owned(), |bytes| bytes.to_string());
            return Err(refuse(format!("{data_type} {shape} takes {expected} bytes, not {}", self.bytes)));
        }
        let data = format!("{which}: data");
        let tensor = if data_type == DataType::String {
            // SAFETY: as asked of the caller.
            Tensor::from_strings(shape, unsafe { strings(self.data.cast(), self.bytes / element, &data) }?)
        } else {
            // SAFETY: as asked of the caller; bytes have any value.
            let bytes = unsafe { slice(self.data.cast::<u8>(), self.bytes, &data) }?;
            Tensor::from_bytes(data_type, shape, elements(data_type, bytes))
        };
        Ok((name.map(str::to_owned), tensor))
    }
}

/// Bytes of elements. For C, whatever is not 0 is true.
fn elements(data_type: DataType, bytes: &[u8]) -> Vec<u8> {
    match data_type {
        DataType::Bool => bytes.iter().map(|&byte| u8::from(byte != 0)).collect(),
        _ => bytes.to_vec(),
    }
}

/// # Safety
/// The pointer is null or points at as many pointers, each null or to a text.
unsafe fn strings(pointer: *const *const c_char, count: usize, name: &str) -> Result<Vec<String>, Failure> {
    // SAFETY: as asked of the caller.
    let pointers = unsafe { slice(pointer, count, name) }?;
    let read = |(index, &pointer): (usize, &*const c_char)| {
        let name = format!("{name}: string {index}");
        // SAFETY: as asked of the caller.
        let text = unsafe { text_or_none(pointer, &name) }?;
        text.map(str::to_owned).ok_or_else(|| super::pointers::null(&name))
    };
    pointers.iter().enumerate().map(read).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use millstream_api::graph::Value;

    use super::*;
    use crate::last_error::text;

    fn view<T>(data_type: MsDataType, dimensions: &[usize], data: &[T]) -> MsTensor {
        MsTensor {
            name: std::ptr::null(),
            data_type: data_type as i32,
            rank: dimensions.len(),
            dimensions: dimensions.as_ptr(),
            data: data.as_ptr().cast(),
            bytes: size_of_val(data),
        }
    }

    fn read(view: &MsTensor) -> Result<Tensor, String> {
        // SAFETY: the views of these tests point at what they say, or nowhere.
        unsafe { view.read(0) }.map(|(_, tensor)| tensor).map_err(|failure| failure.message)
    }

    #[test]
    fn every_type_has_a_number_of_its_own_there_and_back() {
        for (place, (number, data_type)) in TYPES.iter().enumerate() {
            assert_eq!(*number as usize, place + 1);
            assert_eq!(type_of(*data_type), *number);
        }
    }

    #[test]
    fn what_a_network_does_not_tell_is_no_scalar() {
        let port = |data_type, shape| Port::new(&Value { name: "x".to_owned(), data_type, shape });
        let unknown = MsPort::of(&port(None, None));
        assert_eq!((unknown.data_type, unknown.rank), (MsDataType::Unknown as i32, -1));
        assert!(unknown.dimensions.is_null());
        let scalar = port(Some(DataType::I64), Some(Shape::from([])));
        assert_eq!((MsPort::of(&scalar).data_type, MsPort::of(&scalar).rank), (MsDataType::I64 as i32, 0));
    }

    #[test]
    fn elements_are_copied() {
        let floats = [1.0_f32, 2.0];
        let tensor = read(&view(MsDataType::F32, &[1, 2], &floats)).unwrap();
        assert_eq!((tensor.as_f32(), tensor.description().as_str()), (Some(&floats[..]), "f32 [1, 2]"));
        assert_ne!(tensor.as_f32().unwrap().as_ptr(), floats.as_ptr());
        let truths = read(&view(MsDataType::Bool, &[3], &[0_u8, 1, 7])).unwrap();
        assert_eq!(truths.bytes(), Some(&[0, 1, 1][..]));
        let texts = [c"one".as_ptr(), c"zwei \xc3\xa4".as_ptr()];
        let strings = read(&view(MsDataType::String, &[2], &texts)).unwrap().strings();
        assert_eq!(strings, Some(vec!["one".to_owned(), "zwei ä".to_owned()]));
        let scalar = read(&view(MsDataType::I64, &[], &[5_i64])).unwrap();
        assert_eq!(scalar.bytes().map(<[u8]>::len), Some(8));
        let empty = MsTensor { data: std::ptr::null(), ..view::<f32>(MsDataType::F32, &[0, 3], &[]) };
        assert_eq!(read(&empty).unwrap().shape().elements(), 0);
    }

    #[test]
    fn what_can_not_be_is_refused() {
        let floats = view(MsDataType::F32, &[1, 2], &[1.0_f32, 2.0]);
        let refused = |view: MsTensor, told: &str| {
            let message = read(&view).unwrap_err();
            assert!(message.starts_with("tensor 0 of the frame: ") && message.contains(told), "{message}");
        };
        refused(MsTensor { data: std::ptr::null(), ..floats }, "data is a null pointer");
        refused(MsTensor { dimensions: std::ptr::null(), ..floats }, "dimensions is a null pointer");
        refused(MsTensor { data_type: 0, ..floats }, "0 is no MsDataType");
        refused(MsTensor { data_type: 99, ..floats }, "99 is no MsDataType");
        refused(MsTensor { data_type: -1, ..floats }, "-1 is no MsDataType");
        refused(MsTensor { rank: 1 << 40, ..floats }, "64 are the most");
        refused(MsTensor { bytes: 4, ..floats }, "takes 8 bytes, not 4");
        let huge = [usize::MAX, 2];
        refused(MsTensor { dimensions: huge.as_ptr(), ..floats }, "more than any memory");
        refused(MsTensor { name: c"\xff".as_ptr(), ..floats }, "name is not UTF-8");
        refused(view(MsDataType::String, &[2], &[c"one".as_ptr(), std::ptr::null()]), "string 1 is a null pointer");
        refused(view(MsDataType::String, &[1], &[c"\xff".as_ptr()]), "string 0 is not UTF-8");
    }

    #[test]
    fn outputs_are_seen_where_they_are() {
        let floats = Output::new(text("y"), Tensor::from_f32([1, 2], vec![1.0, 2.0]));
        let seen = MsTensor::of(&floats).unwrap();
        assert_eq!((seen.data_type, seen.rank, seen.bytes), (MsDataType::F32 as i32, 2, 8));
        assert_eq!(read(&seen).unwrap().as_f32(), Some(&[1.0, 2.0][..]));
        let texts = Output::new(text("t"), Tensor::from_strings([2], vec!["a\0b".to_owned(), String::new()]));
        let seen = MsTensor::of(&texts).unwrap();
        assert_eq!(read(&seen).unwrap().strings(), Some(vec!["a\u{fffd}b".to_owned(), String::new()]));
    }
}
