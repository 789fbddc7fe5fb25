//! Projects outside this workspace that depend on its crates by path, as users' projects do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, cargo, crates, package, run};
use crate::files::failed;
use crate::folders::{root, target_folder};
use crate::native;
use crate::scratch::Scratch;

/// How a program has the library alone.
const WITHOUT_COMMAND: &str = ", default-features = false, features = [\"highs\", \"openvino\", \"ort\", \"wgpu\"]";

/// Builds and runs both projects.
pub(crate) fn outside() -> Result<(), Failure> {
    let library = native::prepare()?;
    // Where the workspace's own configuration of cargo does not reach.
    let outside = Scratch::new("outside")?;
    // The library's example needs the front door and nothing else, and not what only the command does.
    let program = example("crates/cli/examples/stream.rs")?;
    let front =
        project(outside.path(), "front-door", &dependency("millstream", "crates/cli", WITHOUT_COMMAND), &program)?;
    let mut run_front = build_in(&front, &target_folder());
    run_front.args(["run", "--release", "--quiet"]).args(quickly_compiled()?).envs(native::environment(library));
    run(run_front.env("LIBCLANG_PATH", tool("libclang/clang/native")).envs(solver()))?;

    let crates = ["board", "cost", "graph", "partition"];
    let others: String =
        crates.iter().map(|name| dependency(&format!("millstream-{name}"), &format!("crates/{name}"), "")).collect();
    let search = dependency("millstream-pipeline", "crates/pipeline", ", default-features = false");
    let program = example("crates/pipeline/examples/own_costs.rs")?;
    let search = project(outside.path(), "search", &format!("{others}{search}"), &program)?;
    // In a target folder of its own, where nothing native was ever built.
    let target = target_folder().join("millstream/outside");
    run(build_in(&search, &target).args(["run", "--release", "--quiet"]).env("PATH", path_without_cpp(outside.path())?))
}

/// Has our own crates compiled without optimisation: their features are others than in the tests, so all of them are
/// compiled anew.
fn quickly_compiled() -> Result<Vec<String>, Failure> {
    let without = |folder: &String| format!("profile.release.package.{}.opt-level=0", package(folder));
    Ok(crates()?.iter().flat_map(|folder| ["--config".to_owned(), without(folder)]).collect())
}

/// What a user outside the repository says to have HiGHS found, or compiled where there is no library.
fn solver() -> [(&'static str, PathBuf); 3] {
    [
        ("HOST_PKG_CONFIG", tool("highs/pkg-config")),
        ("HOST_PKG_CONFIG_PATH", tool("highs")),
        ("CMAKE", tool("cmake/cmake/data/bin/cmake")),
    ]
}

fn tool(path: &str) -> PathBuf {
    root().join("target/millstream").join(path)
}

fn example(path: &str) -> Result<String, Failure> {
    let path = root().join(path);
    fs::read_to_string(&path).map_err(|error| failed(&path, &error))
}

fn dependency(package: &str, folder: &str, more: &str) -> String {
    format!("{package} = {{ path = {:?}{more} }}\n", root().join(folder))
}

/// A project with one program, and with the workspace's profile and versions, so that what is compiled already is used
/// again.
fn project(outside: &Path, name: &str, dependencies: &str, program: &str) -> Result<PathBuf, Failure> {
    let folder = outside.join(name);
    let source = folder.join("src");
    fs::create_dir_all(&source).map_err(|error| failed(&source, &error))?;
    let workspace = root().join("Cargo.toml");
    let manifest = fs::read_to_string(&workspace).map_err(|error| failed(&workspace, &error))?;
    let profile = manifest.find("[profile.release]").map_or("", |place| &manifest[place..]);
    let manifest = format!(
        "[package]\nname = \"outside-{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n[dependencies]\n{dependencies}\n[workspace]\n\n{profile}"
    );
    for (file, text) in [(folder.join("Cargo.toml"), manifest.as_str()), (source.join("main.rs"), program)] {
        fs::write(&file, text).map_err(|error| failed(&file, &error))?;
    }
    let lock = folder.join("Cargo.lock");
    fs::copy(root().join("Cargo.lock"), &lock).map_err(|error| failed(&lock, &error))?;
    Ok(folder)
}

fn build_in(folder: &Path, target: &Path) -> Command {
    let mut command = cargo();
    command.current_dir(folder).env("CARGO_TARGET_DIR", target);
    // This program itself runs with the workspace's configuration.
    for variable in ["CMAKE", "LIBCLANG_PATH", "HOST_PKG_CONFIG", "HOST_PKG_CONFIG_PATH", "MILLSTREAM_NETWORKS"] {
        command.env_remove(variable);
    }
    command
}

/// A folder for `PATH` with what Rust needs, a linker, and no compiler for C++.
fn path_without_cpp(outside: &Path) -> Result<PathBuf, Failure> {
    let folder = outside.join("bin");
    fs::create_dir_all(&folder).map_err(|error| failed(&folder, &error))?;
    let paths = std::env::var_os("PATH").unwrap_or_default();
    for program in ["cargo", "rustc", "rustup", "cc", "ld"] {
        let found = std::env::split_paths(&paths).map(|folder| folder.join(program)).find(|path| path.is_file());
        if let Some(found) = found {
            link(&found, &folder.join(program))?;
        }
    }
    Ok(folder)
}

#[cfg(unix)]
fn link(from: &Path, to: &Path) -> Result<(), Failure> {
    std::os::unix::fs::symlink(from, to).map_err(|error| failed(to, &error))
}

#[cfg(not(unix))]
fn link(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::copy(from, to).map(drop).map_err(|error| failed(to, &error))
}
