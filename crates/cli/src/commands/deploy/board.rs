//! What the board says of itself before anything is copied.

use anyhow::{Result, bail};

use super::package::ARCHITECTURES;
use super::shell::quoted;
use super::ssh::{Input, Ssh};

/// The C library that packages need.
const GLIBC: (u32, u32) = (2, 28);
/// What lines that are for this program begin with: shells of users may print more.
const MARK: &str = "millstream-deploy ";

/// What a board reports of itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RemoteFacts {
    system: String,
    pub(super) architecture: String,
    glibc: Option<(u32, u32)>,
    /// Bytes that are free where a folder is to be made.
    free: Option<u64>,
}

/// Goes where folders are made on the board: the home folder, or one that is named from there or from the root.
pub(super) fn go_to(remote_folder: Option<&str>) -> String {
    remote_folder.map_or_else(|| "cd".to_owned(), |folder| format!("cd && cd {} >/dev/null", quoted(folder)))
}

/// Asks the board, and fails if no package can run there.
pub(super) fn ask(ssh: &Ssh, remote_folder: Option<&str>) -> Result<RemoteFacts> {
    let go = go_to(remote_folder);
    let script = format!(
        "{go} || exit 1
echo \"{MARK}system $(uname -s)\"
echo \"{MARK}architecture $(uname -m)\"
echo \"{MARK}libc $(getconf GNU_LIBC_VERSION 2>/dev/null)\"
echo \"{MARK}free $(df -Pk . | tail -n 1)\""
    );
    let ended = ssh.run(&script, Input::Nothing, false)?;
    if !ended.status.success() {
        bail!("{}: {}; name a folder that is there with --remote-folder", ssh.host, ended.stderr.trim());
    }
    let told = RemoteFacts::read(&ended.stdout);
    told.check(&ssh.host).map(|()| told)
}

/// The value of a line that a script printed for this program.
pub(super) fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(MARK)?.split_once(' '));
    lines.find(|(found, _)| *found == key).map(|(_, value)| value.trim())
}

/// Prints a value so that it is found again.
pub(super) fn print(key: &str, value: &str) -> String {
    format!("echo {MARK}{key} {value}")
}

impl RemoteFacts {
    fn read(text: &str) -> Self {
        let value = |key| value(text, key).unwrap_or_default();
        let mut version = value("libc").strip_prefix("glibc ").unwrap_or_default().split('.').map(str::parse);
        let glibc = match (version.next(), version.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Some((major, minor)),
            _ => None,
        };
        // Filesystem, blocks, used, available, capacity, place.
        let kibibytes: Option<u64> = value("free").split_whitespace().nth(3).and_then(|text| text.parse().ok());
        Self {
            system: value("system").to_owned(),
            architecture: value("architecture").to_owned(),
            glibc,
            free: kibibytes.map(|kibibytes| kibibytes << 10),
        }
    }

    fn check(&self, host: &str) -> Result<()> {
        let (major, minor) = GLIBC;
        if self.system != "Linux" || !ARCHITECTURES.contains(&self.architecture.as_str()) {
            bail!(
                "{host} is {} on {}; there are packages for Linux on {}",
                self.system,
                self.architecture,
                ARCHITECTURES.join(" and ")
            );
        }
        // What can't be told shows when the program is started.
        match self.glibc.filter(|&version| version < GLIBC) {
            Some((found, older)) => bail!("{host} has glibc {found}.{older}; packages need {major}.{minor} or newer"),
            None => Ok(()),
        }
    }

    /// Fails if there is less room than that.
    pub(super) fn check_room(&self, needed: u64, host: &str, place: &str) -> Result<()> {
        match self.free.filter(|&free| free < needed) {
            Some(free) => bail!(
                "{host} has {} MiB left in {place}, and about {} MiB are needed; make room, or name another folder with --remote-folder",
                free >> 20,
                (needed >> 20) + 1
            ),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    const TOLD: &str = "Welcome!\nmillstream-deploy system Linux\nmillstream-deploy architecture aarch64\n\
        millstream-deploy libc glibc 2.31\nmillstream-deploy free /dev/root 30000000 10 2048 1% /\n";

    #[test]
    fn what_the_board_says_is_read_among_what_its_shell_says() {
        let told = RemoteFacts::read(TOLD);
        let expected = RemoteFacts {
            system: "Linux".to_owned(),
            architecture: "aarch64".to_owned(),
            glibc: Some((2, 31)),
            free: Some(2 << 20),
        };
        assert_eq!(told, expected);
        assert!(told.check("board").is_ok() && told.check_room(2 << 20, "board", "home").is_ok());
        assert!(RemoteFacts::read(&TOLD.replace("glibc 2.31", "")).check("board").is_ok(), "it may not tell");
    }

    #[test]
    fn boards_that_can_not_be_used_are_told_why() {
        let refused =
            |from: &str, to: &str| RemoteFacts::read(&TOLD.replace(from, to)).check("board").unwrap_err().to_string();
        assert!(refused("aarch64", "riscv64").contains("board is Linux on riscv64"));
        assert!(refused("Linux", "Darwin").contains("Darwin"));
        assert!(refused("2.31", "2.27").contains("has glibc 2.27; packages need 2.28"));
        let message = RemoteFacts::read(TOLD).check_room((2 << 20) + 1, "board", "home").unwrap_err().to_string();
        assert!(
            message.contains("2 MiB left in home, and about 3 MiB") && message.contains("--remote-folder"),
            "{message}"
        );
    }
}
