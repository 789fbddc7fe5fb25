//! The library, where set-up could fetch it.

use std::path::Path;

use millstream_backend_openvino::{OpenVino, VARIABLE};
use millstream_test_support::not_tested;

/// The library; `None`, and a word about it, where there is no package of it for this machine.
///
/// # Panics
/// If it was fetched and can't be loaded.
pub(crate) fn library() -> Option<OpenVino> {
    let error = match OpenVino::load() {
        Ok(library) => return Some(library),
        Err(error) => error,
    };
    let folder = std::env::var_os(VARIABLE);
    assert!(folder.is_none_or(|folder| !Path::new(&folder).exists()), "{error}");
    not_tested("OPENVINO", error);
    None
}
