//! The coordinator and the daemons of dora-rs, as processes of this one.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::command::{DEPLOYED, Dora, Process, ZENOH};
use super::flow::{Descriptor, Flow};
use super::machine::MachinePlace;
use super::patience::overlay;

/// How long the coordinator may take to start.
const START: Duration = Duration::from_secs(30);
/// A daemon that ends within this is a failure.
const SOON: Duration = Duration::from_secs(5);
/// After so long, a daemon has most likely found the coordinator; longer than ssh tries to connect.
const STEADY: Duration = Duration::from_secs(15);
/// Twice as long for each failure, a daemon is started again later, up to half a minute.
const PAUSE: Duration = Duration::from_millis(500);
/// How long processes are given to end by themselves.
const GRACE: Duration = Duration::from_secs(3);

/// A daemon of a machine.
#[derive(Debug)]
struct Daemon {
    process: Process,
    begin: Instant,
    /// When it was seen to have ended.
    end: Option<Instant>,
    /// How often one ended soon after it was started, in a row.
    failures: u32,
    /// How often the dataflow was begun anew to take its machine in, which it may not have reached.
    tries: u32,
}

impl Daemon {
    fn new(process: Process, failures: u32, tries: u32) -> Self {
        Self { process, begin: Instant::now(), end: None, failures, tries }
    }

    /// Looks whether it has ended.
    fn look(&mut self) {
        if self.end.is_none() && self.process.has_ended() {
            self.end = Some(Instant::now());
        }
    }

    /// Whether it has gone on for so long that it has most likely found the coordinator; longer after each time that
    /// it had not.
    fn is_steady(&self) -> bool {
        self.end.is_none() && self.begin.elapsed() > STEADY.saturating_mul(1 << self.tries.min(5))
    }

    /// What comes after one that ended: how many failures there are then, and when it is started.
    fn next(&self) -> Option<(u32, Instant)> {
        let end = self.end?;
        let is_failure = end.duration_since(self.begin) < SOON;
        let failures = if is_failure { self.failures.saturating_add(1) } else { 0 };
        let pause = if failures < 2 { Duration::ZERO } else { PAUSE.saturating_mul(1 << failures.min(6)) };
        Some((failures, end + pause))
    }
}

/// A coordinator, daemons, and a dataflow.
pub(crate) struct Processes {
    dora: Dora,
    machines: Vec<MachinePlace>,
    /// Of the machines.
    daemons: Vec<Daemon>,
    flow: Flow,
    coordinator: Process,
    files: Files,
}

/// What every machine has.
#[derive(Debug, Clone)]
struct Files {
    folder: PathBuf,
    deployment: String,
}

impl Files {
    fn put(&self, machine: &MachinePlace) -> Result<()> {
        machine.make_folder(&self.folder)?;
        machine.put(&self.folder.join(ZENOH), &overlay().to_string())?;
        machine.put(&self.folder.join(DEPLOYED), &self.deployment)
    }
}

impl Processes {
    /// Starts a coordinator, and a daemon on each machine, which all have a file of this text then.
    pub(crate) fn start(dora: Dora, machines: Vec<MachinePlace>, deployment: &str, flow: Descriptor) -> Result<Self> {
        let port = dora.port.to_string();
        let coordinator = ["coordinator", "--interface", &dora.address, "--port", &port, "--store", "memory"];
        let coordinator = dora.spawn(&[], "coordinator", &coordinator.map(str::to_owned))?;
        let flow = Flow::new(flow);
        let files = Files { folder: dora.on_machines(), deployment: deployment.to_owned() };
        let mut processes = Self { dora, machines, files, daemons: Vec::new(), flow, coordinator };
        processes.await_coordinator()?;
        for machine in &processes.machines {
            processes.files.put(machine)?;
        }
        for place in 0..processes.machines.len() {
            let process = processes.daemon(place)?;
            processes.daemons.push(Daemon::new(process, 0, 0));
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
        if self.coordinator.has_ended() {
            bail!("the coordinator of dora-rs has ended; see {}", self.dora.folder.display());
        }
        let mut restarted = Vec::new();
        for place in 0..self.daemons.len() {
            restarted.extend(self.restart(place)?);
        }
        if self.flow.runs() {
            self.take_in()?;
        }
        self.flow.go_on(&self.dora)?;
        Ok(restarted)
    }

    /// Starts a machine's daemon again if it has ended and it is time; the machine's name then.
    fn restart(&mut self, place: usize) -> Result<Option<String>> {
        let (Some(machine), Some(daemon)) = (self.machines.get(place).cloned(), self.daemons.get_mut(place)) else {
            return Ok(None);
        };
        daemon.look();
        let tries = daemon.tries;
        let Some((failures, _)) = daemon.next().filter(|(_, when)| *when <= Instant::now()) else { return Ok(None) };
        if failures > 1 && !machine.is_here() {
            // It may have lost its files when it was switched off. That takes time, so the next daemon will find them.
            let (files, there) = (self.files.clone(), machine.clone());
            let put = move || files.put(&there).unwrap_or_else(|error| tracing::info!("{error:#}"));
            thread::Builder::new().name("files".to_owned()).spawn(put).context("cannot start a thread")?;
        }
        if failures > 0
            && let Some(here) = self.machines.get_mut(place).filter(|machine| machine.is_here())
        {
            // Somebody else may have taken its port. It dials the others, so they need not know the new one.
            here.port = free_port()?;
        }
        let process = self.daemon(place)?;
        if let Some(ended) = self.daemons.get_mut(place) {
            *ended = Daemon::new(process, failures, tries);
        }
        if !self.flow.goes_without(&machine.name) {
            self.flow.begin_anew(&self.dora, None)?;
        }
        Ok(Some(machine.name))
    }

    /// Has the dataflow begin anew with a machine that it went without and that is most likely back.
    fn take_in(&mut self) -> Result<()> {
        for (machine, daemon) in self.machines.iter().zip(&mut self.daemons) {
            daemon.look();
            if !self.flow.goes_without(&machine.name) {
                daemon.tries = 0;
            } else if daemon.is_steady() {
                daemon.tries = daemon.tries.saturating_add(1);
                return self.flow.begin_anew(&self.dora, Some(&machine.name));
            }
        }
        Ok(())
    }

    /// The processes of daemons, by the names of their machines.
    pub(crate) fn daemons(&self) -> impl Iterator<Item = (&str, u32)> {
        let daemons = self.machines.iter().zip(&self.daemons);
        daemons.map(|(machine, daemon)| (machine.name.as_str(), daemon.process.child.id()))
    }

    /// Has the coordinator do something, for as long as there is patience.
    fn tell(&self, words: &[&str]) {
        let Ok(child) = self.dora.of_coordinator(words).spawn() else { return };
        let mut process = Process { child };
        let begin = Instant::now();
        while begin.elapsed() < GRACE && !process.has_ended() {
            thread::sleep(Duration::from_millis(20));
        }
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

/// A port that nobody listens at right now.
pub(crate) fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot listen at any port")?;
    Ok(listener.local_addr().context("cannot listen at any port")?.port())
}
