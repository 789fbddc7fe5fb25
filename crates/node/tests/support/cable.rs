//! Cables whose packets this process carries: with a latency and losses, which not every kernel can give them.

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use std::{io, iter};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tun_rs::{DeviceBuilder, SyncDevice};

/// What a cable does to packets, in each direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cable {
    pub(crate) bytes_per_second: f64,
    pub(crate) latency: Duration,
    /// One packet in so many is lost; none, if that is 0.
    pub(crate) loses_one_in: usize,
}

/// What waits for longer than this is dropped, as in the queues of a switch.
const QUEUE: Duration = Duration::from_millis(500);
/// No packet is larger.
const LARGEST_PACKET: usize = 1 << 16;

/// A packet on its way.
struct Packet {
    arrives: Instant,
    bytes: Vec<u8>,
}

impl Cable {
    /// Lays it from a new device here to one in a network namespace. It is there as long as both devices.
    pub(crate) fn lay(self, here: &str, namespace: &str, there: &str) -> io::Result<()> {
        let near = Arc::new(DeviceBuilder::new().name(here).build_sync()?);
        let far = Arc::new(device_in(namespace, there)?);
        self.carry(Arc::clone(&near), Arc::clone(&far));
        self.carry(far, near);
        Ok(())
    }

    /// Carries all packets of one direction, until a device is gone.
    fn carry(self, from: Arc<SyncDevice>, to: Arc<SyncDevice>) {
        let (sender, receiver) = channel();
        thread::spawn(move || self.take(&from, &sender));
        thread::spawn(move || give(&to, &receiver));
    }

    /// Puts packets onto the cable, one behind the other.
    fn take(self, device: &SyncDevice, cable: &Sender<Packet>) {
        let mut buffer = vec![0; LARGEST_PACKET];
        let mut is_free = Instant::now();
        for count in iter::successors(Some(1_usize), |count| Some(count.wrapping_add(1))) {
            let Ok(length) = device.recv(&mut buffer) else { return };
            let now = Instant::now();
            let is_lost = self.loses_one_in > 0 && count.is_multiple_of(self.loses_one_in);
            if is_lost || is_free.saturating_duration_since(now) > QUEUE {
                continue;
            }
            is_free = is_free.max(now) + Duration::from_secs_f64(length as f64 / self.bytes_per_second);
            let packet = Packet { arrives: is_free + self.latency, bytes: buffer[..length].to_vec() };
            if cable.send(packet).is_err() {
                return;
            }
        }
    }
}

/// Takes packets off the cable when they arrive.
fn give(device: &SyncDevice, cable: &Receiver<Packet>) {
    for Packet { arrives, bytes } in cable {
        thread::sleep(arrives.saturating_duration_since(Instant::now()));
        if device.send(&bytes).is_err() {
            return;
        }
    }
}

/// A new device in a network namespace.
fn device_in(namespace: &str, name: &str) -> io::Result<SyncDevice> {
    let (file, name) = (File::open(format!("/run/netns/{namespace}"))?, name.to_owned());
    // Only this thread goes there.
    let made = thread::spawn(move || {
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
        DeviceBuilder::new().name(name).build_sync()
    });
    made.join().unwrap_or_else(|_| Err(io::Error::other("no device was made")))
}
