//! A package as somebody has it who has nothing else: in a folder of its own, with the command started by a link to it, in an environment
//! that knows nothing of libraries.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, capture};
use crate::cross::Target;
use crate::solver;

use super::failed;

/// The smallest of the built-in networks.
pub(super) const NETWORK: &str = "zoo:tiny-darknet";

/// A package and how it is used.
#[derive(Clone)]
pub(super) struct Installed {
    /// The folder with `bin` and `lib`.
    pub(super) package: PathBuf,
    /// The link by which the command is started.
    pub(super) program: PathBuf,
    /// Where commands are called.
    pub(super) home: PathBuf,
    /// The network that is measured.
    pub(super) network: String,
    /// What programs are started with: nothing, or QEMU, or what enters an older system.
    pub(super) emulator: Vec<PathBuf>,
}

impl Installed {
    /// Unpacks an archive into a folder.
    pub(super) fn unpack(
        tarball: &Path,
        folder: &Path,
        network: String,
        emulator: Vec<PathBuf>,
    ) -> Result<Self, Failure> {
        let home = home(folder)?;
        let mut tar = Command::new("tar");
        tar.arg("--extract").arg("--file").arg(tarball).arg("--directory").arg(folder);
        capture(tar.arg("--strip-components=1"))?;
        // A link, as in /usr/bin: libraries stand beside the program itself.
        let program = home.join("millstream");
        std::os::unix::fs::symlink("../bin/millstream", &program).map_err(|error| failed(&program, &error))?;
        Ok(Self { package: folder.to_owned(), program, home, network, emulator })
    }

    /// The same with its programs started by other words.
    pub(super) fn started_by(&self, emulator: &[PathBuf]) -> Self {
        Self { emulator: emulator.to_owned(), ..self.clone() }
    }

    /// The command, started by its link in an environment that knows nothing of libraries.
    fn command(&self, arguments: &[&str]) -> Command {
        let words = self.emulator.iter().cloned().chain([self.program.clone()]);
        let words: Vec<PathBuf> = words.chain(arguments.iter().map(PathBuf::from)).collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(&self.home).env_clear();
        for (name, value) in self.variables() {
            command.env(name, value);
        }
        command
    }

    fn variables(&self) -> [(&'static str, PathBuf); 3] {
        let home = || self.home.clone();
        [("HOME", home()), ("XDG_CACHE_HOME", self.home.join("cache")), ("XDG_RUNTIME_DIR", home())]
    }

    pub(super) fn succeed(&self, arguments: &[&str]) -> Result<String, Failure> {
        eprintln!("millstream {}", arguments.join(" "));
        capture(&mut self.command(arguments))
    }

    /// What a command fails with, which must.
    pub(super) fn fail(&self, arguments: &[&str]) -> Result<String, Failure> {
        match capture(&mut self.command(arguments)) {
            Err(Failure(message)) => Ok(message),
            Ok(told) => Err(Failure(format!("`millstream {}` has succeeded:\n{told}", arguments.join(" ")))),
        }
    }

    /// Measures, plans and streams.
    pub(super) fn measure_and_run(&self) -> Result<(), Failure> {
        self.succeed(&["profile", "--no-sweep", "--model", &self.network, "--budget", "1s"])?;
        self.succeed(&["schedule", "--model", &self.network, "--profile", "profile.json"])?;
        self.succeed(&["run", "--frames", "4"]).map(drop)
    }

    /// Where programs of the package run, so do those that are compiled with it: as pkg-config tells, with these variables, by a compiler that
    /// knows nothing else.
    pub(super) fn for_c(&self, target: Target, variables: &[(&str, PathBuf)]) -> Result<(), Failure> {
        if !target.is_own() {
            return Ok(());
        }
        let mut pkg_config = Command::new(solver::pkg_config());
        pkg_config.args(["--cflags", "--libs", "millstream"]);
        let flags = capture(pkg_config.envs(variables.iter().map(|(name, value)| (name, value))))?;
        let (program, input) = (self.home.join("run"), self.home.join("input"));
        let mut compile = Command::new("cc");
        compile.arg(self.package.join("share/doc/millstream/examples/run.c")).args(flags.split_whitespace());
        let library = self.package.join("lib").display().to_string();
        capture(compile.arg(format!("-Wl,-rpath,{library}")).arg("-o").arg(&program))?;

        // A frame of the network, all of it zeros.
        fs::write(&input, vec![0; 3 * 224 * 224 * 4]).map_err(|error| failed(&input, &error))?;
        eprintln!("a program in C, {}", flags.trim());
        let mut run = Command::new(&program);
        run.args([NETWORK, "input", "output", "{ \"profile_seconds\": 1 }"]).current_dir(&self.home).env_clear();
        capture(run.envs(self.variables())).map(drop)
    }
}

/// The home of who uses what is in a folder.
pub(super) fn home(folder: &Path) -> Result<PathBuf, Failure> {
    let home = folder.join("home");
    fs::create_dir_all(&home).map_err(|error| failed(&home, &error))?;
    Ok(home)
}
