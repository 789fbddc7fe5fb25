//! Messages between threads of one process: what tests run systems with.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use crossbeam_channel::{Sender, unbounded};
use millstream_distributed::{HostId, Peer};

use crate::transport::{Incoming, Outlet, Transport};

struct ChannelOutlet {
    from: Peer,
    others: BTreeMap<Peer, Sender<Incoming>>,
}

impl Outlet for ChannelOutlet {
    fn send(&mut self, to: Peer, bytes: &[u8]) -> Result<()> {
        let other = self.others.get(&to).with_context(|| format!("there is no way to {to}"))?;
        // What goes to somebody who has ended is lost.
        let _ = other.send(Incoming { from: self.from, bytes: bytes.to_vec() });
        Ok(())
    }
}

/// The ends of the front and of so many hosts.
pub fn transports(hosts: usize) -> (Transport, Vec<Transport>) {
    let peers: Vec<Peer> =
        std::iter::once(Peer::Front).chain((0..hosts).map(|host| Peer::Host(HostId(host)))).collect();
    let channels: Vec<_> = peers.iter().map(|_| unbounded()).collect();
    let others: BTreeMap<Peer, Sender<Incoming>> =
        peers.iter().copied().zip(channels.iter().map(|(sender, _)| sender.clone())).collect();
    let end = |(from, (_, inlet)): (&Peer, _)| Transport {
        outlet: Box::new(ChannelOutlet { from: *from, others: others.clone() }),
        inlet,
    };
    let mut ends = peers.iter().zip(channels).map(end);
    let front = ends.next().unwrap_or_else(|| unreachable!("the front is the first"));
    (front, ends.collect())
}
