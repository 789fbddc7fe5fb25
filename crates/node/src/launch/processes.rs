//! The coordinator and the daemons of dora-rs, as processes of this one.

use std::ffi::OsString;
use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::flow::{Descriptor, Flow};
use super::machine::MachinePlace;
use super::patience::overlay;

/// How long the coordinator may take to start.
const START: Duration = Duration::from_secs(30);
/// After so long, a daemon has most likely found the coordinator.
const STEADY: Duration = Duration::from_secs(5);
/// After this, a daemon that ended soon is started again; twice as long after each time, up to half a minute.
const PAUSE: Duration = Duration::from_millis(500);
/// What is added to the configuration of Zenoh, and what hosts run, on every machine.
const ZENOH: &str = "zenoh.json";
const DEPLOYED: &str = "deployment.json";
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

/// A daemon of a machine.
#[derive(Debug)]
struct Daemon {
    process: Process,
    begin: Instant,
    /// How often it ended soon after it was started.
    failures: u32,
}

impl Daemon {
    /// Whether it goes on for so long that it has most likely found the coordinator.
    fn is_steady(&self) -> bool {
        self.begin.elapsed() > STEADY
    }

    /// When it is started again if it has ended: at once, or later and later.
    fn pause(&self) -> Duration {
        if self.failures == 0 { Duration::ZERO } else { PAUSE.saturating_mul(1 << self.failures.min(5)) }
    }
}

/// A coordinator, daemons, and a dataflow.
pub(crate) struct Processes {
    dora: Dora,
    machines: Vec<MachinePlace>,
    /// Of the machines.
    daemons: Vec<Daemon>,
    flow: Flow,
    _coordinator: Process,
}

impl Processes {
    /// Starts a coordinator, and a daemon on each machine, which all have a file of this text then.
    pub(crate) fn start(dora: Dora, machines: Vec<MachinePlace>, deployment: &str, flow: Descriptor) -> Result<Self> {
        let port = dora.port.to_string();
        let coordinator = ["coordinator", "--interface", &dora.address, "--port", &port, "--store", "memory"];
        let coordinator = dora.spawn(&[], "coordinator", &coordinator.map(str::to_owned))?;
        let flow = Flow::new(flow);
        let mut processes = Self { dora, machines, daemons: Vec::new(), flow, _coordinator: coordinator };
        processes.await_coordinator()?;
        let on_machines = processes.dora.on_machines();
        for machine in &processes.machines {
            machine.make_folder(&on_machines)?;
            machine.put(&on_machines.join(ZENOH), &overlay().to_string())?;
            machine.put(&on_machines.join(DEPLOYED), deployment)?;
        }
        for place in 0..processes.machines.len() {
            let process = processes.daemon(place)?;
            processes.daemons.push(Daemon { process, begin: Instant::now(), failures: 0 });
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
            self.dora.on_machines().join(ZENOH).display().to_string(),
        ];
        for other in &others {
            arguments.extend(["--zenoh-connect".to_owned(), format!("tcp/{}:{}", other.address, other.port)]);
        }
        let via = if self.dora.is_tunnelled && !machine.is_here() {
            let no_ssh = || format!("a tunnel needs ssh, but '{}' leads to '{}'", machine.via.join(" "), machine.name);
            machine.tunnel(self.dora.port, &others).with_context(no_ssh)?
        } else {
            machine.words()
        };
        self.dora.spawn(&via, &machine.name, &arguments)
    }

    /// Whether the dataflow runs.
    pub(crate) fn runs(&self) -> bool {
        self.flow.runs()
    }

    /// Starts daemons again that have ended, and the dataflow anew then, since a daemon knows nothing of what the one
    /// before it ran; goes without machines that stay away, and takes them in when they are back. Returns the names of
    /// machines whose daemons were started again. To be called again and again; it waits for nothing.
    ///
    /// # Errors
    /// If the dataflow can't be started for the first time, or nothing can be started here.
    pub(crate) fn supervise(&mut self) -> Result<Vec<String>> {
        let mut restarted = Vec::new();
        for place in 0..self.daemons.len() {
            if self.has_ended(place)
                && let Some(machine) = self.machines.get(place).map(|machine| machine.name.clone())
            {
                let process = self.daemon(place)?;
                let is_left_out = self.flow.goes_without(&machine);
                if let Some(ended) = self.daemons.get_mut(place) {
                    let failures = if ended.is_steady() { 0 } else { ended.failures.saturating_add(1) };
                    *ended = Daemon { process, begin: Instant::now(), failures };
                }
                if !is_left_out {
                    self.flow.begin_anew(&self.dora, None)?;
                }
                restarted.push(machine);
            }
        }
        let is_back =
            |(machine, daemon): &(&MachinePlace, &Daemon)| self.flow.goes_without(&machine.name) && daemon.is_steady();
        if let Some(back) =
            self.machines.iter().zip(&self.daemons).find(is_back).map(|(machine, _)| machine.name.clone())
        {
            self.flow.begin_anew(&self.dora, Some(&back))?;
        }
        self.flow.go_on(&self.dora)?;
        Ok(restarted)
    }

    /// Whether a daemon has ended and may be started again.
    fn has_ended(&mut self, place: usize) -> bool {
        let Some(daemon) = self.daemons.get_mut(place) else { return false };
        matches!(daemon.process.child.try_wait(), Ok(Some(_))) && daemon.begin.elapsed() >= daemon.pause()
    }

    /// The processes of daemons, by the names of their machines.
    pub(crate) fn daemons(&self) -> impl Iterator<Item = (&str, u32)> {
        let daemons = self.machines.iter().zip(&self.daemons);
        daemons.map(|(machine, daemon)| (machine.name.as_str(), daemon.process.child.id()))
    }

    /// Has the coordinator do something, for as long as there is patience.
    fn tell(&self, words: &[&str]) {
        let Ok(mut child) = self.dora.of_coordinator(words).spawn() else { return };
        let begin = Instant::now();
        while begin.elapsed() < GRACE && matches!(child.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(20));
        }
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Ends what runs, in good order if that is soon done.
    fn end(&self) {
        self.tell(&["stop", "--all", "--grace-duration", "1s"]);
        // Daemons elsewhere don't end with what connects them to this process.
        self.tell(&["down"]);
        for machine in &self.machines {
            if let Err(error) = machine.remove_folder(&self.dora.on_machines()) {
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
    /// The folder for files that every machine has.
    fn on_machines(&self) -> PathBuf {
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
