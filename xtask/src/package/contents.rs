//! What a package consists of, laid out in a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, capture, cargo, root};
use crate::cross::Target;
use crate::native;

use super::compile::Compiled;
use super::wheels::Wheels;
use super::{failed, folder, licences};

/// The release, as the workspace has it.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Lays everything out anew, and returns the folder, whose name says what it is.
pub(super) fn gather(target: Target, compiled: &Compiled, wheels: &Wheels) -> Result<PathBuf, Failure> {
    let unpacked = folder().join(format!("millstream-{VERSION}-{}-linux", target.name()));
    let _ = fs::remove_dir_all(&unpacked);
    copy(&compiled.program, &unpacked.join("bin/millstream"))?;
    copy(&compiled.library, &unpacked.join("lib/libmillstream.so"))?;
    for_c(&unpacked)?;
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
    copy(&licences::page(target)?, &documents.join("licences/crates.html"))?;
    Ok(unpacked)
}

/// What compilers of C need beside the library: its header, and where all is, for pkg-config. Examples show how it is used.
fn for_c(unpacked: &Path) -> Result<(), Failure> {
    let source = root().join("crates/c-api");
    copy(&source.join("include"), &unpacked.join("include"))?;
    copy(&source.join("examples"), &unpacked.join("share/doc/millstream/examples"))?;
    let description = unpacked.join("lib/pkgconfig/millstream.pc");
    let folder = description.parent().unwrap_or(unpacked);
    let write = fs::create_dir_all(folder).and_then(|()| fs::write(&description, pkg_config()));
    write.map_err(|error| failed(&description, &error))
}

/// Where the package is does not matter: all is named from the folder of this file.
fn pkg_config() -> String {
    format!(
        "prefix=${{pcfiledir}}/../..\nName: millstream\n\
         Description: runs neural networks on all of a board's processors at once\nVersion: {VERSION}\n\
         Libs: -L${{prefix}}/lib -lmillstream\nCflags: -I${{prefix}}/include\n"
    )
}

/// Manual pages and completions of shells, which the program writes itself; one that does not run here is stood in for by one that does.
fn manual(target: Target, program: &Path, share: &Path) -> Result<(), Failure> {
    let mut command = match target.is_own() {
        true => Command::new(program),
        false => {
            let mut command = cargo();
            command.args(["run", "--release", "--quiet", "--package", "millstream", "--"]);
            command.envs(native::environment(native::prepare()?));
            command
        }
    };
    // Set but empty, for cargo would set it anew: pages name the command as it is called where it is installed.
    capture(command.arg("manual").arg(share).env("MILLSTREAM_COMMAND", "")).map(drop)
}

/// Copies a file, or a folder with all that is in it.
fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    if from.is_dir() {
        let entries = fs::read_dir(from).map_err(|error| failed(from, &error))?;
        return entries.filter_map(Result::ok).try_for_each(|entry| copy(&entry.path(), &to.join(entry.file_name())));
    }
    let parent = to.parent().unwrap_or(to);
    fs::create_dir_all(parent).map_err(|error| failed(parent, &error))?;
    fs::copy(from, to).map(drop).map_err(|error| failed(from, &error))
}
