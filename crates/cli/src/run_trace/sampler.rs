//! Looks at the machine while frames flow: clocks, what others use, power.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use millstream_machine::{CoreLoad, CoreWatch, PowerSensors};

/// Between two looks.
const INTERVAL: Duration = Duration::from_millis(50);

/// A number that was seen.
pub(super) struct Sample {
    pub(super) name: String,
    pub(super) at: Instant,
    pub(super) value: f64,
}

/// A thread that looks now and then, until this is dropped.
pub(super) struct Sampler {
    is_over: Arc<AtomicBool>,
    samples: Arc<Mutex<Vec<Sample>>>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Begins to look. Where no thread can be started, nothing is seen.
    pub(super) fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let samples = Arc::<Mutex<Vec<Sample>>>::default();
        let (over, seen) = (Arc::clone(&is_over), Arc::clone(&samples));
        let look = move || {
            let (mut cores, power) = (CoreWatch::new(), PowerSensors::detect());
            while !over.load(Ordering::Relaxed) {
                // Sensors are looked at over a time, which is the pause as well.
                let watts = match &power {
                    Some(sensors) => sensors.watts(INTERVAL),
                    None => {
                        std::thread::sleep(INTERVAL);
                        None
                    }
                };
                let new = shown(&cores.loads(), watts, Instant::now());
                seen.lock().unwrap_or_else(PoisonError::into_inner).extend(new);
            }
        };
        let thread = std::thread::Builder::new().name("trace sampler".to_owned()).spawn(look).ok();
        Self { is_over, samples, thread }
    }

    /// What was seen since the last call.
    pub(super) fn take(&self) -> Vec<Sample> {
        std::mem::take(&mut *self.samples.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What is shown of the machine's power and of what its cores did.
fn shown(loads: &[CoreLoad], watts: Option<f64>, at: Instant) -> Vec<Sample> {
    let sample = |name: String, value: f64| Sample { name, at, value };
    let mut samples: Vec<Sample> = watts.map(|watts| sample("power, W".to_owned(), watts)).into_iter().collect();
    for load in loads {
        samples.push(sample(format!("others on core {}, %", load.core), 100.0 * load.others));
        samples.extend(load.hertz.map(|hertz| sample(format!("clock of core {}, GHz", load.core), hertz as f64 / 1e9)));
    }
    samples
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It has nothing to lose if it panicked.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use millstream_board::CoreId;

    use super::*;

    #[test]
    fn power_clocks_and_what_others_use_are_shown_with_their_units() {
        let load = |core: u32, hertz: Option<u64>| CoreLoad { core: CoreId(core), own: 0.5, others: 0.25, hertz };
        let loads = [load(0, Some(1_800_000_000)), load(4, None)];
        let named = |watts: Option<f64>| -> Vec<(String, f64)> {
            shown(&loads, watts, Instant::now()).into_iter().map(|load| (load.name, load.value)).collect()
        };
        let of_cores = [("others on core 0, %", 25.0), ("clock of core 0, GHz", 1.8), ("others on core 4, %", 25.0)];
        let of_cores = of_cores.map(|(name, value)| (name.to_owned(), value));
        assert_eq!(named(None), of_cores);
        assert_eq!(named(Some(4.5)), [&[("power, W".to_owned(), 4.5)], &of_cores[..]].concat());
    }
}
