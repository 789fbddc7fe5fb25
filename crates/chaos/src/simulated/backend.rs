//! A backend that does what a plan of faults says.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use millstream_backend::{Backend, BackendError, Canceller, PreparedSegment, Segment, Tensor};
use millstream_board::Processor;
use millstream_graph::OperatorId;
use millstream_runtime::model::sleep;

use super::faults::{Fault, Plan, PrepareFault, device_lost, out_of_memory};
use super::network::{CHANNELS, Network, number};

const LOOK: Duration = Duration::from_micros(500);
/// What a segment panics with that is dropped, which ends a thread that has nothing else to do.
pub(crate) const DROPPING: &str = "dropping blew up";

/// Computes what the network says, but for the faults.
pub(crate) struct Faulty {
    pub(crate) network: Arc<Network>,
    pub(crate) plan: Arc<Plan>,
}

struct Prepared {
    network: Arc<Network>,
    plan: Arc<Plan>,
    segment: Segment,
    is_on_device: bool,
    /// How often the device had been lost before.
    losses_before: usize,
    cancelled: Arc<Flag>,
    /// Nobody may run it any more.
    is_lost: bool,
    panics_when_dropped: bool,
}

#[derive(Default)]
struct Flag(AtomicBool);

impl Canceller for Flag {
    fn cancel(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Backend for Faulty {
    fn name(&self) -> &str {
        "faulty"
    }

    fn supports(&self, _: OperatorId, _: &Processor) -> bool {
        true
    }

    fn prepare(&self, segment: &Segment, processor: &Processor) -> Result<Box<dyn PreparedSegment>, BackendError> {
        let (fault, time) = {
            let mut state = self.plan.state();
            let place = state.prepared;
            state.prepared += 1;
            let fault = state.prepares.remove(&place);
            state.prepares_failed.extend(fault);
            (fault, state.time(Duration::from_micros(1), Duration::from_millis(2)))
        };
        sleep(time);
        match fault {
            Some(PrepareFault::Error) => return Err(BackendError::failed("it can't be prepared")),
            Some(PrepareFault::OutOfMemory) => return Err(out_of_memory()),
            Some(PrepareFault::Panic) => panic("preparing blew up"),
            Some(PrepareFault::DeviceLost) => return Err(device_lost()),
            Some(PrepareFault::Slow) => sleep(50 * time),
            Some(PrepareFault::Stuck) => {
                let time = self.plan.state().stuck_preparation();
                sleep(time);
            }
            None => {}
        }

        Ok(Box::new(Prepared {
            network: Arc::clone(&self.network),
            plan: Arc::clone(&self.plan),
            segment: segment.clone(),
            is_on_device: processor.is_accelerator(),
            losses_before: self.plan.state().losses_of_device,
            cancelled: Arc::default(),
            is_lost: false,
            panics_when_dropped: false,
        }))
    }
}

impl Prepared {
    /// What a run does wrong, and how long it works. Notes what must not happen, and fails where the device was lost
    /// meanwhile.
    fn planned(&mut self, number: u64) -> Result<(Option<Fault>, Option<Duration>), BackendError> {
        let operators: Vec<usize> = self.segment.operators.iter().map(|operator| operator.index()).collect();
        let mut state = self.plan.state();
        if self.is_lost {
            state.violations.push(format!("frame {number} was given to a segment that was lost"));
        }
        if self.is_on_device && self.losses_before < state.losses_of_device {
            state.collateral.push(number);
            self.is_lost = true;
            return Err(device_lost());
        }
        Ok((state.take(number, &operators), state.work()))
    }

    fn made(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
        self.network.run(&self.segment, inputs).ok_or_else(|| BackendError::failed("inputs are missing"))
    }

    /// Does what goes wrong, and makes what still is made.
    fn fail(&mut self, fault: Fault, work: Option<Duration>, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
        match fault {
            Fault::Error => return Err(BackendError::failed("injected")),
            Fault::OutOfMemory => return Err(out_of_memory()),
            Fault::TooFewValues | Fault::TooManyValues => return self.miscounted(fault, inputs),
            Fault::Slow => sleep(100 * work.unwrap_or(Duration::from_micros(50))),
            Fault::Hang => {
                while !self.cancelled.0.load(Ordering::SeqCst) {
                    sleep(LOOK);
                }
                return Err(BackendError::failed("cancelled"));
            }
            Fault::Stuck => {
                let time = self.plan.state().stuck();
                sleep(time);
            }
            Fault::Panic | Fault::PanicAndAgainWhenDropped => {
                self.is_lost = true;
                self.panics_when_dropped = fault == Fault::PanicAndAgainWhenDropped;
                panic("the operator blew up");
            }
            Fault::DeviceLost => {
                if self.is_on_device {
                    self.plan.state().losses_of_device += 1;
                }
                self.is_lost = true;
                return Err(device_lost());
            }
        }

        self.made(inputs)
    }

    /// One value less than there should be, or one more.
    fn miscounted(&self, fault: Fault, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
        let mut made = self.made(inputs)?;
        if fault == Fault::TooFewValues {
            made.pop();
            return Ok(made);
        }
        let channels = self.segment.channels().map_or(CHANNELS, ExactSizeIterator::len);
        let rows = made[0].shape().dimensions()[0];
        made.push(self.network.tensor(vec![0.0; rows * channels], channels));
        Ok(made)
    }
}

impl PreparedSegment for Prepared {
    fn run(&mut self, inputs: &[Tensor]) -> Result<Vec<Tensor>, BackendError> {
        self.cancelled.0.store(false, Ordering::SeqCst);
        let number = number(inputs).ok_or_else(|| BackendError::failed("no number"))?;
        let (fault, work) = self.planned(number)?;
        if let Some(fault) = fault {
            return self.fail(fault, work, inputs);
        }
        work.into_iter().for_each(sleep);
        self.made(inputs)
    }

    fn canceller(&self) -> Option<Arc<dyn Canceller>> {
        Some(Arc::clone(&self.cancelled) as _)
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if self.panics_when_dropped {
            panic(DROPPING);
        }
    }
}

/// Panics without what a panic prints.
fn panic(message: &str) -> ! {
    resume_unwind(Box::new(message.to_owned()))
}
