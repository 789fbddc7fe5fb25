//! Native parts, as Python packages carry them: ONNX Runtime, and tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, capture, root};
#[cfg(test)]
use crate::cross;
use crate::{openvino, pinned, solver};

/// The release of ONNX Runtime that is used and tested.
pub(crate) const ONNX_RUNTIME: &str = "1.31.1";

/// Where cargo puts what it builds.
pub(crate) fn target_folder() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}

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

/// The ONNX Runtime library: what `ORT_DYLIB_PATH` names if the caller has set it, else our own copy, fetched when it is
/// not there yet.
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

/// Fetches a tool that a Python package carries, when its `file` is not there yet. `.cargo/config.toml` names the places where tools
/// are put, so that every way to call cargo finds the same ones and nothing is compiled twice.
pub(crate) fn python_tool((package, version, file): (&str, &str, &str)) -> Result<(), Failure> {
    let folder = root().join("target/millstream").join(package);
    let (file, stamp) = (folder.join(file), folder.join("version"));
    if file.exists() && fs::read_to_string(&stamp).is_ok_and(|found| found == version) {
        return Ok(());
    }
    eprintln!("fetching {package} {version} with pip ...");
    let failed = |error: std::io::Error| Failure(format!("cannot write in {}: {error}", folder.display()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(failed)?;
    pip_install(&[&format!("{package}=={version}")], &folder, Suits::ThisPython)?;
    if !file.exists() {
        return Err(Failure(format!("the Python package {package} {version} has no {}", file.display())));
    }
    fs::write(&stamp, version).map_err(failed)
}

/// Which files of Python packages will do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suits {
    /// Those for this Python.
    ThisPython,
    /// Those for this Python that need not be compiled.
    ThisPythonCompiled,
    /// Any: they carry models, which do not care which Python they are for.
    AnyPython,
}

/// Installs Python packages, given as `name==version`, into a folder of ours without touching the system: exactly these, and only files
/// whose hashes are [pinned].
pub(crate) fn pip_install(packages: &[&str], folder: &Path, suits: Suits) -> Result<(), Failure> {
    let requirements = pinned::requirements(packages)?.display().to_string();
    let option = match suits {
        Suits::ThisPython => None,
        Suits::ThisPythonCompiled => Some("--only-binary=:all:"),
        Suits::AnyPython => Some("--ignore-requires-python"),
    };
    let options = ["--no-deps", "--require-hashes"].into_iter().chain(option).collect::<Vec<_>>();
    pip(&["-r", &requirements], folder, &options)
}

/// Installs Python packages as [`pip_install`] does, with files for another platform: those that pip knows by one of these names.
pub(crate) fn pip_install_for(
    packages: &[&str],
    folder: &Path,
    platforms: &[String],
    python: &str,
) -> Result<(), Failure> {
    let requirements = pinned::requirements(packages)?.display().to_string();
    let mut options = vec!["--no-deps", "--require-hashes", "--only-binary=:all:", "--python-version", python];
    options.extend(platforms.iter().flat_map(|platform| ["--platform", platform.as_str()]));
    pip(&["-r", &requirements], folder, &options)
}

/// Installs Python packages with all that they depend on, whose versions nobody has pinned: for what is only compared with.
pub(crate) fn pip_install_with_dependencies(packages: &[&str], folder: &Path) -> Result<(), Failure> {
    pip(packages, folder, &[])
}

fn pip(packages: &[&str], folder: &Path, options: &[&str]) -> Result<(), Failure> {
    let install = |python: &str| {
        let mut command = Command::new(python);
        command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(options);
        command.arg("--target").arg(folder).args(packages);
        capture(&mut command)
    };
    install("python3").or_else(|_| install("python")).map(drop).map_err(|Failure(message)| {
        let packages = packages.join(" ");
        Failure(format!(
            "{message}\n\npip is needed to fetch {packages}. Install Python with pip (Debian: apt install python3-pip), or fetch \
             the package yourself: python3 -m pip install {} --target {} {packages}",
            options.join(" "),
            folder.display()
        ))
    })
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
