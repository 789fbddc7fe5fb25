//! The command `millstream-node`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool prints")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand};
use millstream_api::Hosts;
use millstream_node::deployment::{Deployment, LoadedDeployment};
use millstream_node::gateway::{self, FRONT};
use millstream_node::launch::{DEPLOYMENT, HOST, LaunchOptions, METER, launch, measure_links};
use millstream_node::meter::Pace;
use millstream_node::{dora, host, meter};

/// Runs a network over several machines, on dora-rs
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Bring up the hosts of a system, stream frames through them, check every result, and end everything
    Run(RunCommand),
    /// Measure the links of a system through the engine, with both hosts idle and busy, and the ways of frames from here,
    /// and print them as a system file has them
    MeasureLinks(LinksCommand),
    /// Be one end of a link that is measured; `measure-links` has dora-rs start it
    #[command(hide = true)]
    Meter {
        /// Only while both ends have nothing else to do
        #[arg(long)]
        idle: bool,
    },
    /// Be the other end
    #[command(hide = true)]
    Echo,
    /// Be the process of a host; `run` has dora-rs start it
    #[command(hide = true)]
    Host,
    /// Be the way from a dataflow to whoever has frames; `run` has dora-rs start it
    #[command(hide = true)]
    Gateway,
}

#[derive(Debug, Args)]
struct RunCommand {
    /// The system file: hosts and the links between them
    #[arg(long, value_name = "FILE")]
    system: PathBuf,
    /// The network, if it is somewhere else than the schedule says
    #[arg(long)]
    model: Option<String>,
    /// What `schedule --system` wrote
    #[arg(long, value_name = "FILE", default_value = "schedule.json")]
    schedule: PathBuf,
    /// A schedule for when hosts are lost, as `schedule --system --without HOST` writes it; may be given several times,
    /// the best first
    #[arg(long, value_name = "FILE")]
    fallback: Vec<PathBuf>,
    /// Frames for an input: a .npy, .npz, PNG or JPEG file, or a folder of them; may be repeated. They take turns
    /// [default: made-up frames]
    #[arg(long = "input", value_name = "[NAME=]PATH")]
    inputs: Vec<String>,
    /// Results that the frames should have: a .npz or .npy file for all of them, or a folder with a .npz file for each
    #[arg(long, value_name = "PATH", requires = "inputs")]
    expect: Option<PathBuf>,
    /// How far floats may be from what is expected, relative to the largest element [default: what fits each type]
    #[arg(long, value_name = "NUMBER", value_parser = parse_tolerance, requires = "expect")]
    tolerance: Option<f64>,
    /// Write what each stage did when as a trace, which Perfetto opens: of each host the last 10000 frames since its
    /// process was started
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Frames to stream
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    frames: u64,
    /// Most frames that are under way at once [default: as suits the schedule]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    in_flight: Option<u16>,
    #[command(flatten)]
    engine: EngineArguments,
    /// Write the report as JSON
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct LinksCommand {
    /// The system file; what it says of its links so far does not matter
    #[arg(long, value_name = "FILE")]
    system: PathBuf,
    #[command(flatten)]
    engine: EngineArguments,
    /// Print everything that was measured as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct EngineArguments {
    /// The program of dora-rs, from the Python package dora-rs-cli 1.1.0
    #[arg(long, value_name = "PROGRAM", env = "MILLSTREAM_DORA", default_value = "dora")]
    dora: PathBuf,
    /// The address at which the hosts reach this computer
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    address: String,
    /// What a command on a host that is not this computer begins with; the same files must be there at the same paths
    #[arg(long, value_name = "HOST=COMMAND", value_parser = parse_via)]
    via: Vec<(String, Vec<String>)>,
    /// Let all that goes between machines go through the connections of ssh in --via: encrypted, and by way of this
    /// computer
    #[arg(long, requires = "via", conflicts_with = "address")]
    tunnel: bool,
}

impl EngineArguments {
    /// Ends early when somebody wants it to.
    fn options(&self) -> Result<LaunchOptions> {
        let program = std::env::current_exe().context("cannot tell where this program is")?;
        let mut options = LaunchOptions::new(program);
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&options.is_over)).context("cannot listen for signals")?;
        }
        options.dora.clone_from(&self.dora);
        options.address.clone_from(&self.address);
        options.via.clone_from(&self.via);
        options.is_tunnelled = self.tunnel;
        Ok(options)
    }
}

/// `rk=ssh me@rk.local`.
fn parse_via(text: &str) -> Result<(String, Vec<String>), String> {
    let wrong = || format!("'{text}' is not HOST=COMMAND");
    let (host, command) = text.split_once('=').ok_or_else(wrong)?;
    let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    if host.is_empty() || words.is_empty() { Err(wrong()) } else { Ok((host.to_owned(), words)) }
}

/// A number from 0, which is relative to something.
fn parse_tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| format!("'{text}' is no number from 0"))
}

fn main() -> ExitCode {
    let filter = tracing_subscriber::EnvFilter::try_from_env("MILLSTREAM_LOG");
    let filter = filter.unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let done = match Arguments::parse().verb {
        Verb::Run(command) => run(&command),
        Verb::MeasureLinks(command) => measure(&command).map(|()| ExitCode::SUCCESS),
        Verb::Meter { idle } => be_meter(idle).map(|()| ExitCode::SUCCESS),
        Verb::Echo => dora::join().and_then(meter::echo).map(|()| ExitCode::SUCCESS),
        Verb::Host => be_host().map(|()| ExitCode::SUCCESS),
        Verb::Gateway => be_gateway().map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(command: &RunCommand) -> Result<ExitCode> {
    let folder = tempfile::Builder::new().prefix("millstream-node-").tempdir().context("cannot make a folder")?;
    let absolute = |path: &PathBuf| std::path::absolute(path).with_context(|| path.display().to_string());
    // A built-in system has no path.
    let system = if command.system.exists() { absolute(&command.system)? } else { command.system.clone() };
    let schedules = std::iter::once(&command.schedule).chain(&command.fallback);

    let deployment = Deployment {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        system,
        model: command.model.clone(),
        schedules: schedules.map(absolute).collect::<Result<_>>()?,
        inputs: command.inputs.iter().map(|input| absolute_input(input)).collect::<Result<_>>()?,
        frames: command.frames,
        in_flight: command.in_flight.map(usize::from),
        expected: command.expect.as_ref().map(absolute).transpose()?,
        tolerance: command.tolerance,
        trace: command.trace.as_ref().map(absolute).transpose()?,
    };

    let options = command.engine.options()?;
    let launched = launch(&deployment, folder.path(), &options, &mut |_| {});
    let has_logs = folder.path().join("coordinator.log").is_file();
    let has_failed = launched.as_ref().map_or(true, |report| report.error.is_some());
    if has_failed && has_logs && !options.is_over.load(Ordering::Relaxed) {
        // What the engine wrote says why.
        let kept = folder.keep();
        eprintln!("the logs of dora-rs are in {}", kept.display());
    }
    let report = launched?;
    if let Some(path) = &command.output {
        millstream_api::files::write(path, &serde_json::to_string_pretty(&report)?)?;
    }
    if command.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        println!("{}", report.text());
    }
    match &report.error {
        Some(error) => bail!("{error}"),
        None => Ok(if report.is_right() { ExitCode::SUCCESS } else { ExitCode::FAILURE }),
    }
}

/// The same from any folder; what stands before an equals sign is the name of an input, unless there is a file of the
/// whole name.
fn absolute_input(input: &str) -> Result<String> {
    let (name, path) = match input.split_once('=') {
        Some((name, path)) if !Path::new(input).exists() => (format!("{name}="), path),
        _ => (String::new(), input),
    };
    let path = std::path::absolute(path).with_context(|| format!("the input '{input}'"))?;
    Ok(format!("{name}{}", path.display()))
}

fn measure(command: &LinksCommand) -> Result<()> {
    let hosts = Hosts::read(&command.system)?;
    let folder = tempfile::Builder::new().prefix("millstream-node-").tempdir().context("cannot make a folder")?;
    let measured = measure_links(&hosts, folder.path(), &command.engine.options()?)?;
    if command.json {
        println!("{}", serde_json::to_string_pretty(&measured)?);
        return Ok(());
    }
    println!("{}\n\nFor the system file, by what was measured while both ends were idle:\n", measured.text());
    for frames in &measured.frames {
        println!("host {}: {}", frames.host, serde_json::to_string(&frames.document())?);
    }
    let when = millstream_api::provenance().created;
    let documents: Vec<_> = measured.links.iter().map(|link| link.document(&when)).collect();
    println!("\n\"links\": {}", serde_json::to_string_pretty(&documents)?);
    Ok(())
}

fn be_meter(is_idle: bool) -> Result<()> {
    let results = std::env::var_os(METER).context("this is for dora-rs to start; use `measure-links`")?;
    let told = dora::join()
        .and_then(|transport| meter::measure(transport, Pace { is_busy_too: !is_idle, ..Pace::default() }))
        .map_err(|error| format!("{error:#}"));
    millstream_api::files::write(&PathBuf::from(results), &serde_json::to_string(&told)?)?;
    Ok(())
}

/// What this process was started with.
fn loaded() -> Result<LoadedDeployment> {
    let path = std::env::var_os(DEPLOYMENT).context("this is for dora-rs to start; use `millstream-node run`")?;
    Deployment::read(&PathBuf::from(path))?.load()
}

fn be_host() -> Result<()> {
    let name = std::env::var(HOST).context("this is for dora-rs to start; use `millstream-node run`")?;
    // First of all, since the others wait until everybody has joined.
    let transport = dora::join()?;
    host::run(loaded()?, &name, transport)
}

fn be_gateway() -> Result<()> {
    let socket = std::env::var_os(FRONT).context("this is for dora-rs to start; use `millstream-node run`")?;
    gateway::serve(&PathBuf::from(socket))
}
