//! Native parts, as Python packages carry them: ONNX Runtime, and what others bring.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::Failure;
#[cfg(test)]
use crate::cross;
use crate::folders::root;
use crate::python::{Suits, pip_install};
use crate::{openvino, solver};

/// The release of ONNX Runtime that is used and tested.
pub(crate) const ONNX_RUNTIME: &str = "1.31.1";

/// Everything that building and running needs; returns the ONNX Runtime library.
pub(crate) fn prepare() -> Result<PathBuf, Failure> {
    solver::prepare()?;
    openvino::prepare()?;
    onnx_runtime()
}

/// Variables that programs need which use the native parts.
pub(crate) fn environment(library: PathBuf) -> Vec<(&'static str, PathBuf)> {
    let mut variables = vec![("ORT_DYLIB_PATH", library), openvino::variable()];
    // Graphics libraries complain where there is no session.
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        variables.push(("XDG_RUNTIME_DIR", std::env::temp_dir()));
    }
    variables
}

/// The ONNX Runtime library: what `ORT_DYLIB_PATH` names if the caller has set it, else our own copy, fetched when it
/// is not there yet.
fn onnx_runtime() -> Result<PathBuf, Failure> {
    const OWN: &str = "target/millstream/onnxruntime/libonnxruntime.so";
    let library = root().join(OWN);
    let own = library.parent().unwrap_or(&library).to_owned();
    // Cargo sets the variable to our copy, so a different value is the caller's choice.
    if let Some(chosen) = std::env::var_os("ORT_DYLIB_PATH").map(PathBuf::from)
        && !chosen.ends_with(OWN)
    {
        return match chosen {
            file if file.is_file() => Ok(file),
            none if none.as_os_str().is_empty() => {
                Err(Failure("ORT_DYLIB_PATH is empty; unset it, or name the ONNX Runtime library".to_owned()))
            }
            other => Err(Failure(format!("ORT_DYLIB_PATH names {}, which is no file", other.display()))),
        };
    }

    let stamp = own.join("version");
    // A library that was cut off since would end the program that loads it.
    let is_whole = |stamp: String| size(&library).is_some_and(|bytes| stamp == stamp_of(bytes));
    if fs::read_to_string(&stamp).is_ok_and(is_whole) {
        return Ok(library);
    }

    eprintln!("fetching ONNX Runtime {ONNX_RUNTIME} with pip ...");
    let staging = own.join("package");
    let _ = fs::remove_dir_all(&staging);
    let failed = |what: &str, error: std::io::Error| Failure(format!("cannot {what} in {}: {error}", own.display()));
    fs::create_dir_all(&staging).map_err(|error| failed("make a folder", error))?;
    pip_install(&[&format!("onnxruntime=={ONNX_RUNTIME}")], &staging, Suits::ThisPython)?;
    let packaged = find_library(&staging.join("onnxruntime/capi"))?;
    fs::rename(&packaged, &library).map_err(|error| failed("place the library", error))?;
    fs::remove_dir_all(&staging).map_err(|error| failed("clean up", error))?;
    let stamp_text = stamp_of(size(&library).unwrap_or_default());
    fs::write(&stamp, stamp_text).map_err(|error| failed("write the version", error))?;
    Ok(library)
}

fn size(file: &Path) -> Option<u64> {
    fs::metadata(file).ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len())
}

/// What is written beside the library once it is there.
fn stamp_of(bytes: u64) -> String {
    format!("{ONNX_RUNTIME}, {bytes} bytes")
}

/// The Python packages that are fetched here.
#[cfg(test)]
pub(crate) fn fetched() -> impl Iterator<Item = String> {
    std::iter::once(format!("onnxruntime=={ONNX_RUNTIME}")).chain(openvino::fetched()).chain(cross::zig::fetched())
}

/// The wheel names the library with its version.
fn find_library(folder: &Path) -> Result<PathBuf, Failure> {
    let entries =
        fs::read_dir(folder).map_err(|error| Failure(format!("cannot read {}: {error}", folder.display())))?;
    let mut found = entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let is_library = name.starts_with("libonnxruntime.") || name == "onnxruntime.dll";
        is_library && !name.contains("providers")
    });
    found.next().ok_or_else(|| Failure(format!("the package has no ONNX Runtime library in {}", folder.display())))
}
