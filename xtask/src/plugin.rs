//! A plug-in with an execution provider of ONNX Runtime, for the tests that load one: it computes on cores, so that no
//! test needs a device.

use std::fs;
use std::path::PathBuf;

use crate::command::Failure;
use crate::folders::root;
use crate::python::{Suits, pip_install};

/// The release that is tested with.
const PLUGIN: &str = "0.1.0.dev6";
/// Where it is put; `.cargo/config.toml` names the file in it.
const FOLDER: &str = "target/millstream/nxrt-ep-cpu";
const LIBRARY: &str = "nxrt_ep_cpu/libonnx_runtime_ep_cpu_plugin.so";
const VARIABLE: &str = "MILLSTREAM_PLUGIN";
/// The only platform for which the project's CI has it.
const IS_THERE: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));

/// The Python packages that are fetched here.
#[cfg(test)]
pub(crate) fn fetched() -> impl Iterator<Item = String> {
    std::iter::once(package())
}

fn package() -> String {
    format!("nxrt-ep-cpu=={PLUGIN}")
}

/// Makes sure that it is there, where there is one, and returns the variable by which tests find it.
pub(crate) fn prepare() -> Result<(&'static str, PathBuf), Failure> {
    let folder = root().join(FOLDER);
    let library = folder.join(LIBRARY);
    let stamp = folder.join("version");
    let is_fetched = || library.is_file() && fs::read_to_string(&stamp).is_ok_and(|found| found == PLUGIN);
    if IS_THERE && !is_fetched() {
        eprintln!("fetching nxrt-ep-cpu {PLUGIN} with pip ...");
        let failed = |error: std::io::Error| Failure(format!("cannot write in {}: {error}", folder.display()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(failed)?;
        // A small package of somebody else: should it vanish, all other tests are worth running.
        if let Err(Failure(reason)) = pip_install(&[&package()], &folder, Suits::ThisPythonCompiled) {
            eprintln!("what loads a plug-in is not tested: {reason}");
            return Ok((VARIABLE, library));
        }
        if !library.is_file() {
            return Err(Failure(format!("the Python package {} has no {LIBRARY}", package())));
        }
        fs::write(&stamp, PLUGIN).map_err(failed)?;
    }
    Ok((VARIABLE, library))
}
