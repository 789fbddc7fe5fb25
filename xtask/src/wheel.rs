//! The Python package: built by maturin, and tested as whoever installs it has it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, capture, root, run};
use crate::native::{self, python_tool};
use crate::pinned;

/// What builds the package.
const MATURIN: (&str, &str, &str) = ("maturin", "1.16.0", "bin/maturin");
/// What the package depends on, and what its tests do, with all that these depend on.
const PACKAGES: &[&str] = &[
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
/// Where the package is made from, where wheels are put, and where they are tried.
const SOURCE: &str = "crates/python";
const WHEELS: &str = "target/wheels";
const ENVIRONMENT: &str = "target/millstream/wheel-check";

/// The Python packages that are fetched here.
#[cfg(test)]
pub(crate) fn fetched() -> impl Iterator<Item = String> {
    let (package, version, _) = MATURIN;
    PACKAGES.iter().map(|&package| package.to_owned()).chain([format!("{package}=={version}")])
}

/// Builds the wheel; with `--check`, installs it into an environment of its own and runs its tests and its example there. Further
/// arguments go to pytest.
pub(crate) fn wheel(arguments: &[String]) -> Result<(), Failure> {
    let wheel = build()?;
    match arguments.split_first() {
        None => {
            println!("{}", wheel.display());
            Ok(())
        }
        Some((check, rest)) if check == "--check" => test(&wheel, rest),
        Some((other, _)) => {
            Err(Failure(format!("there is no option '{other}'; there is --check [arguments of pytest]")))
        }
    }
}

fn build() -> Result<PathBuf, Failure> {
    // Nothing that is fetched for the workspace is needed: the package is built without the solver, and brings ONNX Runtime itself.
    python_tool(MATURIN)?;
    let (wheels, maturin) = (root().join(WHEELS), root().join("target/millstream").join(MATURIN.0).join(MATURIN.2));
    let failed = |error: std::io::Error| Failure(format!("cannot clean up {}: {error}", wheels.display()));
    // What is there afterwards is what was built.
    let _ = fs::remove_dir_all(&wheels);
    fs::create_dir_all(&wheels).map_err(failed)?;
    let mut command = Command::new(maturin);
    command.current_dir(root()).args(["build", "--release", "--locked", "--manifest-path"]);
    run(command.arg(Path::new(SOURCE).join("Cargo.toml")).arg("--out").arg(&wheels))?;
    let made = fs::read_dir(&wheels).map_err(failed)?.filter_map(Result::ok).map(|entry| entry.path());
    let mut made = made.filter(|path| path.extension().is_some_and(|extension| extension == "whl"));
    made.next().ok_or_else(|| Failure(format!("maturin has put no wheel into {}", wheels.display())))
}

fn test(wheel: &Path, arguments: &[String]) -> Result<(), Failure> {
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
    let version = PACKAGES.join(" ");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == version) && python.exists() {
        return Ok(python);
    }
    eprintln!("fetching {} and what tests need with pip ...", PACKAGES[0]);
    let _ = fs::remove_dir_all(folder);
    capture(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"]);
    capture(install.args(["--only-binary=:all:", "-r"]).arg(pinned::requirements(PACKAGES)?))?;
    fs::write(&stamp, version).map_err(|error| Failure(format!("cannot write {}: {error}", stamp.display())))?;
    Ok(python)
}
