//! `cargo xtask wheel`: the Python package, built by maturin: for this computer, or for all of an architecture with the
//! C library that packages need. `--check` tests it as whoever installs it has it.

mod check;
mod emulated;
mod licences;
mod place;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, run};
use crate::cross::{Target, zig};
use crate::files::failed;
use crate::folders::root;
use crate::python::python_tool;

use place::{SOURCE, platform};

/// What builds the package.
const MATURIN: (&str, &str, &str) = ("maturin", "1.16.0", "bin/maturin");
/// Where wheels are put.
const WHEELS: &str = "target/wheels";

/// The Python packages that are fetched here.
#[cfg(test)]
pub(crate) fn fetched() -> impl Iterator<Item = String> {
    let (package, version, _) = MATURIN;
    [check::PACKAGES, check::OF_EXAMPLES]
        .concat()
        .into_iter()
        .map(str::to_owned)
        .chain([format!("{package}=={version}")])
}

/// What the command was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Arguments<'a> {
    /// None: what is quickest to build here.
    target: Option<Target>,
    is_check: bool,
    pytest: &'a [String],
}

/// Builds the wheel; with `--check`, installs it where nothing else is and runs its tests there. Further arguments go
/// to pytest.
pub(crate) fn wheel(arguments: &[String]) -> Result<(), Failure> {
    let Arguments { target, is_check, pytest } = parse(arguments)?;
    let wheel = build(target)?;
    if target.is_some() {
        licences::check(&wheel)?;
    }
    match target {
        _ if !is_check => println!("{}", wheel.display()),
        Some(target) if !target.is_own() => emulated::check(target, &wheel, pytest)?,
        _ => check::here(&wheel, pytest)?,
    }
    Ok(())
}

fn parse(arguments: &[String]) -> Result<Arguments<'_>, Failure> {
    let (target, rest) = match arguments {
        [option, name, rest @ ..] if option == "--target" => (Some(Target::parse(name)?), rest),
        rest => (None, rest),
    };
    match rest.split_first() {
        None => Ok(Arguments { target, is_check: false, pytest: &[] }),
        Some((check, pytest)) if check == "--check" => Ok(Arguments { target, is_check: true, pytest }),
        Some((other, _)) => {
            let usage = "cargo xtask wheel [--target x86_64|aarch64] [--check [arguments of pytest]]";
            Err(Failure(format!("'{other}' is no argument of: {usage}")))
        }
    }
}

fn build(target: Option<Target>) -> Result<PathBuf, Failure> {
    // Nothing that is fetched for the workspace is needed: the package is built without the solver, and brings ONNX
    // Runtime itself.
    python_tool(MATURIN)?;
    let (wheels, maturin) = (root().join(WHEELS), root().join("target/millstream").join(MATURIN.0).join(MATURIN.2));
    // Of this architecture, what is there afterwards is what was built.
    let ending = target.map_or(".whl".to_owned(), |target| format!("_{}.whl", target.name()));
    fs::create_dir_all(&wheels).map_err(|error| failed(&wheels, &error))?;
    for old in in_folder(&wheels, &ending)? {
        fs::remove_file(&old).map_err(|error| failed(&old, &error))?;
    }
    // What is for one computer is for nobody else.
    let _licences = target.map(licences::Licences::beside_the_source).transpose()?;
    let mut command = Command::new(maturin);
    command.current_dir(root()).args(["build", "--release", "--locked", "--manifest-path"]);
    command.arg(Path::new(SOURCE).join("Cargo.toml")).arg("--out").arg(&wheels);
    if let Some(target) = target {
        command.args(["--zig", "--target", &target.triple(), "--compatibility", &platform()]);
        command.envs(zig::variables(target)?);
    }
    run(&mut command)?;
    let made = in_folder(&wheels, &ending)?.pop();
    made.ok_or_else(|| Failure(format!("maturin has put no wheel into {}", wheels.display())))
}

/// The files of a folder whose names end so.
fn in_folder(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(folder).map_err(|error| failed(folder, &error))?;
    let files = entries.filter_map(Result::ok).map(|entry| entry.path());
    Ok(files.filter(|file| file.display().to_string().ends_with(ending)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_the_check_is_for_pytest() {
        let words = |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        let all = words("--target aarch64 --check -k stream");
        let parsed = parse(&all).map_err(|Failure(message)| message);
        let pytest = words("-k stream");
        assert_eq!(parsed, Ok(Arguments { target: Some(Target::Aarch64), is_check: true, pytest: &pytest }));
        let none = parse(&[]).map_err(|Failure(message)| message);
        assert_eq!(none, Ok(Arguments { target: None, is_check: false, pytest: &[] }));
        for wrong in ["--target riscv64", "--target", "--check-all", "--target aarch64 -k stream"] {
            assert!(parse(&words(wrong)).is_err(), "{wrong}");
        }
    }
}
