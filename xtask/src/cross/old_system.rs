//! An older system on this computer: the C library of Debian 11 and little else, in a folder that programs take for
//! everything there is.

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
/// Shows the folder `$1` of this computer in the folder `$2` of a system, becomes part of that, and runs the rest
/// there: as the user and group `$3`, where that is not empty. Who gave the right to enter may have taken all variables
/// away.
const ENTER: &str = r#"folder=$1 system=$2 user=$3; shift 3
for own in proc sys dev; do mount --rbind "/$own" "$system/$own" || exit 125; done
mount --rbind "$folder" "$system$folder" || exit 125
exec chroot ${user:+"--userspec=$user"} "$system" /bin/dash -c 'cd "$0/home" || exit 125
export HOME="$0/home" XDG_CACHE_HOME="$0/home/cache" XDG_RUNTIME_DIR="$0/home"
exec "$@"' "$folder" "$@""#;

/// Where it is set, it is a failure that there is no older system.
const NEEDED: &str = "MILLSTREAM_NEEDS_OLD_SYSTEM";

/// How a system may be entered.
struct WayIn {
    /// What is asked for the right to.
    unshare: Vec<&'static str>,
    /// Who is to run things there, where it would be somebody else.
    user: Option<(u32, u32)>,
}

/// A folder with an older system, and how it is entered.
pub(crate) struct OldSystem {
    way_in: WayIn,
    system: PathBuf,
    folder: PathBuf,
}

impl OldSystem {
    /// Lays it out with a place for `folder`, which is the same there; says why not where this computer can't fetch it
    /// or doesn't let anybody enter it, unless one is needed.
    pub(crate) fn with(folder: &Path) -> Result<Result<Self, String>, Failure> {
        let way_in = way_in().and_then(|way_in| debian::can_fetch_releases().map(|()| way_in));
        match needed(way_in, std::env::var_os(NEEDED).is_some())? {
            Ok(way_in) => Self::entered(way_in, folder).map(Ok),
            Err(reason) => Ok(Err(reason)),
        }
    }

    fn entered(way_in: WayIn, folder: &Path) -> Result<Self, Failure> {
        let (release, library) = RELEASE;
        let system = super::fetched_folder().join(release);
        let architecture = Target::own()?.debian();
        debian::unpack(&Packages { architecture, release: Some(release), names: &NAMES, with: &[] }, &system)?;
        for place in
            ["proc", "sys", "dev", "tmp"].map(|name| system.join(name)).into_iter().chain([inside(&system, folder)])
        {
            fs::create_dir_all(&place).map_err(|error| failed(&place, &error))?;
        }
        let entered = Self { way_in, system, folder: folder.to_owned() };
        let told = entered.library()?;
        if told.contains(library) {
            Ok(entered)
        } else {
            Err(Failure(format!("the C library of {release} is not {library}:\n{told}")))
        }
    }

    /// Words that a program's path and arguments follow, to be run there, in the folder's own `home`.
    pub(crate) fn words(&self) -> Vec<PathBuf> {
        let WayIn { unshare, user } = &self.way_in;
        let user = user.map(|(user, group)| format!("{user}:{group}")).unwrap_or_default();
        let words = unshare.iter().copied().chain(["sh", "-c", ENTER, "sh"]).map(PathBuf::from);
        words.chain([self.folder.clone(), self.system.clone(), user.into()]).collect()
    }

    /// What the C library says of itself.
    fn library(&self) -> Result<String, Failure> {
        let triple = format!("{}-linux-gnu", std::env::consts::ARCH);
        let words = self.words();
        capture(Command::new(&words[0]).args(&words[1..]).arg(format!("/lib/{triple}/libc.so.6")))
    }
}

/// Fails if there is none of what is needed.
fn needed<T>(found: Result<T, String>, is_needed: bool) -> Result<Result<T, String>, Failure> {
    match found {
        Err(reason) if is_needed => Err(Failure(format!("{NEEDED} is set, and there is no older system: {reason}"))),
        found => Ok(found),
    }
}

/// What gives the right to enter a system, as far as this computer gives it.
fn way_in() -> Result<WayIn, String> {
    let is_allowed = |way: &WayIn| {
        let mut command = Command::new(way.unshare[0]);
        capture(command.args(&way.unshare[1..]).arg("true")).is_ok()
    };
    let none = "neither `unshare --map-root-user` nor `sudo -n unshare` is allowed here";
    ways().into_iter().find(is_allowed).ok_or_else(|| none.to_owned())
}

/// As root of a namespace of one's own; or as the system's root, who then becomes oneself again.
fn ways() -> [WayIn; 2] {
    use std::os::unix::fs::MetadataExt;

    let oneself = fs::metadata("/proc/self").ok().map(|own| (own.uid(), own.gid()));
    [
        WayIn { unshare: vec!["unshare", "--map-root-user", "--mount"], user: None },
        WayIn { unshare: vec!["sudo", "-n", "unshare", "--mount"], user: oneself },
    ]
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

    #[test]
    fn an_older_system_that_is_needed_must_be_there() {
        let told = |found: Result<u8, &str>, is_needed| {
            needed(found.map_err(str::to_owned), is_needed).map_err(|Failure(message)| message)
        };
        assert_eq!(told(Err("no apt"), false), Ok(Err("no apt".to_owned())));
        assert!(
            told(Err("no apt"), true).is_err_and(|message| message.ends_with("no apt") && message.contains(NEEDED))
        );
        assert_eq!((told(Ok(7), false), told(Ok(7), true)), (Ok(Ok(7)), Ok(Ok(7))));
        // Those who release need it.
        let release = include_str!("../../../.github/workflows/release.yml");
        assert!(release.contains(&format!("{NEEDED}: 1")));
    }

    #[test]
    fn what_runs_by_leave_of_root_runs_as_the_caller() {
        let [own, of_root] = ways();
        assert!(own.user.is_none());
        let (user, group) = of_root.user.unwrap_or((u32::MAX, u32::MAX));
        let system = OldSystem { way_in: of_root, system: "/old".into(), folder: "/tmp/a".into() };
        let words = system.words();
        assert_eq!(words[..4], ["sudo", "-n", "unshare", "--mount"].map(PathBuf::from));
        assert_eq!(words[8..], ["/tmp/a".into(), "/old".into(), PathBuf::from(format!("{user}:{group}"))]);
    }
}
