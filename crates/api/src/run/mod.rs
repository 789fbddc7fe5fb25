//! Frames through schedules: streamed, checked against sequential inference, measured.

pub(crate) mod adaptation;
mod camera;
mod frame_deadline;
mod frame_log;
mod limited;
mod loading;
mod operators;
mod options;
mod outcome;
pub(crate) mod precisions;
pub(crate) mod reference;
mod repeated;
mod report;
mod runner;
pub(crate) mod sink;
mod statistics;
mod stream;
mod summary;
mod surroundings;
mod taken;

pub use camera::{Camera, WhenLate};
pub use frame_log::FrameLog;
pub use loading::{Loaded, RunSource};
pub use options::{RunLength, RunOptions, WarmUp};
pub use outcome::NetworkOutcome;
pub use report::{
    AdaptationReport, ExpectedReport, LatencySummary, NetworkRun, OperatorReport, RUN_REPORT_FORMAT,
    RUN_REPORT_VERSION, RunReport, StageReport,
};
pub use stream::Stream;
pub use surroundings::Throttling;
pub use taken::Taken;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::control::Control;
use crate::error::Error;
use crate::machine::Machine;
use crate::schedules::Scheduled;
use crate::threads::{SetOnDrop, thread};
use runner::Runner;

/// Rounds that a network may be ahead of the others that take turns with it, and how often it looks whether it is.
const MOST_AHEAD: f64 = 1.0;
const TURN: Duration = Duration::from_micros(200);

/// Streams frames through the schedules of networks that share a machine, often of a single one. Every result is
/// compared with sequential inference, and everything is measured while all networks are at work: they go on until the
/// slowest has had enough. If other programs or heat held made-up frames up, they are streamed a second time, and the
/// run that was disturbed less counts: [`NetworkRun::warnings`] say so. Runs of more than a minute, with a camera, that
/// adapt, or whose results are kept or compared are not repeated.
///
/// # Errors
/// [`Error::Unfit`] if the options do not suit the set, [`Error::Different`] at the first wrong result; whatever keeps
/// a schedule from running. Unexpected results ([`RunOptions::expected`]) are no error here: all frames get through
/// first.
pub fn run(
    machine: &Machine,
    set: &[Scheduled],
    options: &RunOptions,
    control: &Control,
) -> Result<Vec<NetworkOutcome>, Error> {
    let stream = || run_observed(machine, set, options, control, &|_, _| Ok(()));
    let start = Instant::now();
    let outcomes = stream()?;
    Ok(repeated::quieter(outcomes, |outcome| &mut outcome.report, start.elapsed(), options, control, stream))
}

/// Called for each frame of a run, with the network's place in the set and the frame.
pub type FrameObserver<'a> = dyn Fn(usize, &Taken) -> Result<(), Error> + Sync + 'a;

/// As [`run`], but once in any case, and calls `observer` for every frame, in the order of each network's frames, as
/// soon as its result was checked. Frames are not kept: memory does not depend on how many there are. The observer is called from one thread
/// per network, and delays that network's results while it runs.
///
/// # Errors
/// As [`run`], and the first one of `observer`, which ends the run.
pub fn run_observed(
    machine: &Machine,
    set: &[Scheduled],
    options: &RunOptions,
    control: &Control,
    observer: &FrameObserver<'_>,
) -> Result<Vec<NetworkOutcome>, Error> {
    machine.check_usable()?;
    options.check(set.len())?;
    let machines: Vec<Machine> = set.iter().map(|scheduled| machine.as_planned(&scheduled.document)).collect();
    let mut runners = machines
        .iter()
        .zip(set)
        .map(|(machine, scheduled)| Runner::start(machine, scheduled, options, control))
        .collect::<Result<Vec<_>, Error>>()?;

    let pace = Pace::new(set, &runners, options, control);
    let streamed: Vec<Result<(), Error>> = std::thread::scope(|scope| {
        let threads: Vec<_> = runners
            .iter_mut()
            .enumerate()
            .map(|(index, runner)| {
                let pace = &pace;
                // If no thread can be started, this is dropped with what it should have run, and ends the others.
                let failed = SetOnDrop(&pace.has_failed);
                let work = move || {
                    let observe = |taken: &Taken| observer(index, taken);
                    let streamed = runner.stream(&|count| pace.is_over(index, count), &observe);
                    // A network that fails or panics ends the others as well.
                    if streamed.is_ok() {
                        std::mem::forget(failed);
                    }
                    streamed
                };
                thread("network").spawn_scoped(scope, work).map_err(Error::no_thread("a network's frames"))
            })
            .collect();
        let panicked = |_| Error::Defect("a network's thread panicked".to_owned());
        threads.into_iter().map(|thread| thread?.join().map_err(panicked).flatten()).collect()
    });

    streamed.into_iter().collect::<Result<(), Error>>()?;
    runners.into_iter().map(Runner::finish).collect()
}

/// When each of the networks has had enough frames, and who waits for whom.
struct Pace<'a> {
    set: &'a [Scheduled],
    /// Frames of each network so far.
    counts: Vec<AtomicU64>,
    /// Frames that each should have, if no time is given.
    wanted: Vec<u64>,
    time: Option<Duration>,
    begin: Instant,
    /// A network that fails ends the others as well.
    has_failed: AtomicBool,
    control: &'a Control,
}

impl<'a> Pace<'a> {
    fn new(set: &'a [Scheduled], runners: &[Runner<'_>], options: &RunOptions, control: &'a Control) -> Self {
        let time = if let RunLength::Time(time) = options.length { Some(time) } else { None };
        Self {
            set,
            counts: set.iter().map(|_| AtomicU64::new(0)).collect(),
            wanted: runners.iter().map(Runner::frames_wanted).collect(),
            time,
            begin: Instant::now(),
            has_failed: AtomicBool::new(false),
            control,
        }
    }

    /// Whether a network with so many frames has had enough. Waits while it is ahead of those that it takes turns with.
    fn is_over(&self, index: usize, count: u64) -> bool {
        self.counts[index].store(count, Ordering::Relaxed);
        while self.set[index].takes_turns && self.is_ahead(index, count) && !self.is_enough() {
            std::thread::sleep(TURN);
        }
        self.is_enough()
    }

    fn is_enough(&self) -> bool {
        let has_enough = |(count, wanted): (&AtomicU64, &u64)| count.load(Ordering::Relaxed) >= *wanted;
        let is_enough = match self.time {
            Some(time) => self.begin.elapsed() >= time,
            None => self.counts.iter().zip(&self.wanted).all(has_enough),
        };
        is_enough || self.has_failed.load(Ordering::Relaxed) || self.control.is_cancelled()
    }

    /// Who takes turns lets the others keep up, so that frames pass as the weights say.
    fn is_ahead(&self, index: usize, count: u64) -> bool {
        let rounds =
            |(scheduled, count): (&Scheduled, &AtomicU64)| count.load(Ordering::Relaxed) as f64 / scheduled.weight;
        let least = self.set.iter().zip(&self.counts).map(rounds).fold(f64::INFINITY, f64::min);
        count as f64 / self.set[index].weight > least + MOST_AHEAD
    }
}
