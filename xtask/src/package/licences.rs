//! The licences of what is compiled into the program and the libraries.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::command::{Failure, capture, crates};
use crate::cross::{Target, zig};
use crate::files::{failed, read};
use crate::folders::root;
use crate::tools;

use super::layout::package_folder;

/// What decides about the page, beside the manifests of crates and the version of what gathers it.
const SOURCES: [&str; 4] = ["Cargo.lock", "Cargo.toml", CONFIG, TEMPLATE];
const CONFIG: &str = "xtask/about/about.toml";
const TEMPLATE: &str = "xtask/about/page.hbs";

/// Files and folders with the licences of crates, of Rust's own library and of what Zig links in, with the names that
/// they get in the package. What the library for C consists of, the program does as well.
pub(super) fn all(target: Target) -> Result<Vec<(&'static str, PathBuf)>, Failure> {
    let zig = zig::zig()?;
    Ok(vec![
        ("crates.html", page(target, "cli")?),
        ("rust", of_rust(target)?),
        ("zig/LICENSE", zig.join("LICENSE")),
        ("zig/libunwind.txt", zig.join("lib/libunwind/LICENSE.TXT")),
        ("zig/glibc", zig.join("lib/libc/glibc/LICENSES")),
    ])
}

/// A page with the text of every licence of what a crate, by its folder, consists of, and what it is for; minutes of
/// work, so it is kept while nothing is compiled that is new. Fails on a licence that is not among those of
/// `xtask/about/about.toml`.
pub(crate) fn page(target: Target, name: &str) -> Result<PathBuf, Failure> {
    let own = package_folder().join(target.name());
    fs::create_dir_all(&own).map_err(|error| failed(&own, &error))?;
    let (page, stamp) = (own.join(format!("{name}.html")), own.join(format!("{name}.stamp")));
    let sources = sources()?;
    if page.is_file() && fs::read_to_string(&stamp).is_ok_and(|known| known == sources) {
        return Ok(page);
    }
    eprintln!("gathering licences of {name}, which takes minutes ...");
    let mut about = tools::about()?;
    about.args(["generate", "--offline", "--fail", "--locked", "--target", &target.triple()]);
    about.args(["--config", CONFIG, "--manifest-path", &format!("crates/{name}/Cargo.toml"), TEMPLATE]);
    let text = capture(&mut about)?;
    fs::write(&page, text).map_err(|error| failed(&page, &error))?;
    fs::write(&stamp, sources).map_err(|error| failed(&stamp, &error))?;
    Ok(page)
}

/// All that the page is made from: what a manifest turns on is compiled, too.
fn sources() -> Result<String, Failure> {
    let manifests = crates()?.into_iter().map(|name| format!("crates/{name}/Cargo.toml"));
    let names = SOURCES.into_iter().map(str::to_owned).chain(manifests);
    let texts = names.map(|name| read(&root().join(name))).collect::<Result<Vec<_>, _>>()?;
    Ok(format!("cargo-about {}\n{}", tools::CARGO_ABOUT, texts.concat()))
}

/// A folder with what the compiler's makers say of its library, which is part of all that is compiled: of the compiler
/// that is used for a target.
pub(crate) fn of_rust(target: Target) -> Result<PathBuf, Failure> {
    let variables = zig::variables(target)?;
    let chosen = variables.iter().find(|(name, _)| name == "RUSTC").map(|(_, path)| path.as_os_str());
    let mut rustc = Command::new(chosen.unwrap_or(OsStr::new("rustc")));
    rustc.args(["--print", "sysroot"]).current_dir(root()).envs(variables.iter().map(|(name, value)| (name, value)));
    let sysroot = PathBuf::from(capture(&mut rustc)?.trim());
    let own = package_folder().join(target.name()).join("rust");
    let _ = fs::remove_dir_all(&own);
    fs::create_dir_all(&own).map_err(|error| failed(&own, &error))?;
    // As rustup lays it out, and as Debian does.
    let places = [
        "share/doc/rust/COPYRIGHT-library.html",
        "share/doc/rust/COPYRIGHT",
        "share/doc/libstd-rust-web-dev/copyright",
    ];
    let found = places.iter().map(|place| sysroot.join(place)).find(|file| file.is_file());
    let file = found.ok_or_else(|| Failure(format!("{} has no licence of Rust's library", sysroot.display())))?;
    let to = own.join(file.file_name().unwrap_or_default());
    fs::copy(&file, &to).map(|_| own).map_err(|error| failed(&file, &error))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::command::cargo;

    /// The packages of others that one consists of.
    fn parts(package: &str) -> BTreeSet<String> {
        let mut tree = cargo();
        tree.args(["tree", "--offline", "--locked", "--edges", "normal", "--prefix", "none", "--package", package]);
        let told = capture(&mut tree).unwrap_or_else(|Failure(message)| message);
        let lines = told.lines().filter(|line| !line.contains("(/"));
        lines.map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
    }

    #[test]
    fn whatever_decides_about_the_page_is_looked_at() {
        let sources = sources().unwrap_or_else(|Failure(message)| message);
        let parts = [
            tools::CARGO_ABOUT,
            "crate-type = [\"cdylib\", \"staticlib\"]",
            "[workspace.dependencies]",
            "accepted = [",
        ];
        for part in parts {
            assert!(sources.contains(part), "{part}");
        }
    }

    #[test]
    fn the_page_of_the_program_has_what_the_library_for_c_consists_of() {
        let (library, program) = (parts("millstream-c-api"), parts("millstream"));
        assert!(library.len() > 100, "{library:?}");
        assert_eq!(library.difference(&program).collect::<Vec<_>>(), Vec::<&String>::new());
    }
}
