//! What carries messages between processes.

use anyhow::Result;
use crossbeam_channel::Receiver;
use millstream_distributed::Peer;

/// A process's end of whatever carries messages.
pub struct Transport {
    /// Sends.
    pub outlet: Box<dyn Outlet>,
    /// What comes. It is closed when nothing can come any more.
    pub inlet: Receiver<Incoming>,
}

/// Sends messages.
pub trait Outlet: Send {
    /// Hands a message over; it may be lost on the way, but none overtakes another of the same receiver.
    ///
    /// # Errors
    /// If nothing can be sent any more.
    fn send(&mut self, to: Peer, bytes: &[u8]) -> Result<()>;
}

/// A message that came.
#[derive(Debug)]
pub struct Incoming {
    /// Who sent it.
    pub from: Peer,
    /// It.
    pub bytes: Vec<u8>,
}
