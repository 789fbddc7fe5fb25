//! The front's way into a dataflow: a socket, to which a process of the dataflow brings what hosts send.
//!
//! The front itself is no part of the dataflow, so that a dataflow may end and another begin while frames are under
//! way.

use std::io::{self, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use crossbeam_channel::{Sender, unbounded};
use millstream_distributed::{HostId, Peer};

use crate::dora;
use crate::transport::{Incoming, Outlet, Transport};

/// The variable that names the socket for the process in the dataflow.
pub const FRONT: &str = "MILLSTREAM_FRONT";
/// Whoever reads nothing for so long is given up.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the socket is looked for.
const CONNECT: Duration = Duration::from_secs(10);
/// Bytes before a message: the place of the host, and how many bytes follow.
const HEADER: usize = 4 + 8;

/// Who is connected; nobody while there is no dataflow.
#[derive(Debug, Clone, Default)]
struct Connected(Arc<Mutex<Option<UnixStream>>>);

/// Listens at a socket, and returns the front's end of it. Whoever connects last takes the place of those before.
///
/// # Errors
/// If there can be no such socket.
pub fn open(socket: &Path) -> Result<Transport> {
    let cannot = || format!("cannot listen at {}", socket.display());
    let listener = UnixListener::bind(socket).with_context(cannot)?;
    let connected = Connected::default();
    let (sender, inlet) = unbounded();
    let (outlet, outgoing) = unbounded::<(HostId, Vec<u8>)>();
    let accepting = connected.clone();
    let accept = move || {
        for stream in listener.incoming() {
            let taken = stream.and_then(|stream| take(stream, &accepting, &sender));
            if let Err(error) = taken {
                tracing::warn!("a process of the dataflow can't reach the front: {error}");
                thread::sleep(Duration::from_millis(100));
            }
        }
    };
    thread::Builder::new().name("gateway".to_owned()).spawn(accept).with_context(cannot)?;
    let write = move || outgoing.into_iter().for_each(|(host, bytes)| connected.write(host, &bytes));
    thread::Builder::new().name("gateway writer".to_owned()).spawn(write).with_context(cannot)?;
    Ok(Transport { outlet: Box::new(GatewayOutlet { outlet }), inlet })
}

/// Has what comes by a stream taken, and what goes out go there.
fn take(stream: UnixStream, connected: &Connected, sender: &Sender<Incoming>) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let reading = stream.try_clone()?;
    if let Some(before) = connected.lock().replace(stream) {
        let _ = before.shutdown(Shutdown::Both);
    }
    // What was under way by the one before is lost; the front is told by a message of its own.
    let anew = Incoming { from: Peer::Front, bytes: Vec::new() };
    sender.send(anew).map_err(io::Error::other)?;
    let sender = sender.clone();
    let read = move || {
        let mut reading = BufReader::new(reading);
        while let Ok((host, bytes)) = read_message(&mut reading) {
            if sender.send(Incoming { from: Peer::Host(host), bytes }).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("gateway reader".to_owned()).spawn(read).map(drop)
}

impl Connected {
    fn lock(&self) -> MutexGuard<'_, Option<UnixStream>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes to whoever is connected; what is for nobody is lost.
    fn write(&self, host: HostId, bytes: &[u8]) {
        let Some(mut stream) = self.lock().as_ref().and_then(|stream| stream.try_clone().ok()) else { return };
        if let Err(error) = write_message(&mut stream, host, bytes) {
            tracing::debug!("a process of the dataflow takes no more: {error}");
            // Part of a message may be written, after which nothing can be understood. It ends, and comes again.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Never makes the front wait: credits bound how much is under way.
struct GatewayOutlet {
    outlet: Sender<(HostId, Vec<u8>)>,
}

impl Outlet for GatewayOutlet {
    fn send(&mut self, to: Peer, bytes: &[u8]) -> Result<()> {
        let Peer::Host(host) = to else { return Ok(()) };
        self.outlet.send((host, bytes.to_vec())).context("the way to the dataflow has ended")
    }
}

/// Brings messages from a dataflow to the socket and back, until the dataflow is no more. Nothing is done where nobody
/// listens at the socket.
///
/// # Errors
/// If the front breaks the connection off: then it is worth coming again.
pub fn serve(socket: &Path) -> Result<()> {
    let Transport { mut outlet, inlet } = dora::join()?;
    let Ok(stream) = connect(socket) else { return Ok(()) };
    let mut writing = stream.try_clone().context("cannot share a socket")?;
    let is_stopped = Arc::new(AtomicBool::new(false));
    let stopping = Arc::clone(&is_stopped);
    let write = move || {
        for Incoming { from, bytes } in inlet {
            if let Peer::Host(host) = from
                && write_message(&mut writing, host, &bytes).is_err()
            {
                return;
            }
        }
        stopping.store(true, Ordering::SeqCst);
        let _ = writing.shutdown(Shutdown::Both);
    };
    thread::Builder::new().name("to the front".to_owned()).spawn(write).context("cannot start a thread")?;
    let mut reading = BufReader::new(stream);
    while let Ok((host, bytes)) = read_message(&mut reading) {
        outlet.send(Peer::Host(host), &bytes)?;
    }
    if is_stopped.load(Ordering::SeqCst) { Ok(()) } else { bail!("the front broke the connection off") }
}

fn connect(socket: &Path) -> io::Result<UnixStream> {
    let begin = Instant::now();
    loop {
        match UnixStream::connect(socket) {
            Err(_) if begin.elapsed() < CONNECT => thread::sleep(Duration::from_millis(20)),
            connected => return connected,
        }
    }
}

fn write_message(stream: &mut UnixStream, host: HostId, bytes: &[u8]) -> io::Result<()> {
    let place = u32::try_from(host.0).map_err(io::Error::other)?;
    let mut header = [0; HEADER];
    let (of_host, of_length) = header.split_at_mut(4);
    of_host.copy_from_slice(&place.to_le_bytes());
    of_length.copy_from_slice(&(bytes.len() as u64).to_le_bytes());
    stream.write_all(&header)?;
    stream.write_all(bytes)
}

fn read_message(stream: &mut impl Read) -> io::Result<(HostId, Vec<u8>)> {
    let (mut place, mut length) = ([0; 4], [0; 8]);
    stream.read_exact(&mut place)?;
    stream.read_exact(&mut length)?;
    let (place, length) = (u32::from_le_bytes(place), u64::from_le_bytes(length));
    let mut bytes = Vec::new();
    // Grows with what comes, whatever length was told.
    let came = stream.by_ref().take(length).read_to_end(&mut bytes)?;
    if came as u64 == length { Ok((HostId(place as usize), bytes)) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn came(transport: &Transport) -> (Peer, Vec<u8>) {
        let Incoming { from, bytes } = transport.inlet.recv_timeout(Duration::from_secs(20)).unwrap();
        (from, bytes)
    }

    fn is_told_of_another(transport: &Transport) -> bool {
        came(transport) == (Peer::Front, Vec::new())
    }

    #[test]
    fn whoever_connects_last_is_heard_and_told() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("front.sock");
        let mut front = open(&socket).unwrap();
        let mut first = connect(&socket).unwrap();
        write_message(&mut first, HostId(2), b"from the first").unwrap();
        assert!(is_told_of_another(&front));
        assert_eq!(came(&front), (Peer::Host(HostId(2)), b"from the first".to_vec()));
        front.outlet.send(Peer::Host(HostId(1)), b"").unwrap();
        assert_eq!(read_message(&mut first).unwrap(), (HostId(1), Vec::new()));

        let mut second = connect(&socket).unwrap();
        let large = vec![7; 3_000_000];
        assert!(is_told_of_another(&front));
        write_message(&mut second, HostId(0), &large).unwrap();
        assert_eq!(came(&front).1.len(), large.len());
        front.outlet.send(Peer::Host(HostId(3)), b"for the second").unwrap();
        assert_eq!(read_message(&mut second).unwrap(), (HostId(3), b"for the second".to_vec()));
        assert!(read_message(&mut first).is_err(), "it is told that its place is taken");

        // One that ends within a message is forgotten.
        second.write_all(&[1, 0, 0]).unwrap();
        drop(second);
        let mut third = connect(&socket).unwrap();
        write_message(&mut third, HostId(5), b"again").unwrap();
        assert!(is_told_of_another(&front));
        assert_eq!(came(&front), (Peer::Host(HostId(5)), b"again".to_vec()));
    }
}
