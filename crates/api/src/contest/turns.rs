//! Contenders taking turns, and the turns that were disturbed.

use std::time::Duration;

use millstream_backend::Tensor;
use millstream_board::CoreId;

use super::contender::Contender;
use super::measurement::Measurement;
use crate::control::Control;
use crate::error::Error;
use crate::interference::{Interference, InterferenceWatch};
use crate::network::Network;

/// A contender works in one turn at least so many times as long as a frame takes in our slowest pipeline.
const TURN_FRAMES: u32 = 8;

/// One turn of a contender.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    pub(super) measurement: Measurement,
    /// What held it up.
    disturbance: Interference,
}

impl Turn {
    pub(super) fn is_disturbed(&self) -> bool {
        self.disturbance.is_significant()
    }
}

/// Rounds in which every contender has a turn.
pub(super) struct Rounds<'a> {
    network: &'a Network,
    contenders: &'a [Contender],
    frame: &'a [Tensor],
    cores: Vec<CoreId>,
    turn: Duration,
}

impl<'a> Rounds<'a> {
    pub(super) fn new(
        network: &'a Network,
        contenders: &'a [Contender],
        frame: &'a [Tensor],
        cores: Vec<CoreId>,
        turn: Duration,
    ) -> Self {
        let slowest = contenders.iter().filter_map(|contender| Some(contender.own.as_ref()?.plan.latency.seconds()));
        let turn = turn.max(Duration::from_secs_f64(slowest.fold(0.0, f64::max)) * TURN_FRAMES);
        Self { network, contenders, frame, cores, turn }
    }

    /// The same with turns that are long enough for frames that take so long.
    pub(super) fn for_frames_of(self, slowest: Duration) -> Self {
        Self { turn: self.turn.max(slowest.saturating_mul(TURN_FRAMES)), ..self }
    }

    /// The turns of each contender: one in every round. Rounds in which somebody's was disturbed are played again, as many
    /// at most as there are. If the caller asks to stop, the turns so far count.
    pub(super) fn play(&self, rounds: usize, control: &Control) -> Result<Vec<Vec<Turn>>, Error> {
        let mut steps = control.steps(format!("comparing on {}", self.network.name()), rounds);
        for contender in self.contenders {
            contender.measure(self.frame, self.turn / 4)?;
        }
        let mut played: Vec<Vec<Turn>> = Vec::new();
        while played.len() < rounds && (played.is_empty() || !control.is_cancelled()) {
            played.push(self.round()?);
            steps.set(played.len(), rounds);
        }
        for _ in 0..rounds {
            let disturbed =
                played.iter_mut().filter(|round| is_disturbed(round)).max_by(|one, other| by_disturbance(one, other));
            let Some(worst) = disturbed.filter(|_| !control.is_cancelled()) else { break };
            replace_by_quieter(worst, self.round()?);
        }
        Ok((0..self.contenders.len()).map(|place| played.iter().map(|round| round[place]).collect()).collect())
    }

    /// A turn of each contender.
    fn round(&self) -> Result<Vec<Turn>, Error> {
        self.contenders.iter().map(|contender| self.turn(contender)).collect()
    }

    fn turn(&self, contender: &Contender) -> Result<Turn, Error> {
        let watch = InterferenceWatch::new(self.cores.clone());
        let measurement = contender.measure(self.frame, self.turn)?;
        Ok(Turn { measurement, disturbance: watch.seen() })
    }
}

/// What held up the turn of a round that was disturbed most.
fn disturbance(round: &[Turn]) -> Interference {
    round.iter().fold(Interference::default(), |most, turn| most.or_greater(turn.disturbance))
}

fn is_disturbed(round: &[Turn]) -> bool {
    round.iter().any(Turn::is_disturbed)
}

fn by_disturbance(one: &[Turn], other: &[Turn]) -> std::cmp::Ordering {
    disturbance(one).partial_cmp(&disturbance(other)).unwrap_or(std::cmp::Ordering::Equal)
}

/// A round counts as a whole: turns of other minutes say nothing beside each other.
fn replace_by_quieter(round: &mut Vec<Turn>, again: Vec<Turn>) {
    if disturbance(&again) < disturbance(round) {
        *round = again;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_as_long_as_is_asked_for_and_long_enough_for_slow_frames() {
        let network = Network::open("zoo:squeezenet", crate::ReadOptions::default()).unwrap();
        let asked = super::super::TurnOptions::new(3).with_turn(Duration::from_millis(200));
        let rounds = || Rounds::new(&network, &[], &[], Vec::new(), asked.turn);
        assert_eq!(rounds().turn, Duration::from_millis(200));
        assert_eq!(rounds().for_frames_of(Duration::from_millis(100)).turn, Duration::from_millis(800));
    }

    #[test]
    fn a_disturbed_round_is_replaced_by_a_quieter_one() {
        let turn = |frames_per_second, other_cores| Turn {
            measurement: Measurement {
                frames_per_second,
                median_frame_seconds: 1.0,
                worst_frame_seconds: 1.0,
                stage_seconds: None,
            },
            disturbance: Interference { heat_throttled: false, other_cores },
        };
        let rates = |round: &[Turn]| round.iter().map(|turn| turn.measurement.frames_per_second).collect::<Vec<_>>();
        let mut kept = vec![turn(5.0, 0.5), turn(6.0, 0.0)];
        assert!(is_disturbed(&kept) && !is_disturbed(&kept[1..]));
        replace_by_quieter(&mut kept, vec![turn(9.0, 0.0), turn(9.0, 0.6)]);
        assert_eq!(rates(&kept), [5.0, 6.0], "faster, but more disturbed");
        replace_by_quieter(&mut kept, vec![turn(4.0, 0.01), turn(3.0, 0.02)]);
        assert_eq!(rates(&kept), [4.0, 3.0], "the quiet turn as well");
        assert!(!is_disturbed(&kept));
        assert_eq!(by_disturbance(&kept, &[turn(1.0, 0.2)]), std::cmp::Ordering::Less);
    }
}
