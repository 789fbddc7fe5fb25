//! Threads that make a core slower for everybody else.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use millstream_board::CoreId;
use millstream_machine::{become_real_time, pin_current_thread};

use crate::contest::SlowCore;
use crate::error::Error;
use crate::threads::thread;

/// A real-time pulse and the pause after it: short beside what operators take, so that work of any length is slower by
/// the same factor.
const PULSE_PERIOD: Duration = Duration::from_micros(300);

/// A means by which a core is made slower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slowing {
    /// A real-time thread takes the core away for a part of every 0.3 ms: evenly.
    RealTimePulses,
    /// Threads of the usual class share the core with the work: in turns of milliseconds. For where real-time
    /// scheduling is not allowed.
    BusyLoops,
}

impl fmt::Display for Slowing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::RealTimePulses => "real-time pulses",
            Self::BusyLoops => "busy loops",
        })
    }
}

/// Cores that are slow until this is dropped.
pub struct SlowedCores {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    methods: Vec<Slowing>,
}

impl SlowedCores {
    /// Makes each core as slow as it says: with real-time pulses where the system allows them, else with as many busy
    /// loops as leave the given share of the core to everything else, two for a factor of 3.
    ///
    /// # Errors
    /// [`Error::SlowCore`] for a factor that is not above 1 and at most [`SlowCore::MOST`], one that needs pulses where
    /// they are not allowed, and a core that is named twice; [`Error::Thread`] if a thread can't be started or pinned.
    pub fn start(slow_cores: &[SlowCore]) -> Result<Self, Error> {
        let mut slowed = Self { stop: Arc::default(), threads: Vec::new(), methods: Vec::new() };
        for (place, &slow) in slow_cores.iter().enumerate() {
            let wrong = |problem: &str| Error::SlowCore { core: slow.core, problem: problem.to_owned() };
            if !(slow.factor > 1.0 && slow.factor <= SlowCore::MOST) {
                return Err(wrong("its factor is not above 1 and at most 16"));
            }
            if slow_cores[..place].iter().any(|other| other.core == slow.core) {
                return Err(wrong("it is named twice"));
            }
            let method = if slowed.pulse(slow)? { Slowing::RealTimePulses } else { Slowing::BusyLoops };
            if method == Slowing::BusyLoops {
                slowed.loop_beside(slow)?;
            }
            slowed.methods.push(method);
        }
        Ok(slowed)
    }

    /// How each core is made slower, in the order in which they were given.
    pub fn methods(&self) -> &[Slowing] {
        &self.methods
    }

    /// Tells whether pulses are allowed.
    fn pulse(&mut self, slow: SlowCore) -> Result<bool, Error> {
        let busy = pulse(slow.factor);
        self.begin(slow.core, "pulses", become_real_time, move |stop| {
            let mut next = Instant::now();
            while !stop.load(Ordering::Relaxed) {
                // From when it should have begun: a late pulse is as much shorter.
                while next.elapsed() < busy {
                    std::hint::spin_loop();
                }
                next = (next + PULSE_PERIOD).max(Instant::now());
                std::thread::sleep(next.saturating_duration_since(Instant::now()));
            }
        })
    }

    fn loop_beside(&mut self, slow: SlowCore) -> Result<(), Error> {
        if slow.factor.fract() != 0.0 {
            let problem = "only real-time scheduling, which the system refuses, slows by a factor that is no whole number; give a whole one, or \
                           the right to it (ulimit -r, CAP_SYS_NICE)";
            return Err(Error::SlowCore { core: slow.core, problem: problem.to_owned() });
        }
        for _ in 1..slow.factor as u32 {
            self.begin(
                slow.core,
                "busy loop",
                || true,
                |stop| {
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                },
            )?;
        }
        Ok(())
    }

    /// Starts a thread on a core; returns whether it is at work.
    fn begin(
        &mut self,
        core: CoreId,
        name: &str,
        enter: impl FnOnce() -> bool + Send + 'static,
        work: impl FnOnce(&AtomicBool) + Send + 'static,
    ) -> Result<bool, Error> {
        let refused = |what: &str, source| Error::Thread { what: format!("{what} core {core}"), source };
        let stop = Arc::clone(&self.stop);
        let (report, entered) = channel();
        let body = move || {
            // Pinned first: a real-time thread should be nowhere else.
            let is_pinned = pin_current_thread(core);
            let has_entered = is_pinned && enter();
            if report.send(is_pinned.then_some(has_entered)).is_ok() && has_entered {
                work(&stop);
            }
        };

        let started = thread(&format!("{name} {core}")).spawn(body);
        self.threads.push(started.map_err(|source| refused("cannot start what slows", source))?);
        match entered.recv() {
            Ok(Some(has_entered)) => {
                if let (false, Some(refused)) = (has_entered, self.threads.pop_if(|_| !has_entered)) {
                    let _ = refused.join();
                }
                Ok(has_entered)
            }
            _ => Err(refused("cannot pin what slows", std::io::Error::other("the system refused"))),
        }
    }
}

/// How long the core is taken away in each period.
fn pulse(factor: f64) -> Duration {
    PULSE_PERIOD.mul_f64(1.0 - 1.0 / factor)
}

impl Drop for SlowedCores {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    /// The scheduling class of each thread of this process that slows the core: field 41 of its `stat`.
    fn classes(core: CoreId) -> Vec<String> {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let stats = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
        let threads = stats.filter(|stat| {
            [format!("(pulses {core})"), format!("(busy loop {core})")].iter().any(|name| stat.contains(name.as_str()))
        });
        threads.filter_map(|stat| stat.rsplit_once(')')?.1.split_whitespace().nth(38).map(str::to_owned)).collect()
    }

    #[test]
    fn a_core_is_slow_until_the_end_in_the_way_that_is_told() {
        let core = millstream_machine::usable_cores().unwrap()[0];
        assert_eq!(classes(core), Vec::<String>::new());
        let slowed = SlowedCores::start(&[SlowCore { core, factor: 3.0 }]).unwrap();
        let expected: &[&str] = match slowed.methods() {
            [Slowing::RealTimePulses] => &["1"],
            _ => &["0", "0"],
        };
        assert_eq!(classes(core), expected);
        drop(slowed);
        assert_eq!(classes(core), Vec::<String>::new());
    }

    #[test]
    fn pulses_leave_the_core_its_share() {
        let microseconds = [2.0, 3.0, 1.5, 16.0].map(|factor| pulse(factor).as_nanos());
        assert_eq!(microseconds, [150_000, 200_000, 100_000, 281_250]);
    }

    #[test]
    fn cores_and_factors_that_make_no_sense_are_errors() {
        let refused = SlowedCores::start(&[SlowCore { core: CoreId(100_000), factor: 2.0 }]);
        assert!(matches!(refused, Err(Error::Thread { .. })));
        let core = millstream_machine::usable_cores().unwrap()[0];
        for factor in [1.0, 0.5, -3.0, 17.0, f64::NAN, f64::INFINITY] {
            let refused = SlowedCores::start(&[SlowCore { core, factor }]);
            assert!(matches!(refused, Err(Error::SlowCore { .. })), "{factor}");
        }
        let twice = [2.0, 3.0].map(|factor| SlowCore { core, factor });
        assert!(matches!(SlowedCores::start(&twice), Err(Error::SlowCore { .. })));
        assert_eq!(classes(core), Vec::<String>::new());
    }
}
