//! Models of what values take on their way between stages, and into and out of memories of their own.

use crate::nanoseconds::Nanoseconds;

/// What a stage pays to take over a frame's values from the stages before it, or to send them to another host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HandOver {
    /// Once per frame.
    pub seconds: f64,
    /// Per byte received or sent.
    pub seconds_per_byte: f64,
}

impl HandOver {
    /// One that takes no time.
    pub const FREE: Self = Self { seconds: 0.0, seconds_per_byte: 0.0 };

    /// Time for so many bytes; nothing for none.
    pub(crate) fn time(&self, bytes: u64) -> Nanoseconds {
        match bytes {
            0 => Nanoseconds::ZERO,
            _ => within_a_day(self.seconds + self.seconds_per_byte * bytes as f64),
        }
    }
}

/// What a frame's values take on their way between the clusters or accelerators of two stages, beyond what the receiver
/// pays in any case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkCost {
    /// Time of the way.
    pub hand_over: HandOver,
    /// For how long a byte occupies the link, which then carries nothing else; 0 where others can use the way at the
    /// same time.
    pub occupied_seconds_per_byte: f64,
}

/// A time of moving something, a day at the most, so that sums do not overflow.
pub(crate) fn within_a_day(seconds: f64) -> Nanoseconds {
    Nanoseconds::from_seconds(seconds.min(86_400.0))
}

/// What it takes to move values into and out of the memory of a processor that has its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryAccess {
    /// Bringing a stage's inputs there.
    pub upload: HandOver,
    /// Bringing its results to where everybody can read them.
    pub download: HandOver,
}

impl MemoryAccess {
    /// Time to bring so many bytes there; nothing for none.
    pub fn upload(&self, bytes: u64) -> Nanoseconds {
        self.upload.time(bytes)
    }

    /// Time to bring so many bytes back; nothing for none.
    pub fn download(&self, bytes: u64) -> Nanoseconds {
        self.download.time(bytes)
    }
}
