//! C functions for texts: the version, the last error, and freeing a text.

use std::ffi::{CString, c_char};

use crate::last_error::{self, guarded_or};

/// The version of this library, such as "0.1.0". It is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn ms_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Why the last call on this thread failed that did; an empty text before. It stays where it is until the next failure
/// on this thread or the thread's end, and is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn ms_last_error() -> *const c_char {
    last_error::pointer()
}

/// Frees a text that a function of this library gave away. Does nothing with a null pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ms_string_free(string: *mut c_char) {
    guarded_or((), || {
        if !string.is_null() {
            // SAFETY: texts are given away by `CString::into_raw` alone, and the caller frees each of them once.
            drop(unsafe { CString::from_raw(string) });
        }
        Ok(())
    });
}
