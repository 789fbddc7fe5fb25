//! OpenVINO, as its Python package carries it: its libraries and nothing else.
//!
//! It is an engine beside ONNX Runtime. Where there is no package for a machine, or no network, all else works without
//! it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::Failure;
use crate::folders::root;
use crate::python::{Suits, pip_install};

/// The release that is used and tested.
const OPENVINO: &str = "2026.4.1";
/// The variable by which its folder is found.
const VARIABLE: &str = "OPENVINO_INSTALL_DIR";
/// Where the libraries are put.
const FOLDER: &str = "target/millstream/openvino";
/// The library of its C interface, which programs look for without a version behind it.
const LIBRARY: &str = "libopenvino_c.so";
/// What the names of the files begin with that are kept: the library, its plug-ins for CPUs, GPUs and NPUs, the reader
/// of ONNX, and the threads that it computes with. Readers of other formats and plug-ins that combine devices stay
/// behind.
const KEPT: [&str; 11] = [
    "cache.json",
    "libhwloc.",
    "libopenvino.",
    "libopenvino_arm_cpu_plugin.",
    "libopenvino_c.",
    "libopenvino_intel_cpu_plugin.",
    "libopenvino_intel_gpu_plugin.",
    "libopenvino_intel_npu_plugin.",
    "libopenvino_onnx_frontend.",
    "libtbb",
    "licenses",
];

/// The Python packages that are fetched here.
#[cfg(test)]
pub(crate) fn fetched() -> impl Iterator<Item = String> {
    std::iter::once(package())
}

fn package() -> String {
    format!("openvino=={OPENVINO}")
}

/// The variable that programs need to find OpenVINO: as the caller has set it, or with our own folder.
pub(crate) fn variable() -> (&'static str, PathBuf) {
    (VARIABLE, chosen().unwrap_or_else(|| root().join(FOLDER)))
}

/// A folder that the caller names. Cargo sets the variable to ours.
fn chosen() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).map(PathBuf::from).filter(|folder| !folder.ends_with(FOLDER))
}

/// The folder with the libraries for this computer, where they are.
pub(crate) fn library_folder() -> Option<PathBuf> {
    let own = root().join(FOLDER);
    chosen().or_else(|| is_there(&own).then_some(own))
}

/// Makes sure that the libraries are there, if they can be had. Says so once if not.
pub(crate) fn prepare() -> Result<(), Failure> {
    let folder = root().join(FOLDER);
    if chosen().is_some() || is_there(&folder) || is_known_to_be_missing(&folder) {
        return Ok(());
    }
    eprintln!("fetching OpenVINO {OPENVINO} with pip ...");
    let failed = |error: std::io::Error| Failure(format!("cannot write in {}: {error}", folder.display()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(failed)?;
    match unpack(&folder) {
        Ok(()) => fs::write(folder.join("version"), stamp(&folder)).map_err(failed),
        Err(Failure(reason)) => {
            eprintln!(
                "there will be no engine OpenVINO, everything else works: {reason}\nTo have it tried again, delete {}.",
                folder.display()
            );
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).map_err(failed)?;
            fs::write(folder.join("missing"), OPENVINO).map_err(failed)
        }
    }
}

/// Whether all is there as it was fetched: a library that was cut off since would end the program that loads it.
fn is_there(folder: &Path) -> bool {
    folder.join(LIBRARY).is_file() && fs::read_to_string(folder.join("version")).is_ok_and(|text| text == stamp(folder))
}

/// Whether this release was tried and could not be had.
fn is_known_to_be_missing(folder: &Path) -> bool {
    fs::read_to_string(folder.join("missing")).is_ok_and(|text| text == OPENVINO)
}

/// What is written beside the libraries once they are there: the release, and the sizes of the files.
fn stamp(folder: &Path) -> String {
    let mut sizes: Vec<(String, u64)> = files(folder).map(|(name, path)| (name, size(&path))).collect();
    sizes.retain(|(name, _)| name.contains(".so"));
    sizes.sort();
    let lines: String = sizes.iter().map(|(name, bytes)| format!("\n{name}, {bytes} bytes")).collect();
    format!("{OPENVINO}{lines}\n")
}

/// Fetches the package and keeps what is needed of it.
fn unpack(folder: &Path) -> Result<(), Failure> {
    let staging = folder.join("package");
    let failed = |error: std::io::Error| Failure(format!("cannot write in {}: {error}", folder.display()));
    fs::create_dir_all(&staging).map_err(failed)?;
    pip_install(&[&package()], &staging, Suits::ThisPythonCompiled)?;
    for place in [staging.join("openvino/libs"), staging.join(format!("openvino-{OPENVINO}.dist-info"))] {
        for (name, path) in files(&place).filter(|(name, _)| KEPT.iter().any(|kept| name.starts_with(kept))) {
            fs::rename(path, folder.join(name)).map_err(failed)?;
        }
    }
    fs::remove_dir_all(&staging).map_err(failed)?;
    link(folder)
}

/// Gives the library the name by which programs look for it; the package has it with its version behind.
fn link(folder: &Path) -> Result<(), Failure> {
    let plain = folder.join(LIBRARY);
    if plain.is_file() {
        return Ok(());
    }
    let versioned = files(folder).map(|(name, _)| name).find(|name| name.starts_with(LIBRARY));
    let versioned = versioned.ok_or_else(|| Failure(format!("the Python package {} has no {LIBRARY}", package())))?;
    #[cfg(unix)]
    let linked = std::os::unix::fs::symlink(&versioned, &plain);
    #[cfg(not(unix))]
    let linked = fs::copy(folder.join(&versioned), &plain).map(drop);
    linked.map_err(|error| Failure(format!("cannot link {}: {error}", plain.display())))
}

fn size(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |metadata| metadata.len())
}

/// What is in a folder, by name; nothing if it can't be read.
fn files(folder: &Path) -> impl Iterator<Item = (String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
}

#[cfg(test)]
mod tests {
    use super::{LIBRARY, is_there, link, stamp};
    use std::fs;

    #[test]
    fn the_readme_names_the_release_that_is_used() {
        let page = include_str!("../../README.md");
        let named: Vec<&str> = page.split("openvino==").skip(1).collect();
        assert!(!named.is_empty() && named.iter().all(|rest| rest.starts_with(&format!("{}`", super::OPENVINO))));
    }

    #[test]
    fn libraries_that_were_cut_off_are_not_there() {
        let folder = std::env::temp_dir().join(format!("millstream-openvino-{}", std::process::id()));
        let written = fs::create_dir_all(&folder)
            .and_then(|()| fs::write(folder.join("libopenvino_c.so.2641"), [1; 100]))
            .and_then(|()| fs::write(folder.join("libtbb.so.12"), [2; 50]));
        assert!(written.is_ok() && link(&folder).is_ok() && folder.join(LIBRARY).is_file());
        assert!(!is_there(&folder), "nothing says that all was written");
        assert!(fs::write(folder.join("version"), stamp(&folder)).is_ok() && is_there(&folder));
        assert!(fs::write(folder.join("libtbb.so.12"), [2; 49]).is_ok() && !is_there(&folder));
        let _ = fs::remove_dir_all(&folder);
    }
}
