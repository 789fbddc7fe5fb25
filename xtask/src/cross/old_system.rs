//! An older system on this computer: the C library of Debian 11 and little else, in a folder that programs take for everything there is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, capture};

use super::debian::{self, Packages};
use super::failed;
use super::target::Target;

/// The release, and how its C library calls itself.
const RELEASE: (&str, &str) = ("bullseye", "GLIBC 2.31");
const NAMES: [&str; 5] = ["libc6", "libgcc-s1", "libstdc++6", "zlib1g", "dash"];
/// Shows the folder `$1` of this computer in the folder `$2` of a system, becomes part of that, and runs the rest there.
const ENTER: &str = r#"folder=$1 system=$2; shift 2
for own in proc sys dev; do mount --rbind "/$own" "$system/$own" || exit 125; done
mount --rbind "$folder" "$system$folder" || exit 125
exec chroot "$system" /bin/dash -c 'cd "$0/home" && exec "$@"' "$folder" "$@""#;

/// Where it is set, it is a failure that there is no older system.
const NEEDED: &str = "MILLSTREAM_NEEDS_OLD_SYSTEM";

/// A folder with an older system, and how it is entered.
pub(crate) struct OldSystem {
    /// What is asked for the right to enter.
    unshare: Vec<&'static str>,
    system: PathBuf,
    folder: PathBuf,
}

impl OldSystem {
    /// Lays it out with a place for `folder`, which is the same there; says why not where this computer can't fetch it or doesn't let anybody
    /// enter it, unless one is needed.
    pub(crate) fn with(folder: &Path) -> Result<Result<Self, String>, Failure> {
        match way_in().and_then(|unshare| debian::can_fetch_releases().map(|()| unshare)) {
            Ok(unshare) => Self::entered(unshare, folder).map(Ok),
            Err(reason) if std::env::var_os(NEEDED).is_none() => Ok(Err(reason)),
            Err(reason) => Err(Failure(format!("{NEEDED} is set, and there is no older system: {reason}"))),
        }
    }

    fn entered(unshare: Vec<&'static str>, folder: &Path) -> Result<Self, Failure> {
        let (release, library) = RELEASE;
        let system = super::folder().join(release);
        let architecture = Target::own()?.debian();
        debian::unpack(&Packages { architecture, release: Some(release), names: &NAMES, with: &[] }, &system)?;
        for place in
            ["proc", "sys", "dev", "tmp"].map(|name| system.join(name)).into_iter().chain([inside(&system, folder)])
        {
            fs::create_dir_all(&place).map_err(|error| failed(&place, &error))?;
        }
        let entered = Self { unshare, system, folder: folder.to_owned() };
        let told = entered.library()?;
        match told.contains(library) {
            true => Ok(entered),
            false => Err(Failure(format!("the C library of {release} is not {library}:\n{told}"))),
        }
    }

    /// Words that a program's path and arguments follow, to be run there, in the folder's own `home`.
    pub(crate) fn words(&self) -> Vec<PathBuf> {
        let words = self.unshare.iter().copied().chain(["sh", "-c", ENTER, "sh"]).map(PathBuf::from);
        words.chain([self.folder.clone(), self.system.clone()]).collect()
    }

    /// What the C library says of itself.
    fn library(&self) -> Result<String, Failure> {
        let triple = format!("{}-linux-gnu", std::env::consts::ARCH);
        let words = self.words();
        capture(Command::new(&words[0]).args(&words[1..]).arg(format!("/lib/{triple}/libc.so.6")))
    }
}

/// What gives the right to enter a system, as far as this computer gives it.
fn way_in() -> Result<Vec<&'static str>, String> {
    let is_allowed = |words: &Vec<&'static str>| capture(Command::new(words[0]).args(&words[1..]).arg("true")).is_ok();
    let ways = [vec!["unshare", "--map-root-user", "--mount"], vec!["sudo", "-n", "unshare", "--mount"]];
    let none = "neither `unshare --map-root-user` nor `sudo -n unshare` is allowed here";
    ways.into_iter().find(is_allowed).ok_or_else(|| none.to_owned())
}

/// Where an absolute path of this computer is in a system of its own.
fn inside(system: &Path, path: &Path) -> PathBuf {
    system.join(path.strip_prefix("/").unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_within_the_system() {
        assert_eq!(inside(Path::new("/a/old"), Path::new("/tmp/own")), Path::new("/a/old/tmp/own"));
    }
}
