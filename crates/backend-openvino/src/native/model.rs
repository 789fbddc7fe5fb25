//! From the bytes of a model to something that runs.

use std::ffi::{CStr, CString, c_char};
use std::sync::Mutex;

use openvino::{ElementType, InferenceError, InferenceErrorKind};
use openvino_sys::{
    ov_compiled_model_free, ov_compiled_model_get_property, ov_compiled_model_input_by_index,
    ov_compiled_model_inputs_size, ov_compiled_model_output_by_index, ov_compiled_model_outputs_size,
    ov_compiled_model_t, ov_const_port_get_shape, ov_core_compile_model, ov_core_create, ov_core_free,
    ov_core_read_model_from_memory_buffer, ov_core_set_property, ov_core_t, ov_element_type_e, ov_free,
    ov_model_const_output_by_index, ov_model_free, ov_model_outputs_size, ov_model_t, ov_output_const_port_free,
    ov_output_const_port_t, ov_port_get_any_name, ov_port_get_element_type, ov_shape_t, ov_status_e,
};

use super::tensor::take_shape;
use super::{Result, check, handle};
use crate::library::OpenVino;
use crate::lock::lock;
use crate::settings::Properties;

handle!(
    /// What knows devices and their settings.
    CoreHandle, ov_core_t, ov_core_free
);
handle!(
    /// A model that was read.
    ModelHandle, ov_model_t, ov_model_free
);
handle!(
    /// A model that was compiled for a device.
    CompiledHandle, ov_compiled_model_t, ov_compiled_model_free
);
handle!(
    /// An input or output.
    PortHandle, ov_output_const_port_t, ov_output_const_port_free
);

/// A model that was compiled for a device. What it was made with goes after it.
pub(crate) struct CompiledModel {
    pub(super) handle: CompiledHandle,
    _core: CoreHandle,
}

/// An input or output of a compiled model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Port {
    /// The type of its elements.
    pub(crate) element: ElementType,
    /// Its dimensions; `None` if they depend on what is computed.
    pub(crate) dimensions: Option<Vec<i64>>,
    /// Its name: of several that it may have, any.
    pub(crate) name: String,
}

/// Held while a model is read, compiled and freed. Two threads that did so at once have been seen to end in memory that
/// was freed twice within the library, once in some fifty runs of ONNX's test suite; which of its parts they share is
/// not known.
static COMPILING: Mutex<()> = Mutex::new(());

/// Reads a model, given as the bytes of an ONNX file, and forgets it: to see whether it can be read, and which outputs
/// it has.
pub(crate) fn read(library: &OpenVino, model: &[u8]) -> Result<Vec<Port>> {
    let _alone = lock(&COMPILING);
    let core = CoreHandle::new(library)?;
    let model = core.read(model)?;
    ports(model.as_ptr().cast_const(), ov_model_outputs_size, ov_model_const_output_by_index)
}

impl CoreHandle {
    #[expect(unsafe_code, reason = "calls the library")]
    fn new(_: &OpenVino) -> Result<Self> {
        // SAFETY: the library is loaded, as its token shows; the pointer is where the call writes to.
        Self::make(|made| unsafe { ov_core_create(made) })
    }

    #[expect(unsafe_code, reason = "calls the library")]
    fn read(&self, model: &[u8]) -> Result<ModelHandle> {
        let (bytes, size) = (model.as_ptr().cast(), model.len());
        // SAFETY: as many bytes are read as there are, and those that are kept are copied; there is no tensor of
        // weights.
        let read =
            |made| unsafe { ov_core_read_model_from_memory_buffer(self.as_ptr(), bytes, size, std::ptr::null(), made) };
        ModelHandle::make(read)
    }
}

#[expect(unsafe_code, reason = "the library says nothing of threads")]
// SAFETY: the library lets any thread use a compiled model, and free it.
unsafe impl Send for CompiledModel {}

#[expect(unsafe_code, reason = "the library says nothing of threads")]
// SAFETY: the library promises that a compiled model can be used by several threads at once; ports, properties and
// requests are all that is asked of it here. The core beside it is only kept, and freed after it.
unsafe impl Sync for CompiledModel {}

impl CompiledModel {
    /// Compiles a model, given as the bytes of an ONNX file, for a device with these properties.
    #[expect(unsafe_code, reason = "calls the library")]
    pub(crate) fn new(library: &OpenVino, model: &[u8], device: &str, properties: &Properties) -> Result<Self> {
        let _alone = lock(&COMPILING);
        let core = CoreHandle::new(library)?;
        let device = text(device)?;
        for (key, value) in properties {
            let (key, value) = (text(key)?, text(value)?);
            // SAFETY: core and texts exist until the call returns, which copies what it keeps.
            check(unsafe { ov_core_set_property(core.as_ptr(), device.as_ptr(), key.as_ptr(), value.as_ptr()) })?;
        }
        let model = core.read(model)?;
        // SAFETY: core, model and text exist until the call returns; no further arguments follow, as it is told.
        let compile = |made| unsafe { ov_core_compile_model(core.as_ptr(), model.as_ptr(), device.as_ptr(), 0, made) };
        Ok(Self { handle: CompiledHandle::make(compile)?, _core: core })
    }

    /// How many requests for it are best worked on at once.
    #[expect(unsafe_code, reason = "calls the library")]
    pub(crate) fn optimal_requests(&self) -> Result<usize> {
        let key = text("OPTIMAL_NUMBER_OF_INFER_REQUESTS")?;
        let mut value = std::ptr::null_mut();
        let model = self.handle.as_ptr().cast_const();
        // SAFETY: model and text exist; the call writes an address to where it is told.
        check(unsafe { ov_compiled_model_get_property(model, key.as_ptr(), &raw mut value) })?;
        Ok(taken(value).parse().unwrap_or(1))
    }

    /// Its inputs, in the order of the model.
    pub(crate) fn inputs(&self) -> Result<Vec<Port>> {
        ports(self.handle.as_ptr().cast_const(), ov_compiled_model_inputs_size, ov_compiled_model_input_by_index)
    }

    /// Its outputs, in the order of the model.
    pub(crate) fn outputs(&self) -> Result<Vec<Port>> {
        ports(self.handle.as_ptr().cast_const(), ov_compiled_model_outputs_size, ov_compiled_model_output_by_index)
    }
}

/// The inputs or outputs of a model, by the functions that tell how many there are and which.
#[expect(unsafe_code, reason = "calls the library")]
fn ports<M>(
    model: *const M,
    size: unsafe fn(*const M, *mut usize) -> ov_status_e,
    by_index: unsafe fn(*const M, usize, *mut *mut ov_output_const_port_t) -> ov_status_e,
) -> Result<Vec<Port>> {
    let mut count = 0;
    // SAFETY: the callers' models exist, and the call writes a number to where it is told.
    check(unsafe { size(model, &raw mut count) })?;
    // SAFETY: the model exists, and the pointer is where the call writes to.
    let port = |index| PortHandle::make(|made| unsafe { by_index(model, index, made) });
    (0..count).map(|index| Port::of(&port(index)?)).collect()
}

impl Port {
    #[expect(unsafe_code, reason = "calls the library")]
    fn of(handle: &PortHandle) -> Result<Self> {
        let mut element = ov_element_type_e::DYNAMIC;
        // SAFETY: the port exists, and the call writes a number of the enumeration to where it is told.
        check(unsafe { ov_port_get_element_type(handle.as_ptr(), &raw mut element) })?;
        let mut shape = ov_shape_t { rank: 0, dims: std::ptr::null_mut() };
        // SAFETY: the port exists, and the call writes a shape to where it is told.
        let status = unsafe { ov_const_port_get_shape(handle.as_ptr(), &raw mut shape) };
        let dimensions = take_shape(status, shape).ok();
        Ok(Self { element: element.into(), dimensions, name: name_of(handle)? })
    }
}

#[expect(unsafe_code, reason = "calls the library")]
fn name_of(handle: &PortHandle) -> Result<String> {
    let mut name = std::ptr::null_mut();
    // SAFETY: the port exists, and the call writes an address to where it is told.
    check(unsafe { ov_port_get_any_name(handle.as_ptr(), &raw mut name) })?;
    Ok(taken(name))
}

/// A copy of a text that the library made, which is freed; an empty one for none.
#[expect(unsafe_code, reason = "calls the library")]
fn taken(made: *mut c_char) -> String {
    if made.is_null() {
        return String::new();
    }
    // SAFETY: the library made a text that ends with a zero byte.
    let copied = unsafe { CStr::from_ptr(made) }.to_string_lossy().into_owned();
    // SAFETY: the library made the text, and nobody else frees it.
    unsafe { ov_free(made) };
    copied
}

fn text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| InferenceError {
        kind: InferenceErrorKind::InvalidCParam,
        message: Some(format!("a text with a zero byte: {text:?}")),
    })
}
