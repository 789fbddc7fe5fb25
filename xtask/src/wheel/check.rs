//! The Python package, tested as whoever installs it has it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, capture, run};
use crate::folders::root;
use crate::native;
use crate::pinned;

use super::place::SOURCE;

/// What the package depends on, and what its tests do, with all that these depend on.
pub(super) const PACKAGES: &[&str] = &[
    "onnxruntime==1.31.1",
    "flatbuffers==25.12.19",
    "numpy==2.4.6",
    "packaging==26.3",
    "protobuf==7.36.2",
    "onnx==1.23.2",
    "ml_dtypes==0.6.0",
    "typing_extensions==4.16.0",
    "pytest==9.2.0",
    "iniconfig==2.3.1",
    "pluggy==1.7.0",
    "pygments==2.21.0",
];
/// What examples need as well, and what shows progress.
pub(super) const OF_EXAMPLES: &[&str] = &["opencv-python-headless==5.0.0.93", "tqdm==4.70.1"];
/// Where wheels are tried.
const ENVIRONMENT: &str = "target/millstream/wheel-check";

/// Installs a wheel for this computer into an environment of its own, and runs its tests and its example there.
/// Arguments go to pytest.
pub(super) fn here(wheel: &Path, arguments: &[String]) -> Result<(), Failure> {
    let folder = root().join(ENVIRONMENT);
    let python = environment(&folder)?;
    let pip = |options: &[&str]| {
        let mut command = Command::new(&python);
        command.args(["-m", "pip", "--disable-pip-version-check"]).args(options);
        command
    };
    let install = ["install", "--quiet", "--no-deps", "--no-index", "--force-reinstall"];
    run(pip(&install).arg(wheel))?;
    // Whether all that the package says it needs is there.
    capture(&mut pip(&["check"]))?;
    let in_python = |arguments: &[&str]| {
        let mut command = Command::new(&python);
        let variables = native::environment(PathBuf::new());
        // Cargo names our own library, and an installed package must find that of the package onnxruntime.
        command.current_dir(root().join(SOURCE)).args(arguments).envs(variables).env_remove("ORT_DYLIB_PATH");
        command
    };
    run(in_python(&["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]).args(arguments))?;
    if arguments.is_empty() {
        run(&mut in_python(&["examples/classify.py", "--frames", "50"]))?;
    }
    Ok(())
}

/// An environment with what the package and its tests depend on, made when it is not there yet. Returns its Python.
fn environment(folder: &Path) -> Result<PathBuf, Failure> {
    let (python, stamp) = (folder.join("bin/python"), folder.join("version"));
    let packages = [PACKAGES, OF_EXAMPLES].concat();
    let version = packages.join(" ");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == version) && python.exists() {
        return Ok(python);
    }
    eprintln!("fetching {} and what tests need with pip ...", PACKAGES[0]);
    let _ = fs::remove_dir_all(folder);
    capture(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"]);
    capture(install.args(["--only-binary=:all:", "-r"]).arg(pinned::requirements(&packages)?))?;
    fs::write(&stamp, version).map_err(|error| Failure(format!("cannot write {}: {error}", stamp.display())))?;
    Ok(python)
}

#[cfg(test)]
mod tests {
    use super::PACKAGES;
    use crate::native::ONNX_RUNTIME;

    #[test]
    fn wheels_are_tested_with_the_release_that_is_used() {
        assert!(PACKAGES.contains(&format!("onnxruntime=={ONNX_RUNTIME}").as_str()), "{PACKAGES:?}");
    }
}
