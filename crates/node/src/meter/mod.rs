//! Measuring the way between two hosts, through the engine that carries frames.
//!
//! One end, the meter, sends; the other, the echo, answers. Time of a message alone gives the latency, that of messages
//! behind each other what the way carries. The engine may lose messages: one whose answer does not come is sent again,
//! and counted.

mod busy;
mod line;
mod messages;
mod pace;
mod processor_time;
mod results;

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use crossbeam_channel::{Receiver, RecvTimeoutError};
use millstream_distributed::{HostId, Peer};

use self::busy::Busy;
pub use self::line::TransferLine;
use self::messages::{Header, Messages, Purpose};
pub use self::pace::Pace;
use self::processor_time::processor_seconds;
pub use self::results::{Direction, Sample};
use crate::transport::{Incoming, Outlet, Transport};

/// Sizes of messages, from much smaller to larger than values between stages are; each is four times the one before.
pub const SIZES: [usize; 6] = [1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22];
/// Messages that are behind each other where the way is to be full.
const BEHIND: usize = 4;
/// Sizes that a line is drawn through at least, however slow the way is.
const LEAST_SIZES: usize = 3;
/// A larger size than one that takes so long is left out.
const LONG: f64 = 0.5;
/// Bytes of a message that brings no value.
const NOTHING: usize = 0;

/// Answers a meter until it says that this was all, or nothing can come any more.
///
/// # Errors
/// If nothing can be sent.
pub fn echo(transport: Transport) -> Result<()> {
    let Transport { mut outlet, inlet } = transport;
    let mut busy = None;
    let mut messages = Messages::default();
    for Incoming { from, bytes } in inlet {
        let Some(asked) = Messages::decode(&bytes) else { continue };
        match asked.purpose {
            Purpose::BeBusy if busy.is_none() => busy = Some(Busy::begin()),
            Purpose::BeIdle => drop(busy.take()),
            Purpose::End => return Ok(()),
            Purpose::BeBusy | Purpose::Echo | Purpose::Time => {}
        }
        // No larger than what is measured, whoever asks.
        let bytes = usize::try_from(asked.said).unwrap_or(0).min(SIZES.iter().copied().max().unwrap_or(0));
        // Looking at the time takes longer than answering.
        let said = if asked.purpose == Purpose::Time { (processor_seconds() * 1e6) as u64 } else { 0 };
        let answer = Header { said, ..asked };
        outlet.send(from, &messages.encode(answer, bytes)?)?;
    }
    Ok(())
}

/// Measures both directions, idle and, if wanted, busy.
///
/// # Errors
/// If the other end does not answer, or loses nearly everything.
pub fn measure(transport: Transport, pace: Pace) -> Result<Vec<Direction>> {
    let Transport { outlet, inlet } = transport;
    let mut meter =
        Meter { outlet, inlet, pace, patience: pace.patience, next: 0, lost: 0, messages: Messages::default() };
    meter.begin()?;

    let mut directions = Vec::new();
    let loads = [false, true].into_iter().take(if pace.is_busy_too { 2 } else { 1 });
    for is_busy in loads {
        let busy = is_busy.then(Busy::begin);
        meter.ask(if is_busy { Purpose::BeBusy } else { Purpose::BeIdle }, NOTHING, NOTHING)?;
        for sends in [true, false] {
            directions.push(meter.direction(sends, is_busy)?);
        }
        drop(busy);
    }
    // Should this be lost, the echo ends with the engine.
    meter.send(Purpose::End, NOTHING, NOTHING)?;
    Ok(directions)
}

/// What the other end said of itself.
struct Answer {
    number: u64,
    processor_seconds: f64,
}

struct Meter {
    outlet: Box<dyn Outlet>,
    inlet: Receiver<Incoming>,
    pace: Pace,
    /// How long an answer is waited for before its message counts as lost.
    patience: Duration,
    /// The number of the next message.
    next: u64,
    /// Messages that were lost.
    lost: usize,
    messages: Messages,
}

impl Meter {
    /// Waits until the other end listens.
    fn begin(&mut self) -> Result<()> {
        let begin = Instant::now();
        while self.send(Purpose::Echo, NOTHING, NOTHING).is_ok() {
            if self.take(Duration::from_millis(200))?.is_some() {
                return Ok(());
            }
            if begin.elapsed() > self.pace.begin {
                bail!("the other host did not answer within {} s", self.pace.begin.as_secs());
            }
        }
        bail!("nothing can be sent to the other host")
    }

    /// Sends a message; its number.
    fn send(&mut self, purpose: Purpose, size: usize, answer: usize) -> Result<u64> {
        let number = self.next;
        self.next += 1;
        let header = Header { purpose, number, said: answer as u64 };
        self.outlet.send(Peer::Host(HostId(0)), &self.messages.encode(header, size)?)?;
        Ok(number)
    }

    /// The next answer, if one comes soon.
    fn take(&self, patience: Duration) -> Result<Option<Answer>> {
        match self.inlet.recv_timeout(patience) {
            Ok(incoming) => {
                let answer =
                    |header: Header| Answer { number: header.number, processor_seconds: header.said as f64 / 1e6 };
                Ok(Messages::decode(&incoming.bytes).map(answer))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => bail!("the engine has ended"),
        }
    }

    /// The answer to a message, unless it is lost. Answers to those before are late, and count for nothing.
    fn take_answer_to(&self, number: u64) -> Result<Option<Answer>> {
        let until = Instant::now() + self.patience;
        while let Some(answer) = self.take(until.saturating_duration_since(Instant::now()))? {
            if answer.number >= number {
                return Ok(Some(answer));
            }
        }
        Ok(None)
    }

    /// Notes that messages were lost.
    fn lose(&mut self, count: u64) -> Result<()> {
        self.lost += usize::try_from(count).unwrap_or(usize::MAX);
        if self.lost > self.pace.most_lost {
            bail!("the way loses messages: {} of {} so far had no answer", self.lost, self.next);
        }
        Ok(())
    }

    /// The time until the answer is there, and the processor time of the other end, where that is what was asked for.
    fn ask(&mut self, purpose: Purpose, size: usize, answer: usize) -> Result<(f64, f64)> {
        loop {
            let sent = Instant::now();
            let number = self.send(purpose, size, answer)?;
            if let Some(answer) = self.take_answer_to(number)? {
                return Ok((sent.elapsed().as_secs_f64(), answer.processor_seconds));
            }
            self.lose(1)?;
        }
    }

    fn direction(&mut self, sends: bool, is_busy: bool) -> Result<Direction> {
        let sizes = |bytes: usize| if sends { (bytes, NOTHING) } else { (NOTHING, bytes) };
        let (lost, messages) = (self.lost, self.next);
        self.patience = self.pace.patience;
        let smallest = self.alone(NOTHING, NOTHING)?;

        let mut samples: Vec<Sample> = Vec::new();
        for bytes in SIZES {
            let is_long =
                samples.last().is_some_and(|sample| sample.alone_seconds.max(sample.among_others_seconds) > LONG);
            if is_long && samples.len() >= LEAST_SIZES {
                break;
            }
            let (size, answer) = sizes(bytes);
            // The answer's way back takes as long as half of two small ones.
            let there = self.alone(size, answer)?;
            let alone_seconds = (there - smallest / 2.0).max(smallest / 2.0);
            let before = self.processor_seconds()?;
            let (among_others_seconds, count) = self.among_others(size, answer)?;
            let after = self.processor_seconds()?;
            let [meter_cpu_seconds, echo_cpu_seconds] =
                [0, 1].map(|end| (after[end] - before[end]).max(0.0) / count.max(1) as f64);
            samples.push(Sample { bytes, alone_seconds, among_others_seconds, meter_cpu_seconds, echo_cpu_seconds });
            // Four times as large and some of them behind each other, and as much again.
            let longest = there.max(among_others_seconds) * 8.0 * BEHIND as f64;
            self.patience = self.pace.patience.max(Duration::try_from_secs_f64(longest).unwrap_or(self.pace.patience));
        }

        let line = |of: fn(&Sample) -> f64| {
            TransferLine::fit(&samples.iter().map(|sample| (sample.bytes as f64, of(sample))).collect::<Vec<_>>())
        };
        // What spins is no part of it.
        let cpu = |of: fn(&Sample) -> f64| {
            let TransferLine { seconds, seconds_per_byte, .. } = line(of);
            if is_busy { (0.0, 0.0) } else { (seconds_per_byte.max(0.0), (seconds / 2.0).max(0.0)) }
        };
        let (meter_cpu_seconds_per_byte, meter_cpu_seconds_per_message) = cpu(|sample| sample.meter_cpu_seconds);
        let (echo_cpu_seconds_per_byte, echo_cpu_seconds_per_message) = cpu(|sample| sample.echo_cpu_seconds);
        Ok(Direction {
            sends,
            is_busy,
            lost: self.lost - lost,
            messages: usize::try_from(self.next - messages).unwrap_or(usize::MAX),
            alone: line(|sample| sample.alone_seconds),
            among_others: line(|sample| sample.among_others_seconds),
            meter_cpu_seconds_per_byte,
            echo_cpu_seconds_per_byte,
            meter_cpu_seconds_per_message,
            echo_cpu_seconds_per_message,
            samples,
        })
    }

    /// Processor time of both ends so far, first that of the meter's.
    fn processor_seconds(&mut self) -> Result<[f64; 2]> {
        let echo = self.ask(Purpose::Time, NOTHING, NOTHING)?.1;
        Ok([processor_seconds(), echo])
    }

    /// The median time until the answer to a message is there.
    fn alone(&mut self, size: usize, answer: usize) -> Result<f64> {
        let begin = Instant::now();
        let mut times = Vec::new();
        while times.len() < self.pace.least || begin.elapsed() < self.pace.each {
            times.push(self.ask(Purpose::Echo, size, answer)?.0);
        }
        Ok(median(&mut times))
    }

    /// The mean time between answers while there are always some on the way, and how many messages there were.
    fn among_others(&mut self, size: usize, answer: usize) -> Result<(f64, usize)> {
        let mut stream = Stream::default();
        let first = self.next;
        while !stream.is_enough(&self.pace) {
            let awaited = self.keep_full(&mut stream, size, answer)?;
            self.drain(awaited)?;
        }
        Ok((stream.mean_seconds(), usize::try_from(self.next - first).unwrap_or(usize::MAX)))
    }

    /// Sends a message for each answer until there were enough, or one is lost; the number of the message whose answer
    /// is the next to come.
    fn keep_full(&mut self, stream: &mut Stream, size: usize, answer: usize) -> Result<u64> {
        let mut awaited = self.next;
        for _ in 0..BEHIND {
            self.send(Purpose::Echo, size, answer)?;
        }
        // The first answer comes when the way has filled.
        let mut before: Option<Instant> = None;
        while !stream.is_enough(&self.pace) {
            let Some(Answer { number, .. }) = self.take_answer_to(awaited)? else { break };
            let now = Instant::now();
            if number > awaited {
                self.lose(number - awaited)?;
                return Ok(number + 1);
            }
            if let Some(before) = before.replace(now) {
                stream.count += 1;
                stream.seconds += (now - before).as_secs_f64();
            }
            awaited += 1;
            self.send(Purpose::Echo, size, answer)?;
        }
        Ok(awaited)
    }

    /// Waits for the answers to all messages from this one on.
    fn drain(&mut self, mut awaited: u64) -> Result<()> {
        while awaited < self.next {
            let found = self.take_answer_to(awaited)?.map_or(self.next, |answer| answer.number);
            self.lose(found - awaited)?;
            awaited = found + 1;
        }
        Ok(())
    }
}

/// Answers that came one behind the other.
#[derive(Default)]
struct Stream {
    count: usize,
    seconds: f64,
}

impl Stream {
    fn is_enough(&self, pace: &Pace) -> bool {
        self.count >= pace.least && self.seconds >= pace.each.as_secs_f64()
    }

    fn mean_seconds(&self) -> f64 {
        self.seconds / self.count.max(1) as f64
    }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or_default()
}
