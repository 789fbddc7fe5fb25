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

    fn replace_by_quieter(&mut self, again: Self) {
        if again.disturbance < self.disturbance {
            *self = again;
        }
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

    /// The turns of each contender: one in every round, and as many rounds again at most for those that had a disturbed
    /// one. If the caller asks to stop, the turns so far count.
    pub(super) fn play(&self, rounds: usize, control: &Control) -> Result<Vec<Vec<Turn>>, Error> {
        let mut steps = control.steps(format!("comparing on {}", self.network.name()), rounds);
        let mut turns: Vec<Vec<Turn>> = vec![Vec::new(); self.contenders.len()];
        for contender in self.contenders {
            contender.measure(self.frame, self.turn / 4)?;
        }
        for round in 0..rounds {
            for (contender, turns) in self.contenders.iter().zip(&mut turns) {
                turns.push(self.turn(contender)?);
            }
            steps.set(round + 1, rounds);
            if control.is_cancelled() {
                return Ok(turns);
            }
        }
        self.repeat_disturbed(&mut turns, rounds, control)?;
        Ok(turns)
    }

    /// Each contender's most disturbed turn, until none is or there were so many rounds more.
    fn repeat_disturbed(&self, turns: &mut [Vec<Turn>], rounds: usize, control: &Control) -> Result<(), Error> {
        for _ in 0..rounds {
            let disturbed = turns
                .iter_mut()
                .map(|turns| turns.iter_mut().max_by(by_disturbance).filter(|turn| turn.is_disturbed()));
            let disturbed: Vec<(&Contender, &mut Turn)> = self
                .contenders
                .iter()
                .zip(disturbed)
                .filter_map(|(contender, turn)| Some((contender, turn?)))
                .collect();
            if disturbed.is_empty() || control.is_cancelled() {
                break;
            }
            for (contender, worst) in disturbed {
                worst.replace_by_quieter(self.turn(contender)?);
            }
        }
        Ok(())
    }

    fn turn(&self, contender: &Contender) -> Result<Turn, Error> {
        let watch = InterferenceWatch::new(self.cores.clone());
        let measurement = contender.measure(self.frame, self.turn)?;
        Ok(Turn { measurement, disturbance: watch.seen() })
    }
}

fn by_disturbance(one: &&mut Turn, other: &&mut Turn) -> std::cmp::Ordering {
    one.disturbance.partial_cmp(&other.disturbance).unwrap_or(std::cmp::Ordering::Equal)
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
    fn a_disturbed_turn_is_replaced_by_a_quieter_one() {
        let turn = |frames_per_second, other_cores| Turn {
            measurement: Measurement {
                frames_per_second,
                median_frame_seconds: 1.0,
                worst_frame_seconds: 1.0,
                stage_seconds: None,
            },
            disturbance: Interference { heat_throttled: false, other_cores },
        };
        let mut kept = turn(5.0, 0.5);
        assert!(kept.is_disturbed());
        kept.replace_by_quieter(turn(9.0, 0.6));
        assert_eq!(kept.measurement.frames_per_second, 5.0, "faster, but more disturbed");
        kept.replace_by_quieter(turn(4.0, 0.01));
        assert_eq!(kept.measurement.frames_per_second, 4.0);
        assert!(!kept.is_disturbed());
    }
}
