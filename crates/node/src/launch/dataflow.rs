//! The dataflow that dora-rs runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

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

/// The dataflow of a gateway to the front and of hosts, everybody with everybody, since schedules may change. Queues have
/// room for all frames that may be under way, so none is dropped.
pub(crate) struct Dataflow {
    /// What all processes run.
    pub(crate) program: PathBuf,
    /// The socket of the front.
    pub(crate) socket: PathBuf,
    /// What hosts run.
    pub(crate) deployment: PathBuf,
    /// First that of the front, then those of the hosts.
    pub(crate) machines: Vec<MachinePlace>,
    /// How many frames may be under way.
    pub(crate) in_flight: usize,
}

impl Dataflow {
    /// It without some machines, as JSON, which YAML contains.
    pub(crate) fn without(&self, left_out: &BTreeSet<String>) -> Value {
        let peers = std::iter::once(Peer::Front).chain((0..).map(|host| Peer::Host(HostId(host))));
        let there: Vec<(Peer, &MachinePlace)> =
            peers.zip(&self.machines).filter(|(_, machine)| !left_out.contains(&machine.name)).collect();
        json!({"nodes": there.iter().map(|node| self.node(node, &there)).collect::<Vec<_>>()})
    }

    fn node(&self, &(peer, machine): &(Peer, &MachinePlace), there: &[(Peer, &MachinePlace)]) -> Value {
        let others = there.iter().map(|&(other, _)| other).filter(|&other| other != peer);
        let from = |other: Peer| {
            let source = format!("{}/{}", node_name(other), output(peer));
            (input(other), json!({"source": source, "queue_size": self.in_flight + BESIDE_FRAMES}))
        };
        let inputs: Map<String, Value> = others.clone().map(from).collect();
        let outputs: Vec<String> = others.map(output).collect();

        let mut environment = inherited(machine.is_here());
        let verb = match peer {
            Peer::Front => {
                environment.insert(FRONT.to_owned(), self.socket.display().to_string());
                "gateway"
            }
            Peer::Host(_) => {
                environment.insert(DEPLOYMENT.to_owned(), self.deployment.display().to_string());
                environment.insert(HOST.to_owned(), machine.name.clone());
                "host"
            }
        };
        json!({
            "id": node_name(peer),
            "path": self.program.display().to_string(),
            "args": verb,
            "env": environment,
            "deploy": {"machine": machine.name},
            "restart_policy": "on-failure",
            "inputs": inputs,
            "outputs": outputs,
        })
    }
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
    use std::collections::BTreeSet;

    use super::{Dataflow, FRONT_MACHINE, MachinePlace};

    #[test]
    fn everybody_hears_everybody_with_room_for_all_frames() {
        let machine = |(name, via): (&str, &[&str])| MachinePlace {
            name: name.to_owned(),
            address: "127.0.0.1".to_owned(),
            via: via.iter().map(|word| (*word).to_owned()).collect(),
            port: 1,
        };
        let machines = [(FRONT_MACHINE, &[][..]), ("rk", &[]), ("pi", &["ssh", "pi"])].map(machine);
        let flow = Dataflow {
            program: "/bin/node".into(),
            socket: "/tmp/front.sock".into(),
            deployment: "/tmp/deployment.json".into(),
            machines: machines.to_vec(),
            in_flight: 6,
        };

        let alone = flow.without(&BTreeSet::from(["rk".to_owned()]));
        let flow = flow.without(&BTreeSet::new());
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
        // Hosts keep their numbers when one of them is away.
        let names: Vec<&str> =
            alone["nodes"].as_array().into_iter().flatten().filter_map(|node| node["id"].as_str()).collect();
        assert_eq!(names, ["front", "host-1"]);
        assert_eq!(alone["nodes"][0]["outputs"], serde_json::json!(["to-1"]));
        let finds = |node: usize| nodes[node]["env"]["HOME"].is_string();
        assert_eq!([finds(1), finds(2)], [std::env::var_os("HOME").is_some(), false]);
        assert_eq!(nodes[2]["inputs"]["from-0"]["source"], "host-0/to-1");
    }
}
