//! Brings up a system of hosts, runs frames through it, and ends it.

mod command;
mod dataflow;
mod flow;
mod links;
mod machine;
mod measured;
mod patience;
mod processes;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context, Result, anyhow, bail};
use millstream_api::Hosts;

use crate::deployment::{Deployment, LoadedDeployment};
use crate::report::Report;
use crate::transport::Transport;
use crate::{front, gateway};
use command::Dora;
use dataflow::{Dataflow, FRONT_MACHINE};
use machine::MachinePlace;
use processes::{Processes, free_port};

pub use dataflow::{DEPLOYMENT, HOST};
pub use links::{METER, measure_links};
pub use measured::{MeasuredFrames, MeasuredLink, MeasuredSystem};

/// How often it is looked how things go.
const LOOK: Duration = Duration::from_millis(50);

/// How a system is brought up.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LaunchOptions {
    /// The program `millstream-node`, which is at the same path on all hosts.
    pub program: PathBuf,
    /// The program `dora`.
    pub dora: PathBuf,
    /// The address of this computer for the hosts.
    pub address: String,
    /// Per host that is not this computer, what a command there begins with: `rk=ssh me@rk`.
    pub via: Vec<(String, Vec<String>)>,
    /// Whether all that goes between machines goes through the connections of ssh that lead to them, encrypted, and by
    /// way of this computer. Daemons listen at [`address`](Self::address) only, which should be 127.0.0.1 then.
    pub is_tunnelled: bool,
    /// How long everything may take; as long as it likes if nobody says.
    pub limit: Option<Duration>,
    /// Set when somebody wants it to end.
    pub is_over: Arc<AtomicBool>,
}

impl LaunchOptions {
    /// All hosts are this computer, nothing has a limit, and `dora` is found as commands are.
    pub fn new(program: PathBuf) -> Self {
        Self {
            program,
            dora: PathBuf::from("dora"),
            address: "127.0.0.1".to_owned(),
            via: Vec::new(),
            is_tunnelled: false,
            limit: None,
            is_over: Arc::default(),
        }
    }

    /// Where a host's daemon runs.
    fn machine(&self, hosts: &Hosts, host: &str) -> Result<MachinePlace> {
        let via = self.via.iter().find(|(name, _)| name == host).map(|(_, via)| via.clone()).unwrap_or_default();
        let address = hosts.address(host).filter(|_| !self.is_tunnelled).unwrap_or(&self.address);
        Ok(MachinePlace { name: host.to_owned(), address: address.to_owned(), via, port: free_port()? })
    }

    /// Where the front's daemon runs: here.
    fn front_machine(&self) -> Result<MachinePlace> {
        let (name, address) = (FRONT_MACHINE.to_owned(), self.address.clone());
        Ok(MachinePlace { name, address, via: Vec::new(), port: free_port()? })
    }

    /// How dora-rs is called, with a folder for what it writes.
    fn engine(&self, folder: &Path) -> Result<Dora> {
        Ok(Dora {
            program: self.dora.clone(),
            folder: folder.to_owned(),
            port: free_port()?,
            address: self.address.clone(),
            is_tunnelled: self.is_tunnelled,
        })
    }

    /// Whether what began at a moment may go on.
    fn check_wanted(&self, begin: Instant) -> Result<()> {
        if self.is_over.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        if self.limit.is_some_and(|limit| begin.elapsed() > limit) {
            bail!("nothing came of it within the time that there was");
        }
        Ok(())
    }
}

/// What goes on while frames flow, for tests that disturb it.
pub struct Running<'a> {
    processes: &'a Processes,
}

impl Running<'_> {
    /// The process of a host's daemon; the front's machine is called `millstream-front`.
    pub fn daemon(&self, host: &str) -> Option<u32> {
        self.processes.daemons().find(|(name, _)| *name == host).map(|(_, id)| id)
    }
}

/// Brings up the coordinator and a daemon for each host, streams the frames of a deployment, and ends everything.
/// `folder` is for what the processes need and write; `meanwhile` is called again and again.
///
/// # Errors
/// With what does not fit or does not start.
pub fn launch(
    deployment: &Deployment,
    folder: &Path,
    options: &LaunchOptions,
    meanwhile: &mut dyn FnMut(&Running<'_>),
) -> Result<Report> {
    // What does not fit together is known before anything is started.
    let loaded = deployment.clone().load()?.with_inputs()?;
    let deployment = loaded.with_paths_for_all()?;
    deployment.trace.iter().try_for_each(|path| millstream_api::files::check_writable(path))?;
    let hosts: Vec<String> = loaded.hosts.system().hosts().iter().map(|host| host.id.clone()).collect();
    let machines = machines(&hosts, options, &loaded)?;
    let frames = front::Frames::new(&loaded)?;

    let dora = options.engine(folder)?;
    let socket = folder.join("front.sock");
    let transport = gateway::open(&socket)?;
    let flow = Dataflow {
        program: options.program.clone(),
        socket: socket.clone(),
        deployment: dora.deployment(),
        machines: machines.clone(),
        in_flight: loaded.in_flight(),
    };
    let text = serde_json::to_string_pretty(&deployment)?;
    let mut processes = Processes::start(dora, machines, &text, Box::new(move |left_out| flow.without(left_out)))?;
    let report = stream(&loaded, &frames, transport, &mut Supervised { processes: &mut processes, options, meanwhile });
    let _ = fs::remove_file(socket);
    report
}

/// What is looked after while frames flow.
struct Supervised<'a> {
    processes: &'a mut Processes,
    options: &'a LaunchOptions,
    meanwhile: &'a mut dyn FnMut(&Running<'_>),
}

/// Tells the front that all is over, whatever ends the watch over it.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Streams all frames in a thread of its own.
fn stream(
    loaded: &LoadedDeployment,
    frames: &front::Frames,
    transport: Transport,
    supervised: &mut Supervised<'_>,
) -> Result<Report> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let run = || front::run(loaded, frames, transport, &is_over);
        let front = thread::Builder::new().name("front".to_owned()).spawn_scoped(scope, run);
        let front = front.context("cannot start a thread")?;
        let over = Over(&is_over);
        let watched = supervised.watch(&|| front.is_finished());
        drop(over);
        let report = front.join().map_err(|_| anyhow!("the thread of the front panicked"));
        match (watched, report?) {
            // What came of the frames until then.
            (Err(error), Ok(report)) if report.error.as_deref() == Some(front::INTERRUPTED) => {
                Ok(Report { error: Some(format!("{error:#}")), ..report })
            }
            (watched, report) => watched.and(report),
        }
    })
}

impl Supervised<'_> {
    /// Keeps everything going until the frames are through.
    fn watch(&mut self, is_done: &dyn Fn() -> bool) -> Result<()> {
        let begin = Instant::now();
        while !is_done() {
            self.options.check_wanted(begin)?;
            for machine in self.processes.supervise()? {
                tracing::warn!("the daemon of '{machine}' ended and was started again");
            }
            (self.meanwhile)(&Running { processes: self.processes });
            thread::sleep(LOOK);
        }
        Ok(())
    }
}

/// The front's machine, which is this one, and those of all hosts.
fn machines(hosts: &[String], options: &LaunchOptions, loaded: &LoadedDeployment) -> Result<Vec<MachinePlace>> {
    if let Some((unknown, _)) = options.via.iter().find(|(host, _)| !hosts.contains(host)) {
        bail!("the system has no host '{unknown}', only {}", hosts.join(", "));
    }
    let mut machines = vec![options.front_machine()?];
    for host in hosts {
        machines.push(options.machine(&loaded.hosts, host)?);
    }
    Ok(machines)
}
