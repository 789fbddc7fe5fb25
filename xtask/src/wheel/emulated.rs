//! The Python package of another architecture, tested on a board that QEMU stands in for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, capture, run};
use crate::cross::{EmulatedBoard, Target};
use crate::folders::root;
use crate::python::pip_install_for;

use super::check;
use super::place::{SOURCE, platform};

/// Systems whose wheels will do, by the names that pip knows them by.
const PLATFORMS: [&str; 4] = ["manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014"];
/// Those tests that start no programs: the kernel knows nothing of QEMU.
const TESTS: [&str; 2] = ["tests/test_session.py", "tests/test_streaming.py"];

/// Installs a wheel beside Debian's Python of that architecture, and runs tests of the package there. Arguments go to
/// pytest.
pub(super) fn check(target: Target, wheel: &Path, arguments: &[String]) -> Result<(), Failure> {
    let folder = root().join("target/millstream").join(format!("wheel-check-{}", target.name()));
    let guest = folder.join("guest");
    let board =
        EmulatedBoard::new(target, &guest, &["python3-minimal", "python3"], &["python3", "libpython3", "libffi"])?;
    let python = guest.join("usr/bin/python3");
    let site = install(target, wheel, &folder, &version(&python)?)?;

    let mut words = board.words().into_iter().chain([python]);
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).args(TESTS).args(arguments);
    command.current_dir(root().join(SOURCE)).env_clear().env("PYTHONPATH", site).env("HOME", &folder);
    run(&mut command)
}

/// Such as 3.11, from what the program is a link to.
fn version(python: &Path) -> Result<String, Failure> {
    let file = fs::read_link(python).unwrap_or_default().display().to_string();
    let version = file.strip_prefix("python").filter(|version| version.starts_with("3."));
    version
        .map(str::to_owned)
        .ok_or_else(|| Failure(format!("{} is no link to a Python 3, but '{file}'", python.display())))
}

/// Puts the wheel into a folder with what it depends on, and what its tests do. pip refuses what is not for the target.
fn install(target: Target, wheel: &Path, folder: &Path, version: &str) -> Result<PathBuf, Failure> {
    let site = folder.join("site");
    let _ = fs::remove_dir_all(&site);
    let platforms = PLATFORMS.map(|platform| format!("{platform}_{}", target.name()));
    pip_install_for(check::PACKAGES, &site, &platforms, version)?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"]);
    pip.args(["--only-binary=:all:", "--python-version", version, "--platform"]);
    pip.arg(format!("{}_{}", platform(), target.name())).arg("--target").arg(&site).arg(wheel);
    capture(&mut pip).map(|_| site)
}
