//! Machines that daemons run on, and files for them.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Options of ssh.
const SSH: [&str; 4] = ["BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=3", "ServerAliveCountMax=3"];

/// A machine that a daemon is to run on.
#[derive(Debug, Clone)]
pub(crate) struct MachinePlace {
    /// What dora-rs calls it.
    pub(crate) name: String,
    /// The address at which the other machines reach it.
    pub(crate) address: String,
    /// What a command there begins with, such as `ssh me@board`; empty for this one.
    pub(crate) via: Vec<String>,
    /// The port at which other daemons reach its daemon.
    pub(crate) port: u16,
}

impl MachinePlace {
    /// What a command there begins with. An ssh asks nobody for a password, and notices that a machine is gone.
    pub(crate) fn words(&self) -> Vec<String> {
        let Some((program, more)) = self.via.split_first() else { return Vec::new() };
        let usual = if is_ssh(program) { &SSH[..] } else { &[] };
        let usual = usual.iter().flat_map(|option| ["-o".to_owned(), (*option).to_owned()]);
        std::iter::once(program.clone()).chain(usual).chain(more.iter().cloned()).collect()
    }

    /// What the command of its daemon begins with, if all that goes between machines is to go through the connection of
    /// ssh: ports of the others are forwarded to it, and its own to this computer. `None` if something else than ssh
    /// leads to it.
    pub(crate) fn tunnel(&self, coordinator: u16, others: &[&Self]) -> Option<Vec<String>> {
        let words = self.words();
        let (ssh, more) = words.split_first().filter(|(program, _)| is_ssh(program))?;
        let forward = |flag: &str, port: u16| [flag.to_owned(), format!("127.0.0.1:{port}:127.0.0.1:{port}")];
        let theirs = std::iter::once(coordinator).chain(others.iter().map(|other| other.port));
        let mut words = vec![ssh.clone(), "-o".to_owned(), "ExitOnForwardFailure=yes".to_owned()];
        words.extend(theirs.flat_map(|port| forward("-R", port)));
        words.extend(forward("-L", self.port));
        words.extend(more.iter().cloned());
        Some(words)
    }

    /// Whether it is this computer.
    pub(crate) fn is_here(&self) -> bool {
        self.via.is_empty()
    }

    /// Makes a folder, unless it is there.
    pub(crate) fn make_folder(&self, folder: &Path) -> Result<()> {
        if self.is_here() {
            return fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()));
        }
        let path = folder.display().to_string();
        // A shell may stand between, which makes several words of one.
        if !path.chars().all(|character| character.is_ascii_alphanumeric() || "/._-".contains(character)) {
            bail!(
                "the folder {path} has a name that other machines may take for something else; set TMPDIR to a plain one"
            );
        }
        self.tell(&["mkdir", "-p", "-m", "700", &path], "")
    }

    /// Writes a file into a folder that was made.
    pub(crate) fn put(&self, path: &Path, text: &str) -> Result<()> {
        if self.is_here() {
            return fs::write(path, text).with_context(|| format!("cannot write {}", path.display()));
        }
        self.tell(&["tee", &path.display().to_string()], text)
    }

    /// Removes a folder that was made with all that is in it, and the two around it if nothing else is there. Nothing is
    /// done here, where whoever made them does so.
    pub(crate) fn remove_folder(&self, folder: &Path) -> Result<()> {
        if self.is_here() {
            return Ok(());
        }
        self.tell(&["rm", "-rf", &folder.display().to_string()], "")?;
        for around in folder.ancestors().skip(1).take(2) {
            if self.tell(&["rmdir", &around.display().to_string()], "").is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Runs a command there that reads a text.
    fn tell(&self, words: &[&str], text: &str) -> Result<()> {
        let via = self.words();
        let Some((program, more)) = via.split_first() else { return Ok(()) };
        let on_it = || format!("'{}' on '{}', by '{}'", words.join(" "), self.name, self.via.join(" "));
        let mut command = Command::new(program);
        command.process_group(0);
        command.args(more).args(words).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(on_it)?;
        if let Some(mut input) = child.stdin.take() {
            // Who does not read says why by the end.
            let _ = input.write_all(text.as_bytes());
        }
        let output = child.wait_with_output().with_context(on_it)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            bail!("{} failed: {}", on_it(), if said.is_empty() { output.status.to_string() } else { said });
        }
        Ok(())
    }
}

/// Whether a program is ssh.
fn is_ssh(program: &str) -> bool {
    Path::new(program).file_stem().is_some_and(|program| program == "ssh")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
    use super::*;

    fn machine(via: &[&str]) -> MachinePlace {
        let via = via.iter().map(|word| (*word).to_owned()).collect();
        MachinePlace { name: "pi".to_owned(), address: "127.0.0.1".to_owned(), via, port: 1 }
    }

    #[test]
    fn files_come_to_machines_elsewhere_and_leave_them() {
        let folder = tempfile::tempdir().unwrap();
        let (shared, own) = (folder.path().join("shared"), folder.path().join("shared/its/own"));
        let there = machine(&["env", "A=b"]);
        there.make_folder(&own).unwrap();
        there.put(&own.join("what.json"), "{}").unwrap();
        assert_eq!(fs::read_to_string(own.join("what.json")).unwrap(), "{}");
        // What is here belongs to whoever made it.
        machine(&[]).remove_folder(&own).unwrap();
        assert!(own.exists());
        there.remove_folder(&own).unwrap();
        assert!(!shared.exists());
        // What somebody else has there stays.
        there.make_folder(&own).unwrap();
        there.put(&shared.join("other"), "").unwrap();
        there.remove_folder(&own).unwrap();
        assert!(!own.exists() && shared.join("other").exists());
        let error = there.make_folder(&folder.path().join("two words")).unwrap_err().to_string();
        assert!(error.contains("set TMPDIR"), "{error}");
    }

    #[test]
    fn ports_of_everybody_are_forwarded() {
        let own = MachinePlace { port: 7, ..machine(&["/usr/bin/ssh", "me@pi"]) };
        let other = MachinePlace { port: 8, ..machine(&[]) };
        let words = own.tunnel(6, &[&other]).unwrap().join(" ");
        let at = |flag: &str, port: u16| format!("{flag} 127.0.0.1:{port}:127.0.0.1:{port}");
        let forwarded = [at("-R", 6), at("-R", 8), at("-L", 7)].join(" ");
        let usual = SSH.map(|option| format!("-o {option}")).join(" ");
        assert_eq!(words, format!("/usr/bin/ssh -o ExitOnForwardFailure=yes {forwarded} {usual} me@pi"));
        assert_eq!(machine(&["docker", "exec", "pi"]).tunnel(6, &[&other]), None);
    }

    #[test]
    fn a_machine_that_can_not_be_reached_is_named() {
        let nowhere = machine(&["sh", "-c", "echo no route >&2; exit 3"]);
        let error = nowhere.put("/tmp/x".as_ref(), "").unwrap_err().to_string();
        assert!(error.contains("'tee /tmp/x' on 'pi'") && error.ends_with("no route"), "{error}");
        let error = format!("{:#}", machine(&["/nonexistent"]).put("/tmp/x".as_ref(), "").unwrap_err());
        assert!(error.contains("'pi', by '/nonexistent'"), "{error}");
    }
}
