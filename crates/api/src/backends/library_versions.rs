//! Versions of the libraries that compute on a board.

use std::collections::BTreeMap;

use millstream_board::{Accelerator, Board, EngineName};

use super::{cpu, openvino};

/// Versions of the libraries that a board's clusters and accelerators compute with, by `onnxruntime` and `openvino`;
/// those that can't be loaded are left out.
pub(crate) fn library_versions(board: &Board) -> BTreeMap<String, String> {
    let accelerators = || board.accelerators().iter();
    let has_openvino =
        board.engines_in_use().any(|engine| engine.is_openvino()) || accelerators().any(Accelerator::is_of_openvino);
    let is_of_provider = |own: &Accelerator| own.engine.is_some() && !own.is_of_openvino();
    let has_onnx_runtime =
        board.engines_in_use().any(|engine| !engine.is_openvino()) || accelerators().any(is_of_provider);

    let onnx_runtime = has_onnx_runtime.then(|| (EngineName::OnnxRuntime, cpu::version()));
    let openvino = has_openvino.then(|| (EngineName::OpenVino, openvino::version()));
    let known = onnx_runtime.into_iter().chain(openvino);
    known.filter_map(|(library, version)| Some((library.to_string(), version.ok()?))).collect()
}

/// Which library has another version here than when something was measured: text for people. `None` if none has, as far
/// as is known.
pub(crate) fn changed_library(measured: &BTreeMap<String, String>, here: &BTreeMap<String, String>) -> Option<String> {
    here.iter().find_map(|(library, version)| {
        let before = measured.get(library).filter(|before| *before != version)?;
        Some(format!("it is of {library} {before}, and {version} is here"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_libraries_that_were_measured_can_have_changed() {
        let versions = |known: &[(&str, &str)]| {
            known.iter().map(|(library, version)| ((*library).to_owned(), (*version).to_owned())).collect()
        };
        let here = versions(&[("onnxruntime", "1.31.1"), ("openvino", "2026.4.1")]);
        let changed = |measured: &[(&str, &str)]| changed_library(&versions(measured), &here);
        assert_eq!(changed(&[]), None, "nobody knows what it was");
        assert_eq!(changed(&[("onnxruntime", "1.31.1"), ("other", "1")]), None);
        let told = changed(&[("onnxruntime", "1.31.1"), ("openvino", "2026.3.0")]);
        assert_eq!(told.as_deref(), Some("it is of openvino 2026.3.0, and 2026.4.1 is here"));
    }

    #[cfg(feature = "ort")]
    #[test]
    fn libraries_are_those_that_compute_on_the_board() {
        let of = |engines: &str| {
            let board = millstream_test_support::board(&format!("B2@{engines}"));
            library_versions(&board).into_keys().collect::<Vec<_>>()
        };
        assert_eq!(of("onnxruntime"), ["onnxruntime"]);
        assert!(!of("openvino").contains(&"onnxruntime".to_owned()));
    }
}
