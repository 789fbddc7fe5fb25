//! A network's inputs and outputs, and frames that are put together for them.

use std::ffi::CString;

use millstream_api::Tensor;
use millstream_api::bindings::misfit;
use millstream_api::graph::Value;

use crate::failure::Failure;
use crate::last_error::text;

/// An input or output.
pub(crate) struct Port {
    pub(crate) value: Value,
    /// Its name as C has it.
    pub(crate) name: CString,
}

impl Port {
    pub(crate) fn new(value: &Value) -> Self {
        Self { name: text(&value.name), value: value.clone() }
    }

    /// Fails unless a tensor has the type and shape of this input.
    fn check(&self, tensor: &Tensor) -> Result<(), Failure> {
        let unfit = |_| Failure::frame(misfit(&self.value, tensor.description()).to_string());
        tensor.check_fits(&self.value).map_err(unfit)
    }
}

/// A frame: one tensor for each input, in order. Tensors with names go to the inputs of these names, others to those at
/// their places.
pub(crate) fn frame(inputs: &[Port], tensors: Vec<(Option<String>, Tensor)>) -> Result<Vec<Tensor>, Failure> {
    check_count(inputs, tensors.len())?;
    let mut frame: Vec<Option<Tensor>> = inputs.iter().map(|_| None).collect();
    for (position, (name, tensor)) in tensors.into_iter().enumerate() {
        let place = match &name {
            Some(name) => inputs.iter().position(|input| input.value.name == *name),
            None => Some(position),
        };
        let named = || name.clone().unwrap_or_default();
        let (Some(place), Some(input)) = (place, place.and_then(|place| inputs.get(place))) else {
            return Err(Failure::frame(format!("the network has no input '{}'; {}", named(), all(inputs))));
        };
        input.check(&tensor)?;
        if frame[place].replace(tensor).is_some() {
            return Err(Failure::frame(format!("the frame has two tensors for '{}'", input.value.name)));
        }
    }
    // As many as there are inputs, and none twice.
    Ok(frame.into_iter().flatten().collect())
}

/// Fails unless a frame has as many tensors as the network has inputs.
pub(crate) fn check_count(inputs: &[Port], count: usize) -> Result<(), Failure> {
    if count == inputs.len() {
        Ok(())
    } else {
        Err(Failure::frame(format!("the frame has {count} tensors; {}", all(inputs))))
    }
}

fn all(inputs: &[Port]) -> String {
    let names: Vec<&str> = inputs.iter().map(|input| input.value.name.as_str()).collect();
    format!("the network's inputs are '{}'", names.join("', '"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use millstream_api::graph::{DataType, Shape};

    use super::*;
    use crate::border::MsStatus;

    fn inputs() -> Vec<Port> {
        let value =
            |name: &str, data_type| Value { name: name.to_owned(), data_type, shape: Some(Shape::from([1, 2])) };
        vec![Port::new(&value("x", Some(DataType::F32))), Port::new(&value("ids", Some(DataType::I64)))]
    }

    fn floats() -> Tensor {
        Tensor::from_f32([1, 2], vec![1.0, 2.0])
    }

    fn integers() -> Tensor {
        Tensor::from_i64([1, 2], vec![3, 4])
    }

    fn types(tensors: Vec<(Option<&str>, Tensor)>) -> Result<Vec<DataType>, String> {
        let tensors = tensors.into_iter().map(|(name, tensor)| (name.map(str::to_owned), tensor)).collect();
        let made = frame(&inputs(), tensors).map_err(|failure| {
            assert_eq!(failure.status, MsStatus::InvalidFrame);
            failure.message
        });
        made.map(|frame| frame.iter().map(Tensor::data_type).collect())
    }

    #[test]
    fn tensors_go_to_their_names_or_places() {
        let expected = Ok(vec![DataType::F32, DataType::I64]);
        assert_eq!(types(vec![(None, floats()), (None, integers())]), expected);
        assert_eq!(types(vec![(Some("ids"), integers()), (Some("x"), floats())]), expected);
    }

    #[test]
    fn frames_that_do_not_fit_are_told_what_would() {
        let refused = |tensors| types(tensors).unwrap_err();
        assert!(refused(vec![(None, floats())]).contains("1 tensors; the network's inputs are 'x', 'ids'"));
        assert!(refused(vec![]).contains("0 tensors"));
        assert!(refused(vec![(Some("y"), floats()), (None, integers())]).contains("no input 'y'"));
        assert!(refused(vec![(Some("x"), floats()), (Some("x"), floats())]).contains("two tensors for 'x'"));
        let swapped = refused(vec![(None, integers()), (None, floats())]);
        assert!(swapped.contains("'x' must be f32 [1, 2]") && swapped.contains("i64 [1, 2]"), "{swapped}");
        let flat = refused(vec![(None, Tensor::from_f32([2], vec![1.0, 2.0])), (None, integers())]);
        assert!(flat.contains("f32 [2]"), "{flat}");
    }
}
