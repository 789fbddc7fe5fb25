//! What a package consists of, laid out in a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, capture, cargo};
use crate::cross::Target;
use crate::files::{copy, failed};
use crate::folders::root;
use crate::native;

use super::compile::Compiled;
use super::layout::{LIBRARY, VERSION, package_folder, soname};
use super::licences;
use super::wheels::Wheels;

/// Lays everything out anew, and returns the folder, whose name says what it is.
pub(super) fn gather(target: Target, compiled: &Compiled, wheels: &Wheels) -> Result<PathBuf, Failure> {
    let unpacked = package_folder().join(format!("millstream-{VERSION}-{}-linux", target.name()));
    let _ = fs::remove_dir_all(&unpacked);
    copy(&compiled.program, &unpacked.join("bin/millstream"))?;
    for_c(&compiled.library, &unpacked)?;
    copy(&wheels.onnx_runtime, &unpacked.join("lib/libonnxruntime.so"))?;
    copy(&wheels.highs, &unpacked.join("lib/libhighs.so.1"))?;
    let share = unpacked.join("share");
    copy(&root().join("fixtures/schemas"), &share.join("millstream/schemas"))?;
    manual(target, &unpacked.join("bin/millstream"), &share)?;
    let documents = share.join("doc/millstream");
    for name in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        copy(&root().join(name), &documents.join(name))?;
    }
    for (name, file) in &wheels.licences {
        copy(file, &documents.join("licences").join(name))?;
    }
    for (name, file) in licences::all(target)? {
        copy(&file, &documents.join("licences").join(name))?;
    }
    Ok(unpacked)
}

/// What programs in C need: the library by the name that they look for it by, and as linkers do; its header, and where
/// all is, for pkg-config. Examples show how it is used.
fn for_c(library: &Path, unpacked: &Path) -> Result<(), Failure> {
    let libraries = unpacked.join("lib");
    copy(library, &libraries.join(soname()))?;
    let link = libraries.join(LIBRARY);
    std::os::unix::fs::symlink(soname(), &link).map_err(|error| failed(&link, &error))?;
    let source = root().join("crates/c-api");
    copy(&source.join("include"), &unpacked.join("include"))?;
    copy(&source.join("examples"), &unpacked.join("share/doc/millstream/examples"))?;
    let description = unpacked.join("lib/pkgconfig/millstream.pc");
    let folder = description.parent().unwrap_or(unpacked);
    // Where the package is does not matter: all is named from the folder of this file.
    let text = pkg_config("${pcfiledir}/../..", "");
    let write = fs::create_dir_all(folder).and_then(|()| fs::write(&description, text));
    write.map_err(|error| failed(&description, &error))
}

/// What pkg-config reads of a package in the folder `prefix`; programs are linked with `more` as well.
pub(super) fn pkg_config(prefix: &str, more: &str) -> String {
    format!(
        "prefix={prefix}\nName: millstream\n\
         Description: runs neural networks on all of a board's processors at once\nVersion: {VERSION}\n\
         Libs: -L${{prefix}}/lib -lmillstream{more}\nCflags: -I${{prefix}}/include\n"
    )
}

/// Manual pages and completions of shells, which the program writes itself; one that does not run here is stood in for
/// by one that does.
fn manual(target: Target, program: &Path, share: &Path) -> Result<(), Failure> {
    let mut command = if target.is_own() {
        Command::new(program)
    } else {
        let mut command = cargo();
        command.args(["run", "--release", "--quiet", "--package", "millstream", "--"]);
        command.envs(native::environment(native::prepare()?));
        command
    };
    // Set but empty, for cargo would set it anew: pages name the command as it is called where it is installed.
    capture(command.arg("manual").arg(share).env("MILLSTREAM_COMMAND", "")).map(drop)
}

/// Fails with what is missing of an unpacked package, or empty.
pub(super) fn check(unpacked: &Path) -> Result<(), Failure> {
    let is_there = |path: &str| {
        let path = unpacked.join(path);
        if path.is_dir() {
            fs::read_dir(&path).is_ok_and(|mut entries| entries.next().is_some())
        } else {
            fs::metadata(&path).is_ok_and(|file| file.len() > 0)
        }
    };
    let library = format!("lib/{}", soname());
    match EXPECTED.into_iter().chain([library.as_str()]).find(|path| !is_there(path)) {
        None => Ok(()),
        Some(path) => Err(Failure(format!("there is no {path} in {}, or it is empty", unpacked.display()))),
    }
}

/// Files that a package has, and folders in which something is.
pub(super) const EXPECTED: [&str; 25] = [
    "bin/millstream",
    "include/millstream.h",
    "lib/libhighs.so.1",
    "lib/libmillstream.so",
    "lib/libonnxruntime.so",
    "lib/pkgconfig/millstream.pc",
    "share/bash-completion/completions/millstream.bash",
    "share/doc/millstream/CHANGELOG.md",
    "share/doc/millstream/LICENSE-APACHE",
    "share/doc/millstream/LICENSE-MIT",
    "share/doc/millstream/README.md",
    "share/doc/millstream/examples/run.c",
    "share/doc/millstream/licences/crates.html",
    "share/doc/millstream/licences/highs",
    "share/doc/millstream/licences/onnxruntime/LICENSE",
    "share/doc/millstream/licences/onnxruntime/ThirdPartyNotices.txt",
    "share/doc/millstream/licences/rust",
    "share/doc/millstream/licences/zig/LICENSE",
    "share/doc/millstream/licences/zig/libunwind.txt",
    "share/doc/millstream/reference/commands.md",
    "share/fish/vendor_completions.d/millstream.fish",
    "share/man/man1/millstream.1",
    "share/man/man1/millstream-run.1",
    "share/millstream/schemas/board.schema.json",
    "share/zsh/site-functions/_millstream",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn what_is_missing_or_empty_is_named() {
        let fault = || -> Result<String, Failure> {
            let scratch = Scratch::new("contents-test")?;
            let write = |path: &str, text: &str| {
                let path = scratch.path().join(path);
                let parent = path.parent().unwrap_or(&path);
                fs::create_dir_all(parent).and_then(|()| fs::write(&path, text)).map_err(|error| failed(&path, &error))
            };
            let faults = || check(scratch.path()).err().map_or(String::new(), |Failure(message)| message);
            for path in EXPECTED {
                write(path, "text")?;
            }
            let without_library = faults();
            write(&format!("lib/{}", soname()), "text")?;
            let none = faults();
            write("share/man/man1/millstream.1", "")?;
            Ok([without_library, none, faults()].join("|"))
        };
        let told = fault().unwrap_or_else(|Failure(message)| message);
        let told: Vec<&str> = told.split('|').collect();
        assert!(told[0].contains("no lib/libmillstream.so.") && told[1].is_empty(), "{told:?}");
        assert!(told[2].contains("no share/man/man1/millstream.1"), "{told:?}");
    }
}
