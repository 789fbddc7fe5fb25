//! Running a compiled model.

use std::ffi::CStr;
use std::sync::Arc;

use openvino::{ElementType, InferenceError, InferenceErrorKind};
use openvino_sys::{
    ov_compiled_model_create_infer_request, ov_infer_request_free, ov_infer_request_get_output_tensor_by_index,
    ov_infer_request_get_profiling_info, ov_infer_request_infer, ov_infer_request_set_input_tensor_by_index,
    ov_infer_request_set_output_tensor_by_index, ov_infer_request_t, ov_profiling_info_list_free,
    ov_profiling_info_list_t, ov_profiling_info_t_Status,
};

use super::tensor::View;
use super::{CompiledModel, Owned, Result, Source, check, handle};

handle!(
    /// A request, which runs one frame at a time.
    RequestHandle, ov_infer_request_t, ov_infer_request_free
);

/// Runs a compiled model, one frame at a time.
pub(crate) struct Request {
    handle: RequestHandle,
    inputs: usize,
    /// For each output, who decides where it goes.
    places: Vec<Place>,
    /// What the request was made of, which goes after the last of its requests.
    _model: Arc<CompiledModel>,
}

/// Who decides where an output of a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Who runs it.
    Given,
    /// The request, which has a tensor of its own for it.
    Own,
}

#[expect(unsafe_code, reason = "the library says nothing of threads")]
// SAFETY: the library lets any thread use a request, one at a time, which exclusive references see to.
unsafe impl Send for Request {}

/// Where an output of a request goes.
pub(crate) enum Output<'a> {
    /// To a tensor of the library's.
    Owned(&'a mut Owned),
    /// To memory of others, which has as many bytes as the elements.
    Borrowed {
        /// The type of the elements.
        element: ElementType,
        /// Their dimensions.
        dimensions: &'a [i64],
        /// Where they go.
        bytes: &'a mut [u8],
    },
}

/// What a node of a compiled model took in the last frame.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NodeTime {
    /// Its name: that of an operator, or one of the library's own.
    pub(crate) name: String,
    /// What sort of node ran.
    pub(crate) node_type: String,
    /// How long it ran.
    pub(crate) microseconds: u64,
}

impl Request {
    /// A request for a model with so many inputs, and these outputs.
    #[expect(unsafe_code, reason = "calls the library")]
    pub(crate) fn new(model: Arc<CompiledModel>, inputs: usize, places: Vec<Place>) -> Result<Self> {
        // SAFETY: the model exists; the pointer is where the call writes to.
        let make = |made| unsafe { ov_compiled_model_create_infer_request(model.handle.as_ptr(), made) };
        let handle = RequestHandle::make(make)?;
        let mut request = Self { handle, inputs, places, _model: model };
        // The library writes to a tensor of its own only if that was asked for before the first frame.
        for index in (0..request.places.len()).filter(|&index| request.places[index] == Place::Own).collect::<Vec<_>>()
        {
            request.own_output(index)?;
        }
        Ok(request)
    }

    /// For each output, who decides where it goes.
    pub(crate) fn places(&self) -> &[Place] {
        &self.places
    }

    /// Runs one frame, of which `outputs` are those whose place is given, in their order.
    ///
    /// The library remembers where inputs and outputs were, but nothing looks there before the next frame, of which all
    /// are given again.
    #[expect(unsafe_code, reason = "calls the library")]
    pub(crate) fn infer(&mut self, inputs: &[Source<'_>], outputs: &mut [Output<'_>]) -> Result<()> {
        let given: Vec<usize> = (0..self.places.len()).filter(|&index| self.places[index] == Place::Given).collect();
        if inputs.len() != self.inputs || outputs.len() != given.len() {
            let (given, wanted) = ((inputs.len(), outputs.len()), (self.inputs, given.len()));
            let message = Some(format!("{given:?} inputs and outputs were given, {wanted:?} are needed"));
            return Err(InferenceError { kind: InferenceErrorKind::ParameterMismatch, message });
        }

        let request = self.handle.as_ptr();
        for (index, input) in inputs.iter().enumerate() {
            let view;
            let tensor = match input {
                Source::Owned(tensor) => tensor.as_ptr(),
                Source::Borrowed { element, dimensions, bytes } => {
                    view = View::of(*element, dimensions, bytes)?;
                    view.as_ptr()
                }
            };
            // SAFETY: request and tensor exist, and the request keeps the tensor. Its elements exist until this
            // function returns.
            check(unsafe { ov_infer_request_set_input_tensor_by_index(request, index, tensor) })?;
        }

        for (index, output) in given.into_iter().zip(outputs) {
            let view;
            let tensor = match output {
                Output::Owned(tensor) => tensor.as_ptr(),
                Output::Borrowed { element, dimensions, bytes } => {
                    view = View::of_mut(*element, dimensions, bytes)?;
                    view.as_ptr()
                }
            };
            // SAFETY: as above; the elements are exclusively borrowed until this function returns.
            check(unsafe { ov_infer_request_set_output_tensor_by_index(request, index, tensor) })?;
        }

        // SAFETY: the request exists, nobody else runs it, and all inputs and outputs were given above.
        check(unsafe { ov_infer_request_infer(request) })
    }

    /// What the last frame made of an output that the request has a tensor of its own for.
    #[expect(unsafe_code, reason = "calls the library")]
    pub(crate) fn own_output(&mut self, index: usize) -> Result<Owned> {
        let request = self.handle.as_ptr();
        // SAFETY: the request exists and runs nothing; the pointer is where the call writes to. The tensor is the
        // library's own, as its place is never given.
        Owned::made_by(|made| unsafe { ov_infer_request_get_output_tensor_by_index(request, index, made) })
    }

    /// What the nodes took that ran in the last frame, if the model was compiled to measure that.
    #[expect(unsafe_code, reason = "calls the library")]
    pub(crate) fn node_times(&mut self) -> Result<Vec<NodeTime>> {
        let mut list = ov_profiling_info_list_t { profiling_infos: std::ptr::null_mut(), size: 0 };
        // SAFETY: the request exists and runs nothing; the call writes a list to where it is told.
        check(unsafe { ov_infer_request_get_profiling_info(self.handle.as_ptr(), &raw mut list) })?;
        let nodes = if list.profiling_infos.is_null() {
            &[]
        } else {
            // SAFETY: the call above wrote as many entries as it says, and they exist until the list is freed.
            unsafe { std::slice::from_raw_parts(list.profiling_infos, list.size) }
        };
        let text = |text: *const std::ffi::c_char| {
            if text.is_null() {
                return String::new();
            }
            // SAFETY: the texts of the list end with a zero byte and exist until it is freed.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        let ran = nodes.iter().filter(|node| node.status == ov_profiling_info_t_Status::EXECUTED);
        let times = ran.map(|node| NodeTime {
            name: text(node.node_name),
            node_type: text(node.node_type),
            microseconds: u64::try_from(node.real_time).unwrap_or(0),
        });
        let times = times.collect();
        // SAFETY: the list was made by the call above, nobody else frees it, and all that is kept was copied.
        unsafe { ov_profiling_info_list_free(&raw mut list) };
        Ok(times)
    }
}
