//! Plans that are prepared side by side and take turns, so that they are compared in the same minutes.

use std::time::{Duration, Instant};

use millstream_frames::available_bytes;

use crate::error::Error;
use crate::interference::InterferenceWatch;
use crate::learning::candidate::Candidate;
use crate::learning::trial::{Length, Observed, PlanTrial, Setting};

/// How long each plan runs in all its turns: for several of the seconds in which a shared machine is in one mood.
const TIME_OF_EACH: Duration = Duration::from_millis(3000);
/// However long a turn takes.
const FEWEST_TURNS: usize = 4;
/// How often each plan runs where there is no memory for all of them at once.
const TRIALS_ONE_BY_ONE: usize = 2;
/// A prepared network takes up to so many times what its weights do: as they are, and in layouts that kernels want.
const MEMORY_OF_WEIGHTS: u64 = 3;

/// Runs the plans side by side, in short turns. Where there is no memory for that, each runs for a while, and then each
/// again.
pub(super) fn run(setting: Setting<'_>, candidates: &[Candidate]) -> Result<Vec<PlanTrial>, Error> {
    let mut observed: Vec<Observed> = candidates.iter().map(|_| Observed::default()).collect();
    let watch = InterferenceWatch::of(setting.board);
    let begin = Instant::now();
    if have_room(candidates, setting.network.graph().weight_bytes(), available_bytes()) {
        take_turns(setting, candidates, &mut observed)?;
    } else {
        for _ in 0..TRIALS_ONE_BY_ONE {
            for (candidate, observed) in candidates.iter().zip(&mut observed) {
                let engine = setting.engine(candidate)?;
                setting.stream(&engine, &candidate.plan, Length::Trial, observed)?;
            }
        }
    }

    let disturbance = watch.seen();
    let each = begin.elapsed() / u32::try_from(candidates.len().max(1)).unwrap_or(u32::MAX);
    let trial = |(candidate, mut observed): (&Candidate, Observed)| {
        observed.spent = each;
        setting.trial(&candidate.plan, &observed, disturbance)
    };
    Ok(candidates.iter().zip(observed).map(trial).collect())
}

/// Prepares all, and lets them take turns until each has had its time.
fn take_turns(setting: Setting<'_>, candidates: &[Candidate], observed: &mut [Observed]) -> Result<(), Error> {
    let engines = candidates.iter().map(|candidate| setting.engine(candidate)).collect::<Result<Vec<_>, _>>()?;
    let begin = Instant::now();
    let mut turns = 0;
    while turns < FEWEST_TURNS || begin.elapsed() < TIME_OF_EACH * u32::try_from(candidates.len()).unwrap_or(u32::MAX) {
        for ((candidate, engine), observed) in candidates.iter().zip(&engines).zip(&mut *observed) {
            setting.stream(engine, &candidate.plan, Length::Turn, observed)?;
        }
        turns += 1;
    }
    Ok(())
}

/// Whether all of the plans, of a network with so many bytes of weights, can be prepared at once in half of the memory
/// that is available.
fn have_room(candidates: &[Candidate], weight_bytes: u64, available: Option<u64>) -> bool {
    let copies = |candidate: &Candidate| {
        let replicas = candidate.plan.stages.iter().flat_map(|stage| &stage.replicas);
        replicas.map(|replica| replica.processors.len() as u64).sum::<u64>()
    };
    let all: u64 = candidates.iter().map(copies).sum();
    let needed = all.saturating_mul(MEMORY_OF_WEIGHTS).saturating_mul(weight_bytes);
    candidates.len() < 2 || available.is_none_or(|available| needed <= available / 2)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_onnx::ReadOptions;
    use millstream_pipeline::whole_network_plans;

    use super::*;
    use crate::learning::plan_model::tests::plans;
    use crate::network::Network;

    #[test]
    fn plans_run_side_by_side_where_half_of_the_memory_has_room_for_all() {
        let network = Network::open("zoo:tiny-darknet", ReadOptions::default()).unwrap();
        let (_, plans) = plans(&network);
        let wholes = whole_network_plans(&plans.problem);
        let candidate = |name: &str| {
            let plan = wholes.iter().find(|plan| plan.configuration() == name).unwrap().clone();
            Candidate { schedule: plans.schedule(&plan), plan }
        };
        let both = [candidate("B2"), candidate("(B1|B1)")];
        // Three copies of the network, each three times its weights.
        assert!(have_room(&both, 100, Some(1800)) && !have_room(&both, 100, Some(1798)));
        assert!(have_room(&both[..1], 100, Some(0)) && have_room(&both, 100, None), "nobody knows better");
    }
}
