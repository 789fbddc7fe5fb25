//! Links between hosts, measured through the engine.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use millstream_api::Hosts;
use serde_json::json;

use super::machine::MachinePlace;
use super::measured::{MeasuredFrames, MeasuredLink, MeasuredSystem};
use super::processes::Processes;
use super::{LOOK, LaunchOptions};
use crate::dora::{input, node_name, output};
use crate::meter::Direction;
use millstream_distributed::{HostId, Peer};

/// The variable that names the file for a meter's results.
pub const METER: &str = "MILLSTREAM_METER";
/// Places in the queues of the two ends.
const QUEUE: usize = 64;

/// Measures the ways between each two of a system's hosts that have a link, and those of frames from here to each host,
/// one after the other.
///
/// # Errors
/// With what does not start, or which host does not answer.
pub fn measure_links(hosts: &Hosts, folder: &Path, options: &LaunchOptions) -> Result<MeasuredSystem> {
    let links = hosts.system().links();
    if links.is_empty() {
        bail!("the system '{}' has no link; say between which hosts there are some", hosts.system().name());
    }
    let measure = |(place, link): (usize, &millstream_api::board::HostLink)| {
        let ends = link.hosts.iter().map(|host| options.machine(hosts, host)).collect::<Result<Vec<_>>>()?;
        let directions = measure_way(ends, "meter", &folder.join(format!("link-{place}")), options);
        let directions = directions.with_context(|| format!("the link {}", link.name()))?;
        let (precision, duplex) = (link.precision, link.duplex);
        Ok(MeasuredLink { hosts: link.hosts.clone(), precision, duplex, directions })
    };
    let links = links.iter().enumerate().map(measure).collect::<Result<_>>()?;
    let measure = |host: &millstream_api::board::Host| measure_frames(hosts, &host.id, folder, options);
    let frames = hosts.system().hosts().iter().map(measure).collect::<Result<_>>()?;
    Ok(MeasuredSystem { links, frames })
}

/// Measures the way of frames from here to a host.
fn measure_frames(hosts: &Hosts, host: &str, folder: &Path, options: &LaunchOptions) -> Result<MeasuredFrames> {
    let ends = vec![options.front_machine()?, options.machine(hosts, host)?];
    let directions = measure_way(ends, "meter --idle", &folder.join(format!("frames-{host}")), options);
    let directions = directions.with_context(|| format!("the way of frames to '{host}'"))?;
    Ok(MeasuredFrames { host: host.to_owned(), directions })
}

/// Measures the way between two machines, on the first of which the meter is. The folder is made.
fn measure_way(
    machines: Vec<MachinePlace>,
    meter: &str,
    folder: &Path,
    options: &LaunchOptions,
) -> Result<Vec<Direction>> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let results = folder.join("results.json");
    let flow = dataflow(options, meter, &machines, &results);
    let dora = options.engine(folder)?;
    let via = machines.first().map(MachinePlace::words).unwrap_or_default();
    let mut processes = Processes::start(dora, machines, "", Box::new(move |_| flow.clone()))?;
    let text = await_results(&results, &via, &mut processes, options)?;
    let told: Result<Vec<Direction>, String> = serde_json::from_str(&text).context("cannot read the results")?;
    told.map_err(anyhow::Error::msg)
}

/// Waits for the results, which are on the first host.
fn await_results(file: &Path, via: &[String], processes: &mut Processes, options: &LaunchOptions) -> Result<String> {
    let begin = Instant::now();
    loop {
        let had_begun = processes.runs();
        if let [machine, ..] = &processes.supervise()?[..]
            && had_begun
        {
            bail!("the daemon of '{machine}' ended while its link was measured");
        }
        match via.split_first() {
            None if file.is_file() => return fs::read_to_string(file).context("cannot read the results"),
            None => {}
            Some((program, words)) => {
                let read = std::process::Command::new(program).args(words).arg("cat").arg(file).output();
                if let Ok(output) = read
                    && output.status.success()
                {
                    return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
                }
            }
        }
        options.check_wanted(begin)?;
        thread::sleep(if via.is_empty() { LOOK } else { LOOK * 10 });
    }
}

fn dataflow(options: &LaunchOptions, meter: &str, machines: &[MachinePlace], results: &Path) -> serde_json::Value {
    let ends = [(Peer::Front, Peer::Host(HostId(0)), meter), (Peer::Host(HostId(0)), Peer::Front, "echo")];
    let node = |((peer, other, verb), machine): ((Peer, Peer, &str), &MachinePlace)| {
        let source = format!("{}/{}", node_name(other), output(peer));
        json!({
            "id": node_name(peer),
            "path": options.program.display().to_string(),
            "args": verb,
            "env": {METER: results.display().to_string()},
            "deploy": {"machine": machine.name},
            "inputs": {input(other): {"source": source, "queue_size": QUEUE}},
            "outputs": [output(other)],
        })
    };
    json!({"nodes": ends.into_iter().zip(machines).map(node).collect::<Vec<_>>()})
}
