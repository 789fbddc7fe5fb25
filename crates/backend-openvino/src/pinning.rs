//! The thread that runs a segment stays on its cores.

use std::collections::BTreeSet;

use millstream_board::{CoreId, Processor};

/// Inferences after which the thread's cores are looked at: the first, which may move it, and one that shows whether it
/// stays.
const CHECKS: usize = 2;

/// Where the thread was when its segment was prepared.
pub(crate) struct Pinning {
    cores: Option<BTreeSet<CoreId>>,
    processor: Processor,
    checks: usize,
}

impl Pinning {
    /// Remembers where the calling thread may run.
    pub(crate) fn of_current_thread(processor: &Processor) -> Self {
        let cores = millstream_machine::cores_of_current_thread();
        Self { cores, processor: processor.clone(), checks: CHECKS }
    }

    /// Puts the calling thread back if an inference moved it, as OpenVINO does where another part of the program used
    /// the library before and was pinned. Says so if the next one moves it again.
    pub(crate) fn check(&mut self) {
        if self.checks == 0 {
            return;
        }
        self.checks -= 1;
        let Some(cores) = &self.cores else { return };
        if millstream_machine::cores_of_current_thread().is_none_or(|now| now == *cores) {
            return;
        }
        let is_back = millstream_machine::confine_current_thread(cores);
        if self.checks == 0 || !is_back {
            tracing::warn!(
                processor = %self.processor,
                "OpenVINO moves the thread of this processor to other cores: its times are not those of the processor. Let nothing \
                 that is pinned use OpenVINO before Millstream does, or choose another engine"
            );
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_machine::{confine_current_thread, cores_of_current_thread};

    use super::*;

    #[test]
    fn a_thread_that_inferences_move_is_put_back_as_long_as_somebody_looks() {
        let moved = || {
            let all: Vec<CoreId> = cores_of_current_thread().unwrap().into_iter().collect();
            let [one, other, ..] = all.as_slice() else {
                return millstream_test_support::not_tested("CORES", "there is one core");
            };
            let [own, elsewhere] = [BTreeSet::from([*one]), BTreeSet::from([*other])];
            assert!(confine_current_thread(&own));
            let mut pinning = Pinning::of_current_thread(&Processor::new("B", [one.0]));
            for (look, expected) in [(1, &own), (2, &own), (3, &elsewhere)] {
                assert!(confine_current_thread(&elsewhere));
                pinning.check();
                assert_eq!(cores_of_current_thread().unwrap(), *expected, "look {look}");
            }
        };
        std::thread::spawn(moved).join().unwrap();
    }
}
