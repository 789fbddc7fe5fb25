//! Ctrl-C and termination: a request to finish what is in flight and stop, which does not wait for ever.
//!
//! Whatever a command is stuck in, it ends within five seconds of the first signal, and at once on the second. Its exit
//! code is then 128 and the signal's number, as shells have it.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// Between the request to finish and the end of those that do not.
const GRACE: Duration = Duration::from_secs(4);
/// How often it is looked meanwhile whether there is another signal.
const LOOK: Duration = Duration::from_millis(20);
/// The longest that the end waits for a file that is just getting its name, and for the message that says why.
const LAST_WAIT: Duration = Duration::from_millis(200);
/// The thread needs little, and must start also where threads get so much memory by default that others can't.
const STACK_BYTES: usize = 256 << 10;

/// The first signal's number; 0 before it.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// Whether the command asks now and then whether it should stop.
static FINISHES: AtomicBool = AtomicBool::new(false);

/// Starts to wait for signals. Until somebody [listens](listen), the first one ends the program.
///
/// # Errors
/// If the system refuses to wait for signals or to start a thread.
#[cfg(unix)]
pub(crate) fn install() -> Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    // Programs that are to outlive their terminal are started with this one ignored.
    let hangup = Some(SIGHUP).filter(|&signal| !is_ignored(signal));
    let mut signals =
        Signals::new([SIGINT, SIGTERM].into_iter().chain(hangup)).context("cannot wait for Ctrl-C and termination")?;
    let wait = move || {
        let Some(first) = signals.forever().next() else { return };
        SIGNAL.store(first, Ordering::SeqCst);
        if FINISHES.load(Ordering::SeqCst) {
            let begin = Instant::now();
            let mut is_repeated = false;
            while !is_repeated && begin.elapsed() < GRACE {
                std::thread::sleep(LOOK);
                is_repeated = signals.pending().next().is_some();
            }
            if !is_repeated {
                say_that_it_is_stuck();
            }
        }
        leave(128 + first);
    };
    let thread = std::thread::Builder::new().name("signals".to_owned()).stack_size(STACK_BYTES);
    thread.spawn(wait).context("cannot start the thread that waits for signals")?;
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn install() -> Result<()> {
    Ok(())
}

/// Ends the program now. Other threads may be anywhere, so nothing is run that a normal end runs, such as what C++
/// libraries clear away.
#[cfg(unix)]
pub(crate) fn leave(code: i32) -> ! {
    millstream::files::abandon_unfinished(LAST_WAIT);
    signal_hook::low_level::exit(code)
}

#[cfg(not(unix))]
pub(crate) fn leave(code: i32) -> ! {
    std::process::exit(code)
}

/// On a thread of its own: the reader may be stuck as well.
#[cfg(unix)]
fn say_that_it_is_stuck() {
    let (said, is_said) = std::sync::mpsc::sync_channel::<()>(1);
    let say = move || {
        let seconds = GRACE.as_secs();
        crate::remarks::remark(format!("error: what was in flight did not finish within {seconds} s"));
        drop(said);
    };
    if std::thread::Builder::new().stack_size(STACK_BYTES).spawn(say).is_ok() {
        // Ends when the sender is dropped.
        let _ = is_said.recv_timeout(LAST_WAIT);
    }
}

/// Whether the process was started with a signal ignored, where the system reports it.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal - 1)) != 0
}

/// From now on the command asks now and then whether it should stop, so the first signal is no more than a request.
pub(crate) fn listen() {
    FINISHES.store(true, Ordering::SeqCst);
}

/// Whether somebody asked to stop.
pub(crate) fn requested() -> bool {
    SIGNAL.load(Ordering::SeqCst) != 0
}

/// Ends the program as a command ends that somebody asked to stop, if somebody did. What it has is written and printed
/// by then.
pub(crate) fn end_if_requested() {
    #[cfg(unix)]
    if requested() {
        leave(128 + SIGNAL.load(Ordering::SeqCst));
    }
}
