//! dora-rs as what carries messages.

use std::thread;

use anyhow::{Context, Result, anyhow};
use crossbeam_channel::{Sender, unbounded};
use dora_node_api::dora_core::config::DataId;
use dora_node_api::{DoraNode, Event, EventStream, MetadataParameters, into_vec};
use millstream_distributed::{HostId, Peer};

use crate::transport::{Incoming, Outlet, Transport};

/// What inputs and outputs are called: these, and after them who is at the other end.
const FROM: &str = "from-";
const TO: &str = "to-";
const FRONT: &str = "front";

/// What a peer is called in the engine.
pub(crate) fn peer_name(peer: Peer) -> String {
    match peer {
        Peer::Front => FRONT.to_owned(),
        Peer::Host(HostId(place)) => place.to_string(),
    }
}

/// What a peer's process is called in the engine.
pub(crate) fn node_name(peer: Peer) -> String {
    match peer {
        Peer::Front => FRONT.to_owned(),
        Peer::Host(HostId(place)) => format!("host-{place}"),
    }
}

/// What a peer's input from another is called.
pub(crate) fn input(from: Peer) -> String {
    format!("{FROM}{}", peer_name(from))
}

/// What a peer's output to another is called.
pub(crate) fn output(to: Peer) -> String {
    format!("{TO}{}", peer_name(to))
}

struct DoraOutlet {
    node: DoraNode,
}

impl Outlet for DoraOutlet {
    fn send(&mut self, to: Peer, bytes: &[u8]) -> Result<()> {
        let id = DataId::from(output(to));
        let sent = self.node.send_output_bytes(id, MetadataParameters::default(), bytes.len(), bytes);
        sent.map_err(|error| anyhow!("cannot send to {to}: {error}"))
    }
}

/// Joins the dataflow that started this process.
///
/// # Errors
/// If no dataflow did.
pub fn join() -> Result<Transport> {
    let joined = DoraNode::init_from_env();
    let (node, events) = joined.map_err(|error| anyhow!("cannot join the dataflow of dora-rs: {error}"))?;
    let (sender, inlet) = unbounded();
    let listen = move || listen(events, &sender);
    thread::Builder::new().name("listening".to_owned()).spawn(listen).context("cannot start a thread")?;
    Ok(Transport { outlet: Box::new(DoraOutlet { node }), inlet })
}

/// Takes what comes, at once, so that queues of the engine are empty nearly always.
fn listen(mut events: EventStream, sender: &Sender<Incoming>) {
    while let Some(event) = events.recv() {
        match event {
            Event::Input { id, data, .. } => {
                let Some(from) = peer(&id) else { continue };
                let Ok(bytes) = into_vec::<u8>(&data) else {
                    tracing::warn!("something that is no message came from {from}");
                    continue;
                };
                if sender.send(Incoming { from, bytes }).is_err() {
                    return;
                }
            }
            Event::Stop(_) => return,
            Event::Error(error) => tracing::warn!("dora-rs: {error}"),
            other => tracing::debug!("dora-rs: {other:?}"),
        }
    }
}

/// Whose messages an input takes.
fn peer(input: &str) -> Option<Peer> {
    match input.strip_prefix(FROM)? {
        FRONT => Some(Peer::Front),
        place => place.parse().ok().map(|place| Peer::Host(HostId(place))),
    }
}
