//! Uses a package as somebody would who has nothing else: unpacked into an empty folder, without any variable that
//! names a library. For another architecture it runs in QEMU, with the system files that were recorded of a board of
//! that architecture; for this one also with nothing but the C library of Debian 11. A Debian package is used as it
//! lies unpacked, from where the system looks for commands.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, capture};
use crate::cross::{Cores, EmulatedBoard, OldSystem, RECORDED, Target};
use crate::files::{below, copy, failed};
use crate::openvino;
use crate::scratch::Scratch;

use super::elsewhere::{self, FRAME};
use super::installed::{Installed, NETWORK, home};
use super::{archive, contents, deb, deb_records, dpkg, layout};

/// The clusters of the recorded board: how they are called, what their cores are, and which.
const CLUSTERS: [[&str; 3]; 3] =
    [["B", "Cortex-A76", "4 5"], ["m", "Cortex-A76", "6 7"], ["s", "Cortex-A55", "0 1 2 3"]];

/// How programs of a target are started here.
#[derive(Default)]
struct Emulators {
    /// With all cores of the board, whatever this computer has.
    all: Vec<PathBuf>,
    /// With a core of each cluster.
    few: Vec<PathBuf>,
    /// On this computer's cores.
    plain: Vec<PathBuf>,
}

/// Unpacks and uses a package, and the Debian package of the same if there is one; fails with what went wrong.
pub(super) fn check(target: Target, tarball: &Path, debian: Option<&Path>) -> Result<(), Failure> {
    archive::check(tarball)?;
    let scratch = Scratch::new("package")?;
    let folder = scratch.path();
    let emulators = Emulators::new(target, folder)?;
    let network = network(target, folder)?;
    let installed = Installed::unpack(tarball, folder, network.clone(), emulators.few.clone())?;
    contents::check(folder)?;
    check_board(target, &installed, &emulators)?;
    installed.measure_and_run()?;
    if !target.is_own() {
        let here = folder.join("home/here");
        elsewhere::results_of_here(&network, &here)?;
        installed.succeed(&["run", "--input", &format!("here/{FRAME}"), "--expect", "here/results"])?;
        elsewhere::test(target, &emulators.plain)?;
    }

    check_built_in(&installed)?;
    installed.for_c(target, &[("PKG_CONFIG_PATH", folder.join("lib/pkgconfig"))], None)?;
    on_older_system(target, &installed, folder)?;
    with_openvino(target, &installed)?;
    without_library(&installed)?;
    eprintln!("{} is sound", tarball.display());
    debian.map_or(Ok(()), |deb| check_deb(target, deb, &folder.join("debian"), network, &emulators))
}

/// What is measured: a network that is small enough for an emulated processor where there is one.
fn network(target: Target, folder: &Path) -> Result<String, Failure> {
    if target.is_own() { Ok(NETWORK.to_owned()) } else { elsewhere::write_network(&folder.join("small.onnx")) }
}

impl Emulators {
    fn new(target: Target, folder: &Path) -> Result<Self, Failure> {
        if target.is_own() {
            return Ok(Self::default());
        }
        let board = EmulatedBoard::new(target, &folder.join("guest"), &[], &[])?;
        let with = |cores| board.words_with(cores, target);
        Ok(Self { all: with(Cores::All)?, few: with(Cores::OneOfEachCluster)?, plain: board.words() })
    }
}

/// The emulated board is what was recorded, with all its clusters.
fn check_board(target: Target, installed: &Installed, emulators: &Emulators) -> Result<(), Failure> {
    let told = installed.started_by(&emulators.all).succeed(&["board"])?;
    let is_board = || told.contains(RECORDED.1) && CLUSTERS.into_iter().eq(rows(&told).take(CLUSTERS.len()));
    if target.is_own() || is_board() {
        Ok(())
    } else {
        Err(Failure(format!("the emulated board is no {} with clusters {CLUSTERS:?}:\n{told}", RECORDED.1)))
    }
}

/// The first three cells of a table's rows that have a first one, without the head.
fn rows(table: &str) -> impl Iterator<Item = [&str; 3]> {
    let is_row = |row: &[&str; 3]| !row[0].is_empty() && !row[0].starts_with('-');
    table.lines().filter_map(cells).filter(is_row).skip(1)
}

fn cells(line: &str) -> Option<[&str; 3]> {
    let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
    Some([cells.next()?, cells.next()?, cells.next()?])
}

/// What is built in needs no files: a board by its name, and what networks cost there.
fn check_built_in(installed: &Installed) -> Result<(), Failure> {
    let (board, name) = RECORDED;
    let absent = ["--board", board, "--cost", board];
    let boards = installed.succeed(&["boards"])?;
    if !rows(&boards).any(|row| row == [board, name, "2 x B, 2 x m, 4 x s"]) {
        return Err(Failure(format!("`boards` has no {name} with all its clusters:\n{boards}")));
    }
    let schedule =
        installed.succeed(&[&["schedule", "--model", NETWORK, "-o", "elsewhere.json"], &absent[..]].concat())?;
    if !schedule.contains(name) || !clusters_of(&schedule).is_superset(&["B", "m", "s"].into()) {
        return Err(Failure(format!("the schedule is for no {name} with all its clusters:\n{schedule}")));
    }
    let simulated = installed.succeed(&[&["simulate", "--schedule", "elsewhere.json"], &absent[..]].concat())?;
    if simulated.contains("frames/s simulated") {
        Ok(())
    } else {
        Err(Failure(format!("`simulate` tells nothing of what it simulated:\n{simulated}")))
    }
}

/// The clusters among the parts that stages run on: a letter and how many cores, such as `B2`.
fn clusters_of(schedule: &str) -> BTreeSet<&str> {
    let words = schedule.split(|character: char| !character.is_alphanumeric());
    let is_count = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    words
        .filter_map(|word| word.split_at_checked(1))
        .filter(|(_, count)| is_count(count))
        .map(|(name, _)| name)
        .filter(|name| name.starts_with(char::is_alphabetic))
        .collect()
}

/// Measures, plans and streams where there is nothing but an older C library.
fn on_older_system(target: Target, installed: &Installed, folder: &Path) -> Result<(), Failure> {
    if !target.is_own() {
        return Ok(());
    }
    let emulator = match OldSystem::with(folder)? {
        Ok(system) => system.words(),
        Err(reason) => {
            eprintln!("left out: the C library of Debian 11, as {reason}");
            return Ok(());
        }
    };
    eprintln!("with the C library of Debian 11:");
    let there = installed.started_by(&emulator);
    there.succeed(&["board"])?;
    there.measure_and_run()
}

/// With the other engine's libraries in `lib`, as its Python package lays them out, the program computes with that.
fn with_openvino(target: Target, installed: &Installed) -> Result<(), Failure> {
    let Some(libraries) = openvino::library_folder().filter(|_| target.is_own()) else {
        eprintln!("left out: OpenVINO in lib, which is not here for {}", target.name());
        return Ok(());
    };
    let own = installed.package.join("lib/openvino");
    copy(&libraries, &own.join("libs"))?;
    // What was planned without it stays as it was.
    let elsewhere = Installed { home: home(&installed.home)?, ..installed.clone() };
    elsewhere.measure_and_run_with(&["--engine", "openvino"])?;
    fs::remove_dir_all(&own).map_err(|error| failed(&own, &error))
}

/// Without the library of its engine, the program says where it belongs.
fn without_library(installed: &Installed) -> Result<(), Failure> {
    let library = installed.package.join("lib/libonnxruntime.so");
    fs::remove_file(&library).map_err(|error| failed(&library, &error))?;
    let package = fs::canonicalize(&installed.package).map_err(|error| failed(&installed.package, &error))?;
    let place = package.join("lib/libonnxruntime.so").display().to_string();
    let message = installed.fail(&["run", "--frames", "4"])?;
    if message.contains(&place) && message.contains("ORT_DYLIB_PATH") {
        Ok(())
    } else {
        Err(Failure(format!("without a library, nothing names {place}:\n{message}")))
    }
}

/// Installs a Debian package into a folder, and uses what a system has of it: the command, all links, and what
/// compilers look for.
fn check_deb(target: Target, file: &Path, root: &Path, network: String, emulators: &Emulators) -> Result<(), Failure> {
    archive::check(file)?;
    let fields = capture(Command::new("dpkg-deb").arg("--field").arg(file))?;
    let version = format!("Version: {}", layout::VERSION);
    for field in [version, format!("Architecture: {}", target.debian()), "Installed-Size: ".to_owned()] {
        // What a size comes to differs from build to build.
        if !fields.lines().any(|line| line == field || field.ends_with(' ') && line.starts_with(&field)) {
            return Err(Failure(format!("{} does not say '{field}':\n{fields}", file.display())));
        }
    }
    dpkg::check_dependencies(target, &fields, Scratch::new("dependencies")?.path())?;
    dpkg::install(target, file, root)?;
    deb_records::check(file, root)?;
    let links = links(root)?;
    if let Some(name) = deb::expected_links().into_iter().find(|name| !links.contains(&root.join(name))) {
        return Err(Failure(format!("{} has no link {name}", file.display())));
    }

    let package = root.join(layout::PLACE);
    contents::check(&package)?;
    let installed = Installed {
        package,
        program: root.join("usr/bin/millstream"),
        home: home(root)?,
        network,
        emulator: emulators.few.clone(),
    };
    check_board(target, &installed, emulators)?;
    installed.measure_and_run()?;
    // As in a system that one compiles for, whose files are not where they will be.
    let description = root.join(deb::libraries(target)).join("pkgconfig");
    let variables = [("PKG_CONFIG_LIBDIR", description), ("PKG_CONFIG_SYSROOT_DIR", root.to_owned())];
    installed.for_c(target, &variables, Some(&deb::run_path()))?;
    eprintln!("{} is sound", file.display());
    Ok(())
}

/// All links below a folder; fails on one that leads nowhere, or out of the folder.
fn links(root: &Path) -> Result<BTreeSet<PathBuf>, Failure> {
    let links: BTreeSet<PathBuf> = below(root)?.into_iter().filter(|path| path.is_symlink()).collect();
    let real = |path: &Path| fs::canonicalize(path).map_err(|error| failed(path, &error));
    let root = real(root)?;
    for link in &links {
        if !real(link)?.starts_with(&root) {
            return Err(Failure(format!("the link {} leads out of the package", link.display())));
        }
    }
    Ok(links)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_read_from_tables() {
        let table = "Radxa\n| cluster | core type  | cores |\n|---|---|---|\n| B | Cortex-A76 | 4 5 | 1024 |\n|  | | more |\n\
                     | m       | Cortex-A76 | 6 7     |\n| s       | Cortex-A55 | 0 1 2 3 |\n";
        assert!(rows(table).eq(CLUSTERS));
        assert!(!rows(&table.replace("4 5", "4")).eq(CLUSTERS));
        let schedule = "a front\n| (m1|m1|s4)-B2 |  246.2 |\n| 1 | s1 (core 0) | Conv_4 .. X3 |";
        assert_eq!(clusters_of(&schedule.replace("X3", "")), ["B", "m", "s"].into());
        assert_eq!(clusters_of("| s2-s2 | 1.5 |"), ["s"].into());
    }

    #[test]
    fn links_lead_to_something_within() {
        let told = || -> Result<Vec<String>, Failure> {
            let scratch = Scratch::new("links-test")?;
            let root = scratch.path();
            let link = |to: &str| {
                let place = root.join("sub/link");
                let _ = fs::remove_file(&place);
                let made = fs::create_dir_all(root.join("sub")).and_then(|()| std::os::unix::fs::symlink(to, &place));
                made.map_err(|error| failed(&place, &error))?;
                Ok::<_, Failure>(links(root).map_or_else(|Failure(message)| message, |found| found.len().to_string()))
            };
            fs::write(root.join("file"), "text").map_err(|error| failed(root, &error))?;
            Ok(vec![link("../file")?, link("../none")?, link("/usr")?])
        };
        let told = told().unwrap_or_else(|Failure(message)| vec![message]);
        assert!(told[0] == "1" && told[1].contains("No such file") && told[2].contains("leads out"), "{told:?}");
    }
}
