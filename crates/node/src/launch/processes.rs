//! The coordinator and the daemons of dora-rs, as processes of this one.

use std::ffi::OsString;
use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::machine::MachinePlace;
use super::patience::overlay;

/// How long dora-rs may take to start something.
const START: Duration = Duration::from_secs(30);
/// What tells daemons how long to ask each other, in milliseconds.
const EXCHANGE: &str = "DORA_ZENOH_ENDPOINT_EXCHANGE_TIMEOUT_MS";
/// How long processes are given to end by themselves.
const GRACE: Duration = Duration::from_secs(3);

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

/// A process that is ended when this is dropped.
#[derive(Debug)]
struct Process {
    child: Child,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A coordinator and daemons.
#[derive(Debug)]
pub(crate) struct Processes {
    dora: Dora,
    machines: Vec<MachinePlace>,
    daemons: Vec<Process>,
    _coordinator: Process,
}

impl Processes {
    /// Starts a coordinator, and a daemon on each machine, which all have files of these texts then.
    pub(crate) fn start(dora: Dora, machines: Vec<MachinePlace>, files: &[(&Path, &str)]) -> Result<Self> {
        let port = dora.port.to_string();
        let coordinator = ["coordinator", "--interface", &dora.address, "--port", &port, "--store", "memory"];
        let coordinator = dora.spawn(&[], "coordinator", &coordinator.map(str::to_owned))?;
        let mut processes = Self { dora, machines, daemons: Vec::new(), _coordinator: coordinator };
        processes.await_coordinator()?;
        for machine in &processes.machines {
            machine.make_folder(&processes.dora.folder)?;
            machine.put(&processes.dora.zenoh_overlay(), &overlay().to_string())?;
            files.iter().try_for_each(|(path, text)| machine.put(path, text))?;
        }
        for place in 0..processes.machines.len() {
            let daemon = processes.daemon(place)?;
            processes.daemons.push(daemon);
        }
        Ok(processes)
    }

    fn await_coordinator(&self) -> Result<()> {
        let begin = Instant::now();
        while std::net::TcpStream::connect((self.dora.address.as_str(), self.dora.port)).is_err() {
            if begin.elapsed() > START {
                bail!("the coordinator of dora-rs does not start; see {}", self.dora.folder.display());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn daemon(&self, place: usize) -> Result<Process> {
        let machine = self.machines.get(place).context("there is no such machine")?;
        let others: Vec<&MachinePlace> = self.machines.iter().filter(|other| other.name != machine.name).collect();
        // Nodes that are started by hand would call there; there are none.
        let local = if machine.is_here() { free_port()? } else { machine.port.wrapping_add(1) };
        let mut arguments = vec![
            "daemon".to_owned(),
            "--machine-id".to_owned(),
            machine.name.clone(),
            "--coordinator-addr".to_owned(),
            self.dora.address.clone(),
            "--coordinator-port".to_owned(),
            self.dora.port.to_string(),
            "--local-listen-port".to_owned(),
            local.to_string(),
            "--zenoh-no-multicast".to_owned(),
            "--zenoh-listen".to_owned(),
            format!("{}:{}", machine.address, machine.port),
            "--zenoh-config-overlay".to_owned(),
            self.dora.zenoh_overlay().display().to_string(),
        ];
        for other in &others {
            arguments.extend(["--zenoh-connect".to_owned(), format!("tcp/{}:{}", other.address, other.port)]);
        }
        let via = if self.dora.is_tunnelled && !machine.is_here() {
            let no_ssh = || format!("a tunnel needs ssh, but '{}' leads to '{}'", machine.via.join(" "), machine.name);
            machine.tunnel(self.dora.port, &others).with_context(no_ssh)?
        } else {
            machine.via.clone()
        };
        self.dora.spawn(&via, &machine.name, &arguments)
    }

    /// Starts a dataflow, once all daemons are there.
    pub(crate) fn start_dataflow(&self, file: &Path) -> Result<()> {
        let begin = Instant::now();
        loop {
            let port = self.dora.port.to_string();
            let mut command = self.dora.command(&[]);
            command.arg("start").arg(file).args(["--detach", "--coordinator-port", &port]);
            command.args(["--coordinator-addr", &self.dora.address]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            let output = command.output().with_context(|| self.dora.not_started())?;
            if output.status.success() {
                return Ok(());
            }
            if begin.elapsed() > START {
                let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                bail!(
                    "dora-rs does not start the processes of the hosts: {said}\nits logs are in {}",
                    self.dora.folder.display()
                );
            }
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// Starts daemons again that have ended, and the dataflow anew, since a daemon knows nothing of what the one before
    /// it ran; the names of their machines.
    pub(crate) fn supervise(&mut self, flow: &Path) -> Result<Vec<String>> {
        let mut restarted = Vec::new();
        for place in 0..self.daemons.len() {
            let has_ended =
                self.daemons.get_mut(place).is_some_and(|daemon| matches!(daemon.child.try_wait(), Ok(Some(_))));
            if has_ended && let Some(machine) = self.machines.get(place).map(|machine| machine.name.clone()) {
                let daemon = self.daemon(place)?;
                if let Some(ended) = self.daemons.get_mut(place) {
                    *ended = daemon;
                }
                restarted.push(machine);
            }
        }
        if !restarted.is_empty() {
            self.tell(&["stop", "--all", "--force"]);
            self.start_dataflow(flow)?;
        }
        Ok(restarted)
    }

    /// Has the coordinator do something, for as long as there is patience.
    fn tell(&self, words: &[&str]) {
        let port = self.dora.port.to_string();
        let mut command = self.dora.command(&[]);
        command.args(words).args(["--coordinator-port", &port, "--coordinator-addr", &self.dora.address]);
        let Ok(mut child) = command.spawn() else { return };
        let begin = Instant::now();
        while begin.elapsed() < GRACE && matches!(child.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(20));
        }
        let _ = child.kill();
        let _ = child.wait();
    }

    /// The processes of daemons, by the names of their machines.
    pub(crate) fn daemons(&self) -> impl Iterator<Item = (&str, u32)> {
        self.machines.iter().zip(&self.daemons).map(|(machine, daemon)| (machine.name.as_str(), daemon.child.id()))
    }

    /// Ends what runs, in good order if that is soon done.
    fn end(&self) {
        self.tell(&["stop", "--all", "--grace-duration", "1s"]);
        // Daemons elsewhere don't end with what connects them to this process.
        self.tell(&["down"]);
        for machine in &self.machines {
            if let Err(error) = machine.remove_folder(&self.dora.folder) {
                tracing::warn!("{error:#}");
            }
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.end();
    }
}

impl Dora {
    /// What is added to the configuration of Zenoh, on every machine.
    fn zenoh_overlay(&self) -> PathBuf {
        self.folder.join("zenoh.json")
    }

    fn not_started(&self) -> String {
        format!(
            "cannot start {}; install it with: python3 -m pip install dora-rs-cli==1.1.0, or say with --dora where it is",
            self.program.display()
        )
    }

    /// A command of dora-rs on some machine, which writes into the folder of logs only.
    fn command(&self, via: &[String]) -> Command {
        let mut words: Vec<OsString> = via.iter().map(OsString::from).collect();
        words.push(self.program.clone().into());
        let mut words = words.into_iter();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).current_dir(&self.folder).stdin(Stdio::null());
        // Elsewhere it is a folder that is not removed with this one, and what gets there looks for its keys at home.
        if via.is_empty() {
            command.env("HOME", &self.folder);
        }
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn spawn(&self, via: &[String], name: &str, arguments: &[String]) -> Result<Process> {
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

/// A port that nobody listens at right now.
pub(crate) fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot listen at any port")?;
    Ok(listener.local_addr().context("cannot listen at any port")?.port())
}
