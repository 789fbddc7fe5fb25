//! Plans that are prepared side by side and take turns, so that they are compared in the same minutes.

use std::time::{Duration, Instant};

use millstream_board::Board;
use millstream_frames::available_bytes;
use millstream_graph::Graph;
use millstream_runtime::Engine;
use millstream_tune::TuneError;

use crate::error::Error;
use crate::interference::{Interference, InterferenceWatch};
use crate::learning::candidate::Candidate;
use crate::learning::trial::{FEWEST_FRAMES_OF_TURN, Length, Observed, PlanTrial, Setting, warm_up, workers};

/// How long each plan runs in all its turns: for several of the seconds in which a shared machine is quick or slow.
const TIME_OF_EACH: Duration = Duration::from_millis(3000);
/// However long a turn takes.
const FEWEST_ROUNDS: usize = 4;
/// A turn lasts at least as long: it is short, so that all have had one before the machine changes.
const TURN: Duration = Duration::from_millis(150);
/// The same where cores are shared or a container has a quota: several of the periods in which processor time is
/// handed out.
const TURN_OF_SHARED_CORES: Duration = Duration::from_millis(600);
/// How often each plan runs where there is no room for all of them at once.
const TRIALS_ONE_BY_ONE: usize = 2;
/// A prepared network has its weights up to so many times: as they are, and in layouts that kernels want.
const COPIES_OF_WEIGHTS: u64 = 3;

/// Lets the plans take turns. Where there is no room for all of them at once, each runs for a while, and then each again.
pub(super) fn run(setting: Setting<'_>, candidates: &[Candidate]) -> Result<Vec<PlanTrial>, TuneError> {
    let bytes = bytes_of(setting.network.graph());
    let together = if have_room(candidates, bytes, available_bytes()) { prepared(setting, candidates) } else { None };
    let (observed, disturbance) = match together {
        Some(engines) => take_turns(setting, candidates, &engines)?,
        None => one_by_one(setting, candidates)?,
    };
    let trial = |(candidate, observed): (&Candidate, &Observed)| setting.trial(&candidate.plan, observed, disturbance);
    Ok(candidates.iter().zip(&observed).map(trial).collect())
}

/// The engines of all plans; `None` if not all can be there at once, as where a device has too little memory.
fn prepared(setting: Setting<'_>, candidates: &[Candidate]) -> Option<Vec<Engine>> {
    let prepare = |candidate: &Candidate| {
        let engine = setting.engine(candidate);
        engine.inspect_err(|error| tracing::info!(%error, "plans can't be prepared side by side")).ok()
    };
    candidates.iter().map(prepare).collect()
}

/// Rounds of turns until each plan has had its time.
fn take_turns(
    setting: Setting<'_>,
    candidates: &[Candidate],
    engines: &[Engine],
) -> Result<(Vec<Observed>, Interference), TuneError> {
    let length = Length::Turn(turn(setting.board, candidates));
    let begin = Instant::now();
    let time = TIME_OF_EACH.saturating_mul(u32::try_from(candidates.len()).unwrap_or(u32::MAX));
    let is_over = |rounds: usize| rounds >= FEWEST_ROUNDS && begin.elapsed() >= time;
    observe(setting.board, candidates, is_over, |place, observed| {
        setting.stream(&engines[place], &candidates[place].plan, length, observed)
    })
}

/// Each plan for the time of a trial, with nothing else prepared, and each again.
fn one_by_one(setting: Setting<'_>, candidates: &[Candidate]) -> Result<(Vec<Observed>, Interference), TuneError> {
    let is_over = |rounds: usize| rounds >= TRIALS_ONE_BY_ONE;
    observe(setting.board, candidates, is_over, |place, observed| {
        let engine = setting.engine(&candidates[place])?;
        setting.stream(&engine, &candidates[place].plan, Length::Trial, observed)
    })
}

/// What rounds show of each plan, and what held them up.
fn observe(
    board: &Board,
    candidates: &[Candidate],
    is_over: impl Fn(usize) -> bool,
    turn: impl Fn(usize, &mut Observed) -> Result<(), Error>,
) -> Result<(Vec<Observed>, Interference), TuneError> {
    let mut observed: Vec<Observed> = candidates.iter().map(|_| Observed::default()).collect();
    let watch = InterferenceWatch::of(board);
    rounds(candidates.len(), is_over, |place| {
        turn(place, &mut observed[place]).map_err(|error| candidates[place].failure(error))
    })?;
    Ok((observed, watch.seen()))
}

/// Rounds in which every player has a turn, in the opposite order every other time, so that nobody always comes after the
/// same one.
fn rounds<E>(
    players: usize,
    is_over: impl Fn(usize) -> bool,
    mut turn: impl FnMut(usize) -> Result<(), E>,
) -> Result<(), E> {
    let mut done = 0;
    while !is_over(done) {
        for place in 0..players {
            turn(if done % 2 == 0 { place } else { players - 1 - place })?;
        }
        done += 1;
    }
    Ok(())
}

/// How long a turn lasts: the same for all, and long enough for the fewest frames of the slowest.
fn turn(board: &Board, candidates: &[Candidate]) -> Duration {
    let is_shared =
        board.quota_cores().is_some() || board.clusters().iter().any(|cluster| board.is_slowed(&cluster.label));
    let needed = |Candidate { plan, .. }: &Candidate| {
        let frames = warm_up(plan) + FEWEST_FRAMES_OF_TURN * workers(plan);
        Duration::try_from_secs_f64(plan.period.seconds() * frames as f64).unwrap_or(Duration::ZERO)
    };
    let longest = candidates.iter().map(needed).max().unwrap_or_default();
    longest.max(if is_shared { TURN_OF_SHARED_CORES } else { TURN })
}

/// What a network takes where it is prepared once: its weights, and no more than all values of one frame.
fn bytes_of(graph: &Graph) -> u64 {
    let values = graph.operators().iter().fold(0_u64, |sum, operator| sum.saturating_add(operator.work.output_bytes));
    graph.weight_bytes().saturating_mul(COPIES_OF_WEIGHTS).saturating_add(values)
}

/// Whether all of the plans, of a network that takes so much where it is prepared once, fit into half of the memory that
/// is available.
fn have_room(candidates: &[Candidate], bytes: u64, available: Option<u64>) -> bool {
    let copies = |candidate: &Candidate| {
        let replicas = candidate.plan.stages.iter().flat_map(|stage| &stage.replicas);
        replicas.map(|replica| replica.processors.len() as u64).sum::<u64>()
    };
    let needed = candidates.iter().map(copies).sum::<u64>().saturating_mul(bytes);
    candidates.len() < 2 || available.is_none_or(|available| needed <= available / 2)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_cost::Nanoseconds;
    use millstream_onnx::ReadOptions;
    use millstream_pipeline::{Plan, whole_network_plans};
    use millstream_test_support::board;

    use super::*;
    use crate::learning::plan_model::tests::plans;
    use crate::network::Network;

    /// Both cores together, and an instance on each, with so many milliseconds between two frames.
    fn both(network: &Network, milliseconds: u64) -> [Candidate; 2] {
        let (_, plans) = plans(network);
        let wholes = whole_network_plans(&plans.problem);
        ["B2", "(B1|B1)"].map(|name| {
            let plan = wholes.iter().find(|plan| plan.configuration() == name).unwrap().clone();
            let schedule = plans.schedule(&plan);
            Candidate { plan: Plan { period: Nanoseconds(1_000_000 * milliseconds), ..plan }, schedule }
        })
    }

    fn network() -> Network {
        Network::open("zoo:tiny-darknet", ReadOptions::default()).unwrap()
    }

    #[test]
    fn plans_are_there_side_by_side_where_half_of_the_memory_has_room_for_all() {
        let network = network();
        let both = both(&network, 1);
        // Three copies of the network.
        assert!(have_room(&both, 300, Some(1800)) && !have_room(&both, 300, Some(1798)));
        assert!(have_room(&both[..1], 300, Some(0)) && have_room(&both, 300, None), "nobody knows better");
        let graph = network.graph();
        assert!(bytes_of(graph) > 3 * graph.weight_bytes());
    }

    #[test]
    fn the_order_turns_round_from_round_to_round() {
        let mut seen = Vec::new();
        let done: Result<(), ()> = rounds(
            3,
            |rounds| rounds >= 3,
            |player| {
                seen.push(player);
                Ok(())
            },
        );
        assert_eq!((done, seen), (Ok(()), vec![0, 1, 2, 2, 1, 0, 0, 1, 2]));
        assert_eq!(rounds(2, |_| false, Err), Err(0), "the first failure ends it");
    }

    #[test]
    fn turns_are_as_long_for_all_as_the_slowest_needs() {
        let network = network();
        assert_eq!(turn(&board("B2"), &both(&network, 1)), TURN);
        // Six frames to begin with, and six for each of two cores.
        assert_eq!(turn(&board("B2"), &both(&network, 100)), Duration::from_millis(1800));
        assert_eq!(turn(&board("B2").with_quota(1.5).unwrap(), &both(&network, 1)), TURN_OF_SHARED_CORES);
    }

    /// On this computer: every plan has a round's turns, together or one after the other.
    #[cfg(feature = "ort")]
    #[test]
    fn every_plan_runs_until_each_has_had_its_time() {
        let network = network();
        let board = board("B2");
        let backend = crate::backends::Backends::open(&board, network.model(), None).unwrap().backend();
        let control = crate::control::Control::new();
        let setting = Setting { network: &network, board: &board, backend: &backend, control: &control };
        let both = both(&network, 1);

        let engines = prepared(setting, &both).unwrap();
        let (together, _) = take_turns(setting, &both, &engines).unwrap();
        assert!(together[0].turns() >= FEWEST_ROUNDS && together[0].turns() == together[1].turns());
        drop(engines);
        let (alone, _) = one_by_one(setting, &both[..1]).unwrap();
        assert_eq!(alone[0].turns(), TRIALS_ONE_BY_ONE);

        let interrupted = crate::control::Control::new().cancelled_by(|| true);
        let setting = Setting { control: &interrupted, ..setting };
        assert!(prepared(setting, &both).is_none() && one_by_one(setting, &both).is_err());
    }
}
