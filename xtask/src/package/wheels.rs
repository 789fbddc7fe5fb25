//! Libraries that Python packages carry, of the same releases as set-up fetches, for any architecture.

use std::fs;
use std::path::PathBuf;

use crate::command::Failure;
use crate::cross::Target;
use crate::native::ONNX_RUNTIME;
use crate::python::pip_install_for;
use crate::solver::{self, HIGHS};

use super::layout::package_folder;
use crate::files::failed;

/// Any Python that both packages have files for: only libraries are taken, which do not care.
const PYTHON: &str = "3.12";
/// The files may need any of these C libraries, by the names that pip knows them by.
const PLATFORMS: [&str; 3] = ["manylinux_2_28", "manylinux_2_27", "manylinux_2_17"];

/// What was fetched.
pub(super) struct Wheels {
    pub(super) onnx_runtime: PathBuf,
    pub(super) highs: PathBuf,
    /// A folder with `highs.pc`, from which the program is linked.
    pub(super) highs_description: PathBuf,
    /// Files and folders with licences, with the names that they get.
    pub(super) licences: Vec<(&'static str, PathBuf)>,
}

/// Fetches what is not there yet.
pub(super) fn fetch(target: Target) -> Result<Wheels, Failure> {
    let own = package_folder().join(target.name());
    let packages = [format!("onnxruntime=={ONNX_RUNTIME}"), format!("highspy=={HIGHS}")];
    let (wheels, stamp) = (own.join("wheels"), own.join("wheels.txt"));
    if fs::read_to_string(&stamp).ok() != Some(packages.join("\n")) {
        eprintln!("fetching {} for {} with pip ...", packages.join(" and "), target.name());
        let _ = fs::remove_dir_all(&wheels);
        fs::create_dir_all(&wheels).map_err(|error| failed(&wheels, &error))?;
        let platforms = PLATFORMS.map(|platform| format!("{platform}_{}", target.name()));
        pip_install_for(&packages.each_ref().map(String::as_str), &wheels, &platforms, PYTHON)?;
        fs::write(&stamp, packages.join("\n")).map_err(|error| failed(&stamp, &error))?;
    }
    let highs = wheels.join("highspy/libhighs.so.1");
    let capi = wheels.join("onnxruntime/capi");
    Ok(Wheels {
        onnx_runtime: capi.join(format!("libonnxruntime.so.{ONNX_RUNTIME}")),
        highs_description: solver::describe(&highs, &own.join("highs"))?,
        licences: vec![
            ("onnxruntime/LICENSE", wheels.join("onnxruntime/LICENSE")),
            ("onnxruntime/ThirdPartyNotices.txt", wheels.join("onnxruntime/ThirdPartyNotices.txt")),
            ("highs", wheels.join(format!("highspy-{HIGHS}.dist-info/licenses"))),
        ],
        highs,
    })
}
