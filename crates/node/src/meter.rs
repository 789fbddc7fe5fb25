//! Measuring the way between two hosts, through the engine that carries frames.
//!
//! One end, the meter, sends; the other, the echo, answers. Time of a message alone gives the latency, that of messages behind each other
//! what the way carries.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use crossbeam_channel::Receiver;
use millstream_distributed::{HostId, Peer};
use serde::{Deserialize, Serialize};

use crate::transport::{Incoming, Outlet, Transport};

/// Sizes of messages, from much smaller to larger than values between stages are.
pub const SIZES: [usize; 6] = [1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22];
/// Messages that are behind each other where the way is to be full.
const BEHIND: usize = 4;
/// How long each size is measured, and how often at least.
const EACH: Duration = Duration::from_millis(300);
const LEAST: usize = 8;
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(20);
/// How long the other end may take to begin.
const BEGIN: Duration = Duration::from_secs(60);
/// Before what fills a message: what is wanted, and how long the answer is to be, or in answers the processor time so far in microseconds.
const HEADER: usize = 16;
/// Ticks of processor time in a second, as Linux reports them everywhere.
const TICKS: f64 = 100.0;

const ECHO: u64 = 0;
const BE_BUSY: u64 = 1;
const BE_IDLE: u64 = 2;
const END: u64 = 3;

/// What was measured in one direction while both ends were idle or busy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    /// Whether the meter sent; else it received.
    pub sends: bool,
    /// Whether all cores of both ends had something else to do.
    pub is_busy: bool,
    /// Per size, the time of a message alone and of one among others, in seconds.
    pub samples: Vec<Sample>,
    /// The line through times of messages alone: its value at no bytes is the latency.
    pub alone: Line,
    /// The line through times among others: its slope is what a byte occupies the way for.
    pub among_others: Line,
    /// Processor time of a byte at the meter's end.
    pub meter_cpu_seconds_per_byte: f64,
    /// Processor time of a byte at the echo's end.
    pub echo_cpu_seconds_per_byte: f64,
}

/// Times of messages of one size, medians.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// Their size.
    pub bytes: usize,
    /// From when one is sent until it is there.
    pub alone_seconds: f64,
    /// From one to the next.
    pub among_others_seconds: f64,
}

/// A line of least squares.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Its value at no bytes.
    pub seconds: f64,
    /// Its slope.
    pub seconds_per_byte: f64,
    /// Which part of the variance it explains, at most 1.
    pub r_squared: f64,
}

impl Line {
    /// The line through points of bytes and seconds that has the least squares of relative errors, so that small messages count as much as large ones. R² is of the plain
    /// values.
    pub fn fit(points: &[(f64, f64)]) -> Self {
        let weighted = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
            points.iter().map(|&(bytes, seconds)| of(bytes, seconds) / (seconds * seconds).max(1e-18)).sum()
        };
        let weight = weighted(&|_, _| 1.0);
        let (bytes, seconds) = (weighted(&|x, _| x) / weight, weighted(&|_, y| y) / weight);
        let spread = weighted(&|x, _| (x - bytes) * (x - bytes));
        let slope = if spread > 0.0 { weighted(&|x, y| (x - bytes) * (y - seconds)) / spread } else { 0.0 };
        let line = Self { seconds: seconds - slope * bytes, seconds_per_byte: slope, r_squared: 1.0 };
        let mean = points.iter().map(|own| own.1).sum::<f64>() / points.len().max(1) as f64;
        let total: f64 = points.iter().map(|own| (own.1 - mean).powi(2)).sum();
        let left: f64 = points.iter().map(|own| (own.1 - line.at(own.0)).powi(2)).sum();
        Self { r_squared: if total > 0.0 { 1.0 - left / total } else { 1.0 }, ..line }
    }

    fn at(&self, bytes: f64) -> f64 {
        self.seconds + self.seconds_per_byte * bytes
    }
}

/// Keeps all cores busy until it is dropped.
struct Busy(Arc<AtomicBool>);

impl Busy {
    fn begin() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            let is_over = Arc::clone(&is_over);
            thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Self(is_over)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn message(what: u64, second: u64, size: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size.max(HEADER));
    bytes.extend_from_slice(&what.to_le_bytes());
    bytes.extend_from_slice(&second.to_le_bytes());
    bytes.resize(size.max(HEADER), 0);
    bytes
}

fn number(bytes: &[u8], place: usize) -> Option<u64> {
    bytes.get(place * 8..)?.first_chunk().map(|own| u64::from_le_bytes(*own))
}

/// Answers a meter until it says that this was all.
///
/// # Errors
/// If nothing can be sent.
pub fn echo(transport: Transport) -> Result<()> {
    let Transport { mut outlet, inlet } = transport;
    let mut busy = None;
    for Incoming { from, bytes } in inlet {
        let (Some(what), Some(answer)) = (number(&bytes, 0), number(&bytes, 1)) else { continue };
        match what {
            BE_BUSY => busy = Some(Busy::begin()),
            BE_IDLE => drop(busy.take()),
            END => return Ok(()),
            _ => {}
        }
        // No larger than what is measured, whoever asks.
        let answer = usize::try_from(answer).unwrap_or(0).min(SIZES.iter().copied().max().unwrap_or(0));
        let microseconds = (processor_seconds() * 1e6) as u64;
        outlet.send(from, &message(what, microseconds, answer))?;
    }
    Ok(())
}

/// Processor time of this process so far.
fn processor_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name, which may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |own| own.1).split_whitespace().collect();
    let ticks = |place: usize| fields.get(place).and_then(|own| own.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / TICKS
}

struct Meter {
    outlet: Box<dyn Outlet>,
    inlet: Receiver<Incoming>,
}

/// Measures both directions, idle and busy.
///
/// # Errors
/// If the other end does not answer.
pub fn measure(transport: Transport) -> Result<Vec<Direction>> {
    let Transport { outlet, inlet } = transport;
    let mut meter = Meter { outlet, inlet };
    meter.begin()?;
    let mut directions = Vec::new();
    for is_busy in [false, true] {
        let busy = is_busy.then(Busy::begin);
        meter.ask(if is_busy { BE_BUSY } else { BE_IDLE }, HEADER, HEADER)?;
        for sends in [true, false] {
            directions.push(meter.direction(sends, is_busy)?);
        }
        drop(busy);
    }
    meter.outlet.send(Peer::Host(HostId(0)), &message(END, 0, HEADER))?;
    Ok(directions)
}

impl Meter {
    /// Waits until the other end listens.
    fn begin(&mut self) -> Result<()> {
        let begin = Instant::now();
        loop {
            self.send(ECHO, HEADER, HEADER)?;
            if self.inlet.recv_timeout(Duration::from_millis(200)).is_ok() {
                break;
            }
            if begin.elapsed() > BEGIN {
                anyhow::bail!("the other host did not answer within {} s", BEGIN.as_secs());
            }
        }
        // Answers to those before.
        while self.inlet.recv_timeout(Duration::from_millis(500)).is_ok() {}
        Ok(())
    }

    fn send(&mut self, what: u64, size: usize, answer: usize) -> Result<()> {
        self.outlet.send(Peer::Host(HostId(0)), &message(what, answer as u64, size))
    }

    /// The processor time of the other end.
    fn take(&mut self) -> Result<f64> {
        let lost = "the other host does not answer any more";
        let incoming = self.inlet.recv_timeout(ANSWER).context(lost)?;
        Ok(number(&incoming.bytes, 1).unwrap_or(0) as f64 / 1e6)
    }

    fn ask(&mut self, what: u64, size: usize, answer: usize) -> Result<f64> {
        self.send(what, size, answer)?;
        self.take()
    }

    fn direction(&mut self, sends: bool, is_busy: bool) -> Result<Direction> {
        let sizes = |bytes: usize| if sends { (bytes, HEADER) } else { (HEADER, bytes) };
        let (own, other) = (processor_seconds(), self.ask(ECHO, HEADER, HEADER)?);
        let smallest = self.alone(HEADER, HEADER)?;
        let mut moved = 0;
        let mut samples = Vec::new();
        for bytes in SIZES {
            let (size, answer) = sizes(bytes);
            // The answer's way back takes as long as half of two small ones.
            let (there, count) = self.alone(size, answer)?;
            let alone_seconds = (there - smallest.0 / 2.0).max(smallest.0 / 2.0);
            let (among_others_seconds, more) = self.among_others(size, answer)?;
            samples.push(Sample { bytes, alone_seconds, among_others_seconds });
            moved += bytes * (count + more);
        }

        let (own, other) = (processor_seconds() - own, self.ask(ECHO, HEADER, HEADER)? - other);
        let line = |of: fn(&Sample) -> f64| {
            Line::fit(&samples.iter().map(|own| (own.bytes as f64, of(own))).collect::<Vec<_>>())
        };
        // What spins is no part of it.
        let per_byte = |seconds: f64| if is_busy { 0.0 } else { seconds / moved.max(1) as f64 };
        Ok(Direction {
            sends,
            is_busy,
            alone: line(|own| own.alone_seconds),
            among_others: line(|own| own.among_others_seconds),
            meter_cpu_seconds_per_byte: per_byte(own),
            echo_cpu_seconds_per_byte: per_byte(other),
            samples,
        })
    }

    /// The median time until the answer to a message is there, and how many there were.
    fn alone(&mut self, size: usize, answer: usize) -> Result<(f64, usize)> {
        let begin = Instant::now();
        let mut times = Vec::new();
        while times.len() < LEAST || begin.elapsed() < EACH {
            let sent = Instant::now();
            self.ask(ECHO, size, answer)?;
            times.push(sent.elapsed().as_secs_f64());
        }
        Ok((median(&mut times), times.len()))
    }

    /// The median time between answers while there are always some on the way, and how many there were.
    fn among_others(&mut self, size: usize, answer: usize) -> Result<(f64, usize)> {
        (0..BEHIND).try_for_each(|_| self.send(ECHO, size, answer))?;
        self.take()?;
        self.send(ECHO, size, answer)?;
        let begin = Instant::now();
        let mut count = 0;
        while count < LEAST || begin.elapsed() < EACH {
            self.take()?;
            self.send(ECHO, size, answer)?;
            count += 1;
        }
        let mean = begin.elapsed().as_secs_f64() / count as f64;
        for _ in 0..BEHIND {
            self.take()?;
        }
        Ok((mean, count + BEHIND + 1))
    }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::Line;

    #[test]
    fn a_line_is_found_and_what_is_none_is_told() {
        let points: Vec<(f64, f64)> = [1e3, 1e4, 1e5, 1e6].map(|bytes| (bytes, 2e-4 + bytes * 8e-9)).to_vec();
        let line = Line::fit(&points);
        assert!((line.seconds - 2e-4).abs() < 1e-9 && (line.seconds_per_byte - 8e-9).abs() < 1e-13, "{line:?}");
        assert!(line.r_squared > 0.999_999);
        let bent: Vec<(f64, f64)> = [(1e3, 1e-3), (1e4, 5e-3), (1e5, 2e-3), (1e6, 4e-3)].to_vec();
        assert!(Line::fit(&bent).r_squared < 0.9, "{:?}", Line::fit(&bent));
    }
}
