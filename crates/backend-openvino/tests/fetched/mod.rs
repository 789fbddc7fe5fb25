//! The library, where set-up could fetch it.

use std::path::Path;

use millstream_backend_openvino::{OpenVino, VARIABLE};

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
    eprintln!("not tested: {error}");
    None
}
