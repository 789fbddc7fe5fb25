//! Uses a package as somebody would who has nothing else: unpacked into an empty folder, without any variable that names a library. For
//! another architecture it runs in QEMU, with the system files that were recorded of a board of that architecture; for this one also
//! with nothing but the C library of Debian 11.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, capture};
use crate::cross::{EmulatedBoard, OldSystem, RECORDED, Target};
use crate::solver;

use super::elsewhere::{self, FRAME};
use super::failed;

/// A network that is small enough for an emulated processor.
const NETWORK: &str = "zoo:tiny-darknet";

/// A package in a folder of its own.
struct Installed {
    folder: PathBuf,
    /// What the program is started with: nothing, or QEMU.
    emulator: Vec<PathBuf>,
}

/// Unpacks and uses a package; fails with what went wrong.
pub(super) fn check(target: Target, tarball: &Path) -> Result<(), Failure> {
    let installed = Installed::unpack(target, tarball)?;
    let told = installed.succeed(&["board"])?;
    // It has those of its cores that this computer has as well; that all three clusters are seen is tested with the crate `machine`.
    if !target.is_own() && !told.contains(RECORDED.1) {
        return Err(Failure(format!("the emulated board is no {}:\n{told}", RECORDED.1)));
    }
    installed.succeed(&["profile", "--no-sweep", "--model", NETWORK, "--budget", "1s"])?;
    installed.succeed(&["schedule", "--model", NETWORK, "--profile", "profile.json"])?;
    installed.succeed(&["run", "--frames", "4"])?;
    if !target.is_own() {
        let here = installed.folder.join("home/here");
        elsewhere::results_of_here(NETWORK, &here)?;
        installed.succeed(&["run", "--input", &format!("here/{FRAME}"), "--expect", "here/results"])?;
        elsewhere::test(target, &installed.emulator)?;
    }

    // What is built in needs no files.
    let (board, _) = RECORDED;
    let absent = ["--board", board, "--cost", board];
    installed.succeed(&[&["schedule", "--model", NETWORK, "-o", "elsewhere.json"], &absent[..]].concat())?;
    installed.succeed(&[&["simulate", "--schedule", "elsewhere.json"], &absent[..]].concat())?;

    installed.for_c(target)?;
    installed.on_older_system(target)?;
    installed.without_library()?;
    eprintln!("{} is sound", tarball.display());
    fs::remove_dir_all(&installed.folder).map_err(|error| failed(&installed.folder, &error))
}

impl Installed {
    fn unpack(target: Target, tarball: &Path) -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(format!("millstream-package-{}", std::process::id()));
        fs::create_dir_all(folder.join("home")).map_err(|error| failed(&folder, &error))?;
        let mut tar = Command::new("tar");
        tar.arg("--extract").arg("--file").arg(tarball).arg("--directory").arg(&folder);
        capture(tar.arg("--strip-components=1"))?;
        // A link, as in /usr/bin: libraries stand beside the program itself.
        let link = folder.join("home/millstream");
        std::os::unix::fs::symlink("../bin/millstream", &link).map_err(|error| failed(&link, &error))?;
        let emulator = match target.is_own() {
            true => Vec::new(),
            false => EmulatedBoard::new(target, &folder.join("guest"), &[], &[])?.words(),
        };
        Ok(Self { folder, emulator })
    }

    /// The command, started by its link in an environment that knows nothing of libraries.
    fn command(&self, arguments: &[&str]) -> Command {
        let home = self.folder.join("home");
        let words = self.emulator.iter().cloned().chain([home.join("millstream")]);
        let words: Vec<PathBuf> = words.chain(arguments.iter().map(PathBuf::from)).collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(&home).env_clear();
        command.env("HOME", &home).env("XDG_CACHE_HOME", home.join("cache")).env("XDG_RUNTIME_DIR", &home);
        command
    }

    fn succeed(&self, arguments: &[&str]) -> Result<String, Failure> {
        eprintln!("millstream {}", arguments.join(" "));
        capture(&mut self.command(arguments))
    }

    /// Where programs of the package run, so do those that are compiled with it: as pkg-config tells, by a compiler that knows nothing else.
    fn for_c(&self, target: Target) -> Result<(), Failure> {
        if !target.is_own() {
            return Ok(());
        }
        let mut pkg_config = Command::new(solver::pkg_config());
        pkg_config.args(["--cflags", "--libs", "millstream"]);
        let flags = capture(pkg_config.env("PKG_CONFIG_PATH", self.folder.join("lib/pkgconfig")))?;
        let (home, library) = (self.folder.join("home"), self.folder.join("lib"));
        let (program, input) = (home.join("run"), home.join("input"));
        let mut compile = Command::new("cc");
        compile.arg(self.folder.join("share/doc/millstream/examples/run.c")).args(flags.split_whitespace());
        capture(compile.arg(format!("-Wl,-rpath,{}", library.display())).arg("-o").arg(&program))?;
        // A frame of the network, all of it zeros.
        fs::write(&input, vec![0; 3 * 224 * 224 * 4]).map_err(|error| failed(&input, &error))?;
        eprintln!("a program in C, {}", flags.trim());
        let mut run = Command::new(&program);
        run.args([NETWORK, "input", "output", "{ \"profile_seconds\": 1 }"]).current_dir(&home).env_clear();
        capture(run.env("HOME", &home).env("XDG_CACHE_HOME", home.join("cache")).env("XDG_RUNTIME_DIR", &home))?;
        Ok(())
    }

    /// Measures, plans and streams where there is nothing but an older C library.
    fn on_older_system(&self, target: Target) -> Result<(), Failure> {
        if !target.is_own() {
            return Ok(());
        }
        let emulator = match OldSystem::with(&self.folder)? {
            Ok(system) => system.words(),
            Err(reason) => {
                eprintln!("left out: the C library of Debian 11, as {reason}");
                return Ok(());
            }
        };
        eprintln!("with the C library of Debian 11:");
        let there = Self { folder: self.folder.clone(), emulator };
        there.succeed(&["board"])?;
        there.succeed(&["profile", "--no-sweep", "--model", NETWORK, "--budget", "1s"])?;
        there.succeed(&["schedule", "--model", NETWORK, "--profile", "profile.json"])?;
        there.succeed(&["run", "--frames", "4"]).map(drop)
    }

    /// Without the library of its engine, the program says where it belongs.
    fn without_library(&self) -> Result<(), Failure> {
        let library = self.folder.join("lib/libonnxruntime.so");
        fs::remove_file(&library).map_err(|error| failed(&library, &error))?;
        let folder = fs::canonicalize(&self.folder).map_err(|error| failed(&self.folder, &error))?;
        let place = folder.join("lib/libonnxruntime.so").display().to_string();
        match capture(&mut self.command(&["run", "--frames", "4"])) {
            Err(Failure(message)) if message.contains(&place) && message.contains("ORT_DYLIB_PATH") => Ok(()),
            Err(Failure(message)) => Err(Failure(format!("without a library, nothing names {place}:\n{message}"))),
            Ok(told) => Err(Failure(format!("without {place}, frames ran all the same:\n{told}"))),
        }
    }
}
