//! Typed arrays in shared storage, which may be a backend's own memory.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use millstream_graph::{DataType, Shape, Value};

/// Where a tensor's elements are.
pub trait Storage: Send + Sync + 'static {
    /// The elements, dense and in native byte order; `None` if they are not plain bytes in host memory.
    fn bytes(&self) -> Option<&[u8]>;

    /// The elements of a tensor of strings; `None` for other types.
    fn strings(&self) -> Option<Vec<String>> {
        None
    }

    /// The storage itself, for the backend that made it.
    fn as_any(&self) -> &dyn Any;
}

/// An immutable tensor. Cloning shares the elements.
#[derive(Clone)]
pub struct Tensor {
    data_type: DataType,
    shape: Shape,
    storage: Arc<dyn Storage>,
}

impl Tensor {
    /// A tensor over existing storage. `storage` must hold as many elements as `shape` says.
    pub fn new(data_type: DataType, shape: Shape, storage: Arc<dyn Storage>) -> Self {
        Self { data_type, shape, storage }
    }

    /// A tensor of 32-bit floats.
    pub fn from_f32(shape: impl Into<Shape>, elements: Vec<f32>) -> Self {
        Self::new(DataType::F32, shape.into(), Arc::new(Elements(elements)))
    }

    /// A tensor of 64-bit integers.
    pub fn from_i64(shape: impl Into<Shape>, elements: Vec<i64>) -> Self {
        Self::new(DataType::I64, shape.into(), Arc::new(Elements(elements)))
    }

    /// A tensor of any type with fixed element size, from bytes in native order.
    pub fn from_bytes(data_type: DataType, shape: impl Into<Shape>, bytes: Vec<u8>) -> Self {
        Self::new(data_type, shape.into(), Arc::new(Elements(bytes)))
    }

    /// A tensor of strings.
    pub fn from_strings(shape: impl Into<Shape>, elements: Vec<String>) -> Self {
        Self::new(DataType::String, shape.into(), Arc::new(Strings(elements)))
    }

    /// Element type.
    pub fn data_type(&self) -> DataType {
        self.data_type
    }

    /// Dimensions.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The elements as bytes, where they are in host memory.
    pub fn bytes(&self) -> Option<&[u8]> {
        self.storage.bytes()
    }

    /// The elements, if they are 32-bit floats in host memory.
    pub fn as_f32(&self) -> Option<&[f32]> {
        let bytes = self.bytes().filter(|_| self.data_type == DataType::F32)?;
        bytemuck::try_cast_slice(bytes).ok()
    }

    /// The elements, if they are strings.
    pub fn strings(&self) -> Option<Vec<String>> {
        self.storage.strings()
    }

    /// Where the elements are.
    pub fn storage(&self) -> &dyn Storage {
        &*self.storage
    }

    /// Whether the tensor has the type and shape of a value, as far as they are known. The error says what they should
    /// be.
    ///
    /// # Errors
    /// The expected type and shape as a text, such as `f32 [1, 3, 224, 224]`, with `?` for what is not known.
    pub fn check_fits(&self, value: &Value) -> Result<(), String> {
        let type_fits = value.data_type.is_none_or(|data_type| data_type == self.data_type);
        let shape_fits = value.shape.as_ref().is_none_or(|shape| *shape == self.shape);
        if type_fits && shape_fits {
            return Ok(());
        }
        let unknown = || "?".to_owned();
        let data_type = value.data_type.map_or_else(unknown, |data_type| data_type.to_string());
        Err(format!("{data_type} {}", value.shape.as_ref().map_or_else(unknown, ToString::to_string)))
    }

    /// Type and shape in one text, such as `f32 [1, 3, 224, 224]`.
    pub fn description(&self) -> String {
        format!("{} {}", self.data_type, self.shape)
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Tensor({})", self.description())
    }
}

/// Elements in a vector of their own.
struct Elements<T>(Vec<T>);

impl<T: bytemuck::NoUninit + Send + Sync> Storage for Elements<T> {
    fn bytes(&self) -> Option<&[u8]> {
        Some(bytemuck::cast_slice(&self.0))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Strings of any length, which are no plain bytes.
struct Strings(Vec<String>);

impl Storage for Strings {
    fn bytes(&self) -> Option<&[u8]> {
        None
    }

    fn strings(&self) -> Option<Vec<String>> {
        Some(self.0.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_seen_as_what_they_are() {
        let floats = Tensor::from_f32([1, 2], vec![1.0, -2.0]);
        assert_eq!(floats.as_f32(), Some(&[1.0, -2.0][..]));
        assert_eq!(floats.bytes().map(<[u8]>::len), Some(8));
        assert_eq!((floats.strings(), floats.description().as_str()), (None, "f32 [1, 2]"));
        let integers = Tensor::from_i64([2], vec![1, 2]);
        assert_eq!((integers.as_f32(), integers.bytes().map(<[u8]>::len)), (None, Some(16)));
        let texts = Tensor::from_strings([1], vec!["a".to_owned()]);
        assert_eq!((texts.bytes(), texts.strings()), (None, Some(vec!["a".to_owned()])));
    }

    #[test]
    fn clones_share_their_elements() {
        let one = Tensor::from_f32([1], vec![1.0]);
        let other = one.clone();
        assert_eq!(one.bytes().map(<[u8]>::as_ptr), other.bytes().map(<[u8]>::as_ptr));
    }

    #[test]
    fn only_what_is_known_of_a_value_must_fit() {
        let tensor = Tensor::from_f32([1, 2], vec![0.0; 2]);
        let value = |data_type, shape: Option<[usize; 2]>| Value {
            name: "x".to_owned(),
            data_type,
            shape: shape.map(Shape::from),
        };
        assert_eq!(tensor.check_fits(&value(Some(DataType::F32), Some([1, 2]))), Ok(()));
        assert_eq!(tensor.check_fits(&value(None, None)), Ok(()));
        assert_eq!(tensor.check_fits(&value(None, Some([2, 1]))), Err("? [2, 1]".to_owned()));
        assert_eq!(tensor.check_fits(&value(Some(DataType::I64), None)), Err("i64 ?".to_owned()));
    }
}
