//! The dataflow that dora-rs runs.

use std::collections::BTreeMap;
use std::path::Path;

use millstream_distributed::{HostId, Peer};
use serde_json::{Map, Value, json};

use crate::dora::{input, node_name, output};

/// The variable that names the file of the deployment for its processes.
pub const DEPLOYMENT: &str = "MILLSTREAM_DEPLOYMENT";
/// The variable that names the host for its process.
pub const HOST: &str = "MILLSTREAM_HOST";
/// The machine that the front is on.
pub(crate) const FRONT_MACHINE: &str = "millstream-front";
/// Places in queues beside those for frames, for questions and answers whether hosts are there.
const BESIDE_FRAMES: usize = 64;

/// The dataflow of a front and hosts, everybody with everybody, since schedules may change. Queues have room for all
/// frames that may be under way, so none is dropped. It is JSON, which YAML contains.
pub(crate) fn dataflow(program: &Path, deployment: &Path, hosts: &[String], in_flight: usize) -> Value {
    let peers: Vec<Peer> =
        std::iter::once(Peer::Front).chain((0..hosts.len()).map(|host| Peer::Host(HostId(host)))).collect();
    let node = |&peer: &Peer| {
        let others = peers.iter().filter(|&&other| other != peer);
        let inputs: Map<String, Value> = others
            .clone()
            .map(|&other| {
                let source = format!("{}/{}", node_name(other), output(peer));
                (input(other), json!({"source": source, "queue_size": in_flight + BESIDE_FRAMES}))
            })
            .collect();
        let outputs: Vec<String> = others.map(|&other| output(other)).collect();

        let mut environment = inherited();
        environment.insert(DEPLOYMENT.to_owned(), deployment.display().to_string());
        let (verb, machine, policy) = match peer {
            Peer::Front => ("front", FRONT_MACHINE.to_owned(), "never"),
            Peer::Host(HostId(place)) => ("host", hosts.get(place).cloned().unwrap_or_default(), "on-failure"),
        };
        if let Peer::Host(_) = peer {
            environment.insert(HOST.to_owned(), machine.clone());
        }

        json!({
            "id": node_name(peer),
            "path": program.display().to_string(),
            "args": verb,
            "env": environment,
            "deploy": {"machine": machine},
            "restart_policy": policy,
            "inputs": inputs,
            "outputs": outputs,
        })
    };
    json!({"nodes": peers.iter().map(node).collect::<Vec<_>>()})
}

/// What processes elsewhere need of this one's environment.
fn inherited() -> BTreeMap<String, String> {
    let names = ["HOME", "ORT_DYLIB_PATH", "MILLSTREAM_LOG", "XDG_CACHE_HOME", "RUST_BACKTRACE"];
    names.into_iter().filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::dataflow;

    #[test]
    fn everybody_hears_everybody_with_room_for_all_frames() {
        let hosts = ["rk".to_owned(), "pi".to_owned()];
        let flow = dataflow("/bin/node".as_ref(), "/tmp/deployment.json".as_ref(), &hosts, 6);
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
        assert_eq!(nodes[2]["inputs"]["from-0"]["source"], "host-0/to-1");
    }
}
