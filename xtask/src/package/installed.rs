//! A package as somebody has it who has nothing else: in a folder of its own, with the command started by a link to it,
//! in an environment that knows nothing of libraries.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, capture};
use crate::cross::Target;
use crate::solver;

use crate::files::failed;

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
        self.measure_and_run_with(&[])
    }

    /// The same where measuring and planning take more words.
    pub(super) fn measure_and_run_with(&self, more: &[&str]) -> Result<(), Failure> {
        let network = ["--model", &self.network];
        self.succeed(&[&["profile", "--no-sweep", "--budget", "1s"], &network[..], more].concat())?;
        self.succeed(&[&["schedule", "--profile", "profile.json"], &network[..], more].concat())?;
        self.succeed(&["run", "--frames", "4"]).map(drop)
    }

    /// Where programs of the package run, so do those that are compiled with it: as pkg-config tells, with these
    /// variables, by a compiler that knows nothing else. A package that is not where it will be has them look for the
    /// library in a folder, `will_be_in`, which is not there; one that may be anywhere leaves it to whoever compiles to
    /// say.
    pub(super) fn for_c(
        &self,
        target: Target,
        variables: &[(&str, PathBuf)],
        will_be_in: Option<&str>,
    ) -> Result<(), Failure> {
        if !target.is_own() {
            return Ok(());
        }
        let mut pkg_config = Command::new(solver::pkg_config());
        pkg_config.args(["--cflags", "--libs", "millstream"]);
        let flags = capture(pkg_config.envs(variables.iter().map(|(name, value)| (name, value))))?;
        let (program, input) = (self.home.join("run"), self.home.join("input"));
        let mut compile = Command::new("cc");
        compile.arg(self.package.join("share/doc/millstream/examples/run.c")).args(flags.split_whitespace());
        let library = self.package.join("lib");
        if will_be_in.is_none() {
            compile.arg(format!("-Wl,-rpath,{}", library.display()));
        }
        capture(compile.arg("-o").arg(&program))?;
        let mut run = Command::new(&program);
        run.current_dir(&self.home).env_clear().envs(self.variables());
        if let Some(folder) = will_be_in {
            check_run_path(&capture(Command::new("readelf").arg("--dynamic").arg(&program))?, folder)?;
            run.env("LD_LIBRARY_PATH", &library);
        }

        // A frame of the network, all of it zeros.
        fs::write(&input, vec![0; 3 * 224 * 224 * 4]).map_err(|error| failed(&input, &error))?;
        eprintln!("a program in C, {}", flags.trim());
        capture(run.args([NETWORK, "input", "output", "{ \"profile_seconds\": 1 }"])).map(drop)
    }
}

/// The home of who uses what is in a folder.
pub(super) fn home(folder: &Path) -> Result<PathBuf, Failure> {
    let home = folder.join("home");
    fs::create_dir_all(&home).map_err(|error| failed(&home, &error))?;
    Ok(home)
}

/// Fails if a program, of which `readelf` tells, does not look for libraries in a folder.
fn check_run_path(told: &str, folder: &str) -> Result<(), Failure> {
    let lines = told.lines().filter(|line| line.contains("(RUNPATH)") || line.contains("(RPATH)"));
    let mut paths = lines.filter_map(|line| line.split_once('[')?.1.strip_suffix(']')).flat_map(|list| list.split(':'));
    if paths.any(|path| path == folder) {
        Ok(())
    } else {
        Err(Failure(format!("programs in C do not look for the library in {folder}:\n{told}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_do_not_remember_where_the_library_is_are_noticed() {
        let told = " 0x000000000000001d (RUNPATH)            Library runpath: [/usr/lib/millstream/lib]\n";
        assert!(check_run_path(told, "/usr/lib/millstream/lib").is_ok());
        for (told, folder) in [(told, "/usr/lib"), ("", "/usr/lib/millstream/lib")] {
            assert!(check_run_path(told, folder).is_err_and(|Failure(message)| message.contains(folder)));
        }
    }
}
