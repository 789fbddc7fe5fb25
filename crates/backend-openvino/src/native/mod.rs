//! OpenVINO's C interface, as far as the library `openvino` does not wrap it: its requests take no memory of others,
//! and do not tell what operators took; its tensors have one dimension at least. All that is unsafe in this crate is
//! here.

mod model;
mod request;
mod tensor;

use openvino::InferenceError;
use openvino_sys::ov_status_e;

pub(crate) use model::{CompiledModel, Port, read};
pub(crate) use request::{NodeTime, Output, Place, Request};
pub(crate) use tensor::{Owned, Source};

/// What a call of the interface answered.
type Result<T> = std::result::Result<T, InferenceError>;

/// A status, with what the library says of it.
fn check(status: ov_status_e) -> Result<()> {
    let message = if status == ov_status_e::OK { None } else { openvino::get_last_error_message() };
    InferenceError::convert(status, message)
}

/// Defines the owner of a thing of the library's, which is freed with it.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $of:ty, $free:path) => {
        $(#[$doc])*
        pub(super) struct $name(std::ptr::NonNull<$of>);

        impl $name {
            /// What the library's function made; it says so in its status if it made nothing.
            pub(super) fn make(
                function: impl FnOnce(*mut *mut $of) -> openvino_sys::ov_status_e,
            ) -> super::Result<Self> {
                let mut made = std::ptr::null_mut();
                super::check(function(&raw mut made))?;
                let nothing = || openvino::InferenceError {
                    kind: openvino::InferenceErrorKind::Unexpected,
                    message: Some("the library made nothing".to_owned()),
                };
                Ok(Self(std::ptr::NonNull::new(made).ok_or_else(nothing)?))
            }

            pub(super) fn as_ptr(&self) -> *mut $of {
                self.0.as_ptr()
            }
        }

        impl Drop for $name {
            #[expect(unsafe_code, reason = "calls the library")]
            fn drop(&mut self) {
                // SAFETY: the library made the thing in `make`, and nobody else frees it.
                unsafe { $free(self.0.as_ptr()) }
            }
        }
    };
}

use handle;
