//! Links between hosts, measured through the engine.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use millstream_api::Hosts;
use millstream_api::board::{Duplex, TransferPrecision};
use millstream_report::{Align, Table};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::machine::MachinePlace;
use super::processes::Processes;
use super::{LOOK, LaunchOptions};
use crate::dora::{input, node_name, output};
use crate::meter::{Direction, SIZES};
use millstream_distributed::{HostId, Peer};

/// The variable that names the file for a meter's results.
pub const METER: &str = "MILLSTREAM_METER";
/// Places in the queues of the two ends.
const QUEUE: usize = 64;

/// A link that was measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredLink {
    /// Its ends.
    pub hosts: [String; 2],
    /// What the system file says 32-bit floats are sent as.
    #[serde(default, skip_serializing_if = "TransferPrecision::is_full")]
    pub precision: TransferPrecision,
    /// Whether it can be used in both directions at once, by the system file.
    #[serde(default)]
    pub duplex: Duplex,
    /// Both directions, idle and busy, as the first host saw them.
    pub directions: Vec<Direction>,
}

impl MeasuredLink {
    /// The link as a system file has it, by what was measured while both hosts were idle: the slower direction counts.
    pub fn document(&self, when: &str) -> serde_json::Value {
        let idle = || self.directions.iter().filter(|direction| !direction.is_busy);
        let most = |of: fn(&Direction) -> f64| idle().map(of).fold(0.0, f64::max);
        let per_byte = most(|direction| direction.among_others.seconds_per_byte);
        let bytes_per_second = if per_byte > 0.0 { 1.0 / per_byte } else { 0.0 };
        let [one, other] = &self.hosts;
        let cpu = json!({
            one: most(|direction| direction.meter_cpu_seconds_per_byte),
            other: most(|direction| direction.echo_cpu_seconds_per_byte),
        });
        let mut document = json!({
            "hosts": [one, other],
            "duplex": self.duplex,
            "latency_seconds": most(|direction| direction.alone.seconds),
            "bytes_per_second": bytes_per_second,
            "cpu_seconds_per_byte": cpu,
            "origin": format!("measured {when}, through dora-rs"),
        });
        if let (Some(document), false) = (document.as_object_mut(), self.precision.is_full()) {
            document.insert("precision".to_owned(), json!(self.precision));
        }
        document
    }
}

/// Measures the ways between each two of a system's hosts that have a link, one after the other.
///
/// # Errors
/// With what does not start, or which host does not answer.
pub fn measure_links(hosts: &Hosts, folder: &Path, options: &LaunchOptions) -> Result<Vec<MeasuredLink>> {
    let links = hosts.system().links();
    if links.is_empty() {
        bail!("the system '{}' has no link; say between which hosts there are some", hosts.system().name());
    }
    let measure = |(place, link): (usize, &millstream_api::board::HostLink)| {
        let link_folder = folder.join(format!("link-{place}"));
        fs::create_dir_all(&link_folder).with_context(|| format!("cannot make {}", link_folder.display()))?;
        let directions = measure_link(hosts, &link.hosts, &link_folder, options);
        let directions = directions.with_context(|| format!("the link {}", link.name()))?;
        let (precision, duplex) = (link.precision, link.duplex);
        Ok(MeasuredLink { hosts: link.hosts.clone(), precision, duplex, directions })
    };
    links.iter().enumerate().map(measure).collect()
}

fn measure_link(hosts: &Hosts, ends: &[String; 2], folder: &Path, options: &LaunchOptions) -> Result<Vec<Direction>> {
    let machines = ends.iter().map(|host| options.machine(hosts, host)).collect::<Result<Vec<_>>>()?;
    let results = folder.join("results.json");
    let flow = dataflow(options, ends, &results);
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

fn dataflow(options: &LaunchOptions, ends: &[String; 2], results: &Path) -> serde_json::Value {
    let [meter, echo] = [Peer::Front, Peer::Host(HostId(0))];
    let node = |peer: Peer, other: Peer, verb: &str, machine: &String| {
        let source = format!("{}/{}", node_name(other), output(peer));
        json!({
            "id": node_name(peer),
            "path": options.program.display().to_string(),
            "args": verb,
            "env": {METER: results.display().to_string()},
            "deploy": {"machine": machine},
            "inputs": {input(other): {"source": source, "queue_size": QUEUE}},
            "outputs": [output(other)],
        })
    };
    json!({"nodes": [node(meter, echo, "meter", &ends[0]), node(echo, meter, "echo", &ends[1])]})
}

/// Times for people.
pub fn text(links: &[MeasuredLink]) -> String {
    let mut table = Table::new([
        ("from", Align::Left),
        ("to", Align::Left),
        ("hosts", Align::Left),
        ("latency ms", Align::Right),
        ("R2", Align::Right),
        ("MB/s", Align::Right),
        ("R2", Align::Right),
        ("1 MiB ms", Align::Right),
        ("lost", Align::Right),
    ]);

    for link in links {
        for direction in &link.directions {
            let [one, other] = &link.hosts;
            let (from, to) = if direction.sends { (one, other) } else { (other, one) };
            let large = direction.samples.iter().find(|sample| sample.bytes == SIZES[4]);
            table.row([
                from.clone(),
                to.clone(),
                if direction.is_busy { "busy" } else { "idle" }.to_owned(),
                format!("{:.3}", direction.alone.seconds * 1e3),
                format!("{:.3}", direction.alone.r_squared),
                format!("{:.1}", 1e-6 / direction.among_others.seconds_per_byte.max(1e-15)),
                format!("{:.3}", direction.among_others.r_squared),
                large.map_or_else(|| "-".to_owned(), |sample| format!("{:.3}", sample.alone_seconds * 1e3)),
                direction.lost.to_string(),
            ]);
        }
    }
    table.to_string()
}
