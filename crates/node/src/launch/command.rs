//! Commands of dora-rs.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

/// What is added to the configuration of Zenoh, and what hosts run, on every machine.
pub(super) const ZENOH: &str = "zenoh.json";
pub(super) const DEPLOYED: &str = "deployment.json";
/// What tells daemons how long to ask each other, in milliseconds.
const EXCHANGE: &str = "DORA_ZENOH_ENDPOINT_EXCHANGE_TIMEOUT_MS";

/// How dora-rs is called, and where what it writes goes.
#[derive(Debug, Clone)]
pub(crate) struct Dora {
    /// The program.
    pub(crate) program: PathBuf,
    /// A folder for logs, and for what dora-rs writes.
    pub(crate) folder: PathBuf,
    /// The port of the coordinator.
    pub(crate) port: u16,
    /// The address of the coordinator.
    pub(crate) address: String,
    /// Whether all that goes between machines goes through connections of ssh.
    pub(crate) is_tunnelled: bool,
}

impl Dora {
    /// The folder for files that every machine has.
    pub(super) fn on_machines(&self) -> PathBuf {
        self.folder.join("on-machines")
    }

    /// What hosts run, on every machine.
    pub(crate) fn deployment(&self) -> PathBuf {
        self.on_machines().join(DEPLOYED)
    }

    pub(super) fn not_started(&self) -> String {
        format!(
            "cannot start {}; install it with: python3 -m pip install dora-rs-cli==1.1.0, or say with --dora where it is",
            self.program.display()
        )
    }

    /// A command for the coordinator.
    pub(super) fn of_coordinator(&self, words: &[&str]) -> Command {
        let port = self.port.to_string();
        let mut command = self.command(&[]);
        command.args(words).args(["--coordinator-port", &port, "--coordinator-addr", &self.address]);
        command
    }

    /// A command of dora-rs on some machine, which writes into the folder of logs only.
    fn command(&self, via: &[String]) -> Command {
        let mut words: Vec<OsString> = via.iter().map(OsString::from).collect();
        words.push(self.program.clone().into());
        let mut words = words.into_iter();
        let mut command = Command::new(words.next().unwrap_or_default());
        // Ctrl-C is for this process, which ends the others in good order.
        command.process_group(0);
        command.args(words).current_dir(&self.folder).stdin(Stdio::null());
        // Elsewhere it is a folder that is not removed with this one, and what gets there looks for its keys at home.
        if via.is_empty() {
            command.env("HOME", &self.folder);
        }
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    pub(super) fn spawn(&self, via: &[String], name: &str, arguments: &[String]) -> Result<Process> {
        let path = self.folder.join(format!("{name}.log"));
        let log = File::options().create(true).append(true).open(&path);
        let log = log.with_context(|| format!("cannot write {}", path.display()))?;
        let other = log.try_clone().with_context(|| format!("cannot write {}", path.display()))?;
        // Before a daemon starts anything it asks the others for a second and a half where their processes listen. They
        // don't know, as the coordinator tells one daemon after the other to start.
        let mut via = via.to_vec();
        if !via.is_empty() {
            via.extend(["env".to_owned(), format!("{EXCHANGE}=0")]);
        }
        let mut command = self.command(&via);
        command.env(EXCHANGE, "0");
        command.args(arguments).stdout(log).stderr(other);
        let child = command.spawn().with_context(|| self.not_started())?;
        Ok(Process { child })
    }
}

/// A process that is ended when this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) child: Child,
}

impl Process {
    /// Whether it has ended.
    pub(super) fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
