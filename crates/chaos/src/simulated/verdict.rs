//! What must be true of every scenario.

use std::time::Duration;

use millstream_backend::{BackendError, Tensor};
use millstream_runtime::{FrameError, FrameResult};

use super::faults::{Fault, LONGEST_STUCK, State};
use super::network::Network;
use crate::simulated::expectation::{Expectation, RESTARTS};
use crate::simulated::record::{Record, longest_gap, longest_silence};

const LONGEST_RECOVERY: Duration = Duration::from_secs(1);
/// Until a frame that is stuck is given up: its time limit, and the time that it has to end once it is cancelled.
const LONGEST_TIMEOUT: Duration = Duration::from_millis(600);
/// Frames wait a minute for one preparation where they have a time limit; five seconds more are for all else that goes
/// wrong.
const LONGEST_WAIT: Duration = Duration::from_secs(65);
const LONGEST_DROP: Duration = Duration::from_secs(1);

/// Everything that is wrong with a scenario.
pub(crate) fn judge(network: &Network, expectation: &Expectation, state: &State, record: &Record) -> Vec<String> {
    let mut wrong: Vec<String> = record.violations.iter().chain(&state.violations).cloned().collect();
    let has_prepare_fault = !state.prepares_failed.is_empty();
    let is_hampered = has_prepare_fault || expectation.lacks_threads;
    if let Some(error) = &record.did_not_start {
        if !is_hampered {
            wrong.push(format!("the engine did not start: {error}"));
        }
        return wrong;
    }
    if !is_hampered {
        wrong.extend(record.refused.iter().map(|error| format!("a schedule was refused: {error}")));
    }
    if !expectation.is_dropped && record.results.len() as u64 != expectation.frames {
        wrong.push(format!("{} of {} frames were answered", record.results.len(), expectation.frames));
    }

    let mut numbers = record.numbers.clone();
    numbers.sort_unstable();
    // Fewer than this can't cost a replica all its restarts.
    let losses = state.happened.values().filter(|fault| fault.is_loss()).count() + state.collateral.len();
    let may_be_lost = is_hampered || losses > RESTARTS;
    for (position, result) in record.results.iter().enumerate() {
        if result.sequence != position as u64 {
            wrong.push(format!("result {position} has the number {}", result.sequence));
            continue;
        }
        let Some(&(_, number)) = numbers.get(position) else { continue };
        let fault = state.happened.get(&number).copied();
        let met_lost_device = state.collateral.contains(&number);
        if let Err(what) = answer(network, number, result, fault, expectation.has_timeout, may_be_lost, met_lost_device)
        {
            wrong.push(format!("frame {number} at {position}, fault {fault:?}: {what}"));
        }
    }

    let gap = longest_gap(&record.results);
    // Whoever is stuck holds up the results of all later frames.
    let stuck = state.happened.values().filter(|fault| **fault == Fault::Stuck).count();
    let held_up = if expectation.has_timeout { LONGEST_TIMEOUT } else { LONGEST_STUCK };
    if !may_be_lost && gap > LONGEST_RECOVERY + held_up * u32::try_from(stuck).unwrap_or(0) {
        wrong.push(format!("recovery took {gap:?}"));
    }

    // Frames wait once for a preparation that is stuck: while it goes on they are answered.
    let silence = longest_silence(&record.results);
    if expectation.has_timeout && silence > LONGEST_WAIT {
        wrong.push(format!("nothing was answered for {silence:?}"));
    }
    if record.time_to_drop >= LONGEST_DROP {
        wrong.push(format!("dropping took {:?}", record.time_to_drop));
    }
    if let Some((threads, most)) = record.at_rest.as_ref().filter(|(threads, most)| threads.len() > *most) {
        wrong.push(format!("{} threads at rest, of at most {most}: {}", threads.len(), threads.join(", ")));
    }
    wrong
}

/// Whether an answer is one that the frame may get.
fn answer(
    network: &Network,
    number: u64,
    result: &FrameResult,
    fault: Option<Fault>,
    has_timeout: bool,
    may_be_lost: bool,
    met_lost_device: bool,
) -> Result<(), String> {
    let error = match &result.outcome {
        Ok(outputs) => return success(outputs, &network.expected(number), fault, has_timeout),
        Err(error) => error,
    };

    let is_fitting = match (fault, error) {
        (_, FrameError::Lost { .. }) => may_be_lost,
        (_, FrameError::Stage { source: BackendError::DeviceLost { .. }, .. }) if met_lost_device => true,
        (Some(Fault::Error | Fault::TooFewValues | Fault::TooManyValues), FrameError::Stage { source, .. }) => {
            matches!(source, BackendError::Failed { .. })
        }
        (Some(Fault::OutOfMemory), FrameError::Stage { source, .. }) => {
            matches!(source, BackendError::OutOfMemory { .. })
        }
        (Some(Fault::DeviceLost), FrameError::Stage { source, .. }) => {
            matches!(source, BackendError::DeviceLost { .. })
        }
        (Some(Fault::Panic | Fault::PanicAndAgainWhenDropped), FrameError::Panicked { .. }) => true,
        (Some(Fault::Hang | Fault::Stuck), FrameError::TimedOut { .. }) => has_timeout,
        _ => false,
    };
    if is_fitting { Ok(()) } else { Err(format!("it failed with: {error}")) }
}

/// Whether a frame with this fault may succeed at all, and with these outputs.
fn success(outputs: &[Tensor], expected: &[Vec<f32>], fault: Option<Fault>, has_timeout: bool) -> Result<(), String> {
    let found: Vec<Option<&[f32]>> = outputs.iter().map(Tensor::as_f32).collect();
    let expected: Vec<Option<&[f32]>> = expected.iter().map(|elements| Some(elements.as_slice())).collect();
    let may_succeed = match fault {
        None | Some(Fault::Slow) => true,
        Some(Fault::Stuck) => !has_timeout,
        Some(_) => false,
    };
    match (found == expected, may_succeed) {
        (true, true) => Ok(()),
        (false, _) => Err(format!("outputs are {found:?}, not {expected:?}")),
        (_, false) => Err("it succeeded".to_owned()),
    }
}
