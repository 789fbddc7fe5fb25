//! Debian's packages, fetched and unpacked without being installed, so that nobody needs to be root. apt checks their
//! signatures.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Failure, capture};
use crate::files::entries;

use super::{failed, fetched_folder};

/// Where a release is as long as it is maintained, and where it is kept afterwards.
const SERVERS: [&str; 2] = ["http://deb.debian.org/debian", "http://archive.debian.org/debian"];
/// The package `debian-archive-keyring` brings it.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Whether packages of a release of Debian can be fetched here and their signatures checked; says what is missing.
pub(crate) fn can_fetch_releases() -> Result<(), String> {
    if capture(Command::new("apt-get").arg("--version")).is_err() {
        return Err("apt of Debian or a system made from it is needed to fetch it".to_owned());
    }
    if Path::new(KEYRING).is_file() {
        Ok(())
    } else {
        Err(format!("there is no {KEYRING} to check signatures with: apt install debian-archive-keyring"))
    }
}

/// Packages of an architecture: Debian's names of both.
pub(crate) struct Packages<'a> {
    pub(crate) architecture: &'a str,
    /// Of this release of Debian; of whatever the system's own sources are if there is none.
    pub(crate) release: Option<&'a str>,
    pub(crate) names: &'a [&'a str],
    /// Packages that these depend on are fetched as well if their names begin so.
    pub(crate) with: &'a [&'a str],
}

/// Unpacks packages into a folder, once: `stamp` says there what was done.
pub(crate) fn unpack(packages: &Packages<'_>, into: &Path) -> Result<(), Failure> {
    let stamp = into.join(format!("{}.{}.unpacked", packages.names.join("+"), packages.architecture));
    if stamp.is_file() {
        return Ok(());
    }
    eprintln!("fetching {} for {} with apt-get ...", packages.names.join(", "), packages.architecture);
    fs::create_dir_all(into).map_err(|error| failed(into, &error))?;
    let apt = Apt::of(packages)?;
    let mut wanted: Vec<String> = packages.names.iter().map(|&name| name.to_owned()).collect();
    let mut done = BTreeSet::new();
    while let Some(name) = wanted.pop() {
        if done.insert(name.clone()) {
            let file = apt.download(&name)?;
            capture(Command::new("dpkg").arg("-x").arg(&file).arg(into))?;
            let depends = capture(Command::new("dpkg-deb").arg("--field").arg(&file).arg("Depends"))?;
            wanted.extend(followed(&depends, packages.with));
        }
    }
    fs::write(&stamp, "").map_err(|error| failed(&stamp, &error))
}

/// The names of packages in a list of what one depends on that begin with one of these.
fn followed(depends: &str, with: &[&str]) -> Vec<String> {
    let names = depends.split([',', '|']).filter_map(|one| one.split_whitespace().next());
    names.filter(|name| with.iter().any(|start| name.starts_with(start))).map(str::to_owned).collect()
}

/// apt with lists of its own where they are of another architecture, so that the system's are as they were.
struct Apt {
    options: Vec<String>,
    /// Where files are put.
    archives: PathBuf,
}

impl Apt {
    fn of(packages: &Packages<'_>) -> Result<Self, Failure> {
        let architecture = packages.architecture;
        let archives = fetched_folder().join("debian").join(packages.release.unwrap_or_default()).join(architecture);
        let lists = archives.join("apt/lists/partial");
        let cache = archives.join("apt/cache/archives/partial");
        for part in [&lists, &cache] {
            fs::create_dir_all(part).map_err(|error| failed(part, &error))?;
        }
        let status = archives.join("apt/status");
        fs::write(&status, "").map_err(|error| failed(&status, &error))?;
        let state = archives.join("apt").display().to_string();
        let options = [
            format!("Dir::State={state}"),
            format!("Dir::State::lists={state}/lists"),
            format!("Dir::State::status={state}/status"),
            format!("Dir::Cache={state}/cache"),
            format!("APT::Architecture={architecture}"),
            format!("APT::Architectures::={architecture}"),
            // It would not be let into folders of other users.
            "APT::Sandbox::User=".to_owned(),
        ];
        let options = Vec::from(options);
        match packages.release {
            Some(release) => Self::of_release(release, &options, &archives),
            None => Self { options: as_words(options), archives }.updated(),
        }
    }

    /// With what the first server has that has the release.
    fn of_release(release: &str, options: &[String], archives: &Path) -> Result<Self, Failure> {
        let from = |server| {
            let sources = sources_of(server, release, &archives.join("apt"))?;
            let options = as_words(options.iter().cloned().chain(sources));
            Self { options, archives: archives.to_owned() }.updated()
        };
        let [now, later] = SERVERS;
        from(now).or_else(|reason| from(later).map_err(|_| reason))
    }

    fn updated(self) -> Result<Self, Failure> {
        self.run(&["update"]).map(|()| self)
    }

    /// Fetches a package and returns its file.
    fn download(&self, name: &str) -> Result<PathBuf, Failure> {
        remove_files_of(&self.archives, name)?;
        self.run(&["download", name])?;
        let file = files_of(&self.archives, name)?.pop();
        file.ok_or_else(|| Failure(format!("apt-get download {name} has left no package")))
    }

    fn run(&self, arguments: &[&str]) -> Result<(), Failure> {
        let mut command = Command::new("apt-get");
        command.arg("--quiet").args(&self.options).args(arguments).current_dir(&self.archives);
        capture(&mut command).map(drop).map_err(|Failure(message)| {
            Failure(format!(
                "{message}\n\napt of Debian or a system made from it is needed to fetch this, and its sources"
            ))
        })
    }
}

/// The files of a package, of whatever version.
fn files_of(folder: &Path, name: &str) -> Result<Vec<PathBuf>, Failure> {
    let start = format!("{name}_");
    let is_of = |file: &PathBuf| {
        let own = file.file_name().unwrap_or_default().to_string_lossy();
        own.starts_with(&start) && own.ends_with(".deb")
    };
    Ok(entries(folder)?.into_iter().filter(is_of).collect())
}

/// Those of earlier times go, so that what is there afterwards is what was fetched: versions do not sort as texts do.
fn remove_files_of(folder: &Path, name: &str) -> Result<(), Failure> {
    files_of(folder, name)?.iter().try_for_each(|file| fs::remove_file(file).map_err(|error| failed(file, &error)))
}

/// Each option as apt takes it.
fn as_words(options: impl IntoIterator<Item = String>) -> Vec<String> {
    options.into_iter().flat_map(|option| ["-o".to_owned(), option]).collect()
}

/// Options by which apt has packages of this release only, signed by Debian.
fn sources_of(server: &str, release: &str, state: &Path) -> Result<Vec<String>, Failure> {
    let list = state.join("sources.list");
    let text = format!("deb [signed-by={KEYRING}] {server} {release} main\n");
    fs::write(&list, text).map_err(|error| failed(&list, &error))?;
    Ok(vec![format!("Dir::Etc::sourcelist={}", list.display()), "Dir::Etc::sourceparts=/dev/null".to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn files_of_earlier_times_go_and_those_of_other_packages_stay() {
        let told = || -> Result<Vec<String>, Failure> {
            let scratch = Scratch::new("debian-test")?;
            let names = ["libc6_2.31-13_amd64.deb", "libc6_2.31-9_amd64.deb", "libc6-dev_1_amd64.deb", "libc6_list"];
            for name in names {
                let file = scratch.path().join(name);
                fs::write(&file, "").map_err(|error| failed(&file, &error))?;
            }
            remove_files_of(scratch.path(), "libc6")?;
            let left = entries(scratch.path())?;
            Ok(left.iter().filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect())
        };
        let told = told().unwrap_or_else(|Failure(message)| vec![message]);
        assert_eq!(told, ["libc6-dev_1_amd64.deb", "libc6_list"]);
    }

    #[test]
    fn only_packages_that_are_asked_for_are_followed() {
        let depends = "libc6 (>= 2.34), libstd-rust-web-1.96 (= 1.96.0), libllvm22 | libllvm21 (>= 1), gcc";
        let names = followed(depends, &["libstd-rust", "libllvm"]);
        assert_eq!(names, ["libstd-rust-web-1.96", "libllvm22", "libllvm21"]);
        assert!(followed("", &["lib"]).is_empty());
    }
}
