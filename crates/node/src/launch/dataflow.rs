//! The dataflow that dora-rs runs.

use std::collections::BTreeMap;
use std::path::Path;

use millstream_distributed::{HostId, Peer};
use serde_json::{Map, Value, json};

use super::machine::MachinePlace;
use crate::dora::{input, node_name, output};
use crate::gateway::FRONT;

/// The variable that names the file of the deployment for its processes.
pub const DEPLOYMENT: &str = "MILLSTREAM_DEPLOYMENT";
/// The variable that names the host for its process.
pub const HOST: &str = "MILLSTREAM_HOST";
/// The machine that the front is on.
pub(crate) const FRONT_MACHINE: &str = "millstream-front";
/// Places in queues beside those for frames, for questions and answers whether hosts are there.
const BESIDE_FRAMES: usize = 64;

/// What processes of the dataflow find by their environment.
pub(crate) struct Files<'a> {
    /// The socket of the front.
    pub(crate) socket: &'a Path,
    /// What hosts run.
    pub(crate) deployment: &'a Path,
}

/// The dataflow of a front and hosts, everybody with everybody, since schedules may change. Queues have room for all
/// frames that may be under way, so none is dropped. It is JSON, which YAML contains. The first machine is the front's,
/// the others are the hosts'.
pub(crate) fn dataflow(program: &Path, files: &Files<'_>, machines: &[MachinePlace], in_flight: usize) -> Value {
    let hosts = (0..machines.len().saturating_sub(1)).map(|host| Peer::Host(HostId(host)));
    let peers: Vec<Peer> = std::iter::once(Peer::Front).chain(hosts).collect();
    let node = |(&peer, machine): (&Peer, &MachinePlace)| {
        let others = peers.iter().filter(|&&other| other != peer);
        let inputs: Map<String, Value> = others
            .clone()
            .map(|&other| {
                let source = format!("{}/{}", node_name(other), output(peer));
                (input(other), json!({"source": source, "queue_size": in_flight + BESIDE_FRAMES}))
            })
            .collect();
        let outputs: Vec<String> = others.map(|&other| output(other)).collect();

        let mut environment = inherited(machine.is_here());
        let verb = match peer {
            Peer::Front => {
                environment.insert(FRONT.to_owned(), files.socket.display().to_string());
                "gateway"
            }
            Peer::Host(_) => {
                environment.insert(DEPLOYMENT.to_owned(), files.deployment.display().to_string());
                environment.insert(HOST.to_owned(), machine.name.clone());
                "host"
            }
        };

        json!({
            "id": node_name(peer),
            "path": program.display().to_string(),
            "args": verb,
            "env": environment,
            "deploy": {"machine": machine.name},
            "restart_policy": "on-failure",
            "inputs": inputs,
            "outputs": outputs,
        })
    };
    json!({"nodes": peers.iter().zip(machines).map(node).collect::<Vec<_>>()})
}

/// What other processes need of this one's environment: elsewhere, folders and libraries are in other places.
fn inherited(is_here: bool) -> BTreeMap<String, String> {
    let everywhere = ["MILLSTREAM_LOG", "RUST_BACKTRACE"];
    let here: &[&str] = if is_here { &["HOME", "ORT_DYLIB_PATH", "XDG_CACHE_HOME"] } else { &[] };
    let names = everywhere.into_iter().chain(here.iter().copied());
    names.filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::{FRONT_MACHINE, Files, MachinePlace, dataflow};

    #[test]
    fn everybody_hears_everybody_with_room_for_all_frames() {
        let machine = |(name, via): (&str, &[&str])| MachinePlace {
            name: name.to_owned(),
            address: "127.0.0.1".to_owned(),
            via: via.iter().map(|word| (*word).to_owned()).collect(),
            port: 1,
        };
        let machines = [(FRONT_MACHINE, &[][..]), ("rk", &[]), ("pi", &["ssh", "pi"])].map(machine);
        let files = Files { socket: "/tmp/front.sock".as_ref(), deployment: "/tmp/deployment.json".as_ref() };
        let flow = dataflow("/bin/node".as_ref(), &files, &machines, 6);
        let nodes = flow["nodes"].as_array().unwrap_or_else(|| unreachable!());
        assert_eq!(nodes.len(), 3);
        for node in nodes {
            assert_eq!(node["inputs"].as_object().map(serde_json::Map::len), Some(2));
            for (name, input) in node["inputs"].as_object().into_iter().flatten() {
                assert!(input["queue_size"].as_u64() >= Some(6), "{name}");
                let (other, output) =
                    input["source"].as_str().and_then(|source| source.split_once('/')).unwrap_or_default();
                let other = nodes.iter().find(|node| node["id"] == other).unwrap_or_else(|| unreachable!());
                assert!(
                    other["outputs"].as_array().is_some_and(|outputs| outputs.iter().any(|known| known == output)),
                    "{name}"
                );
            }
        }
        assert_eq!(nodes[2]["deploy"]["machine"], "pi");
        let finds = |node: usize| nodes[node]["env"]["HOME"].is_string();
        assert_eq!([finds(1), finds(2)], [std::env::var_os("HOME").is_some(), false]);
        assert_eq!(nodes[2]["inputs"]["from-0"]["source"], "host-0/to-1");
    }
}
