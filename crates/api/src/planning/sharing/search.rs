//! The best way of networks to share a board that is found.

use std::cell::Cell;

use millstream_pipeline::{
    Problem, Sharing, Tenant, divide_as_rated, divide_memory, divide_processors, share, take_turns,
};

use super::memory_parts::boards_with_parts;
use super::shared_board::{SharedBoard, Teams};
use crate::error::Error;
use crate::network::Network;

/// A way to share.
pub(super) struct Found {
    pub(super) sharing: Sharing,
    /// Rounds a second of the other way, by turns or with processors of their own, where it is possible.
    pub(super) other_rounds_per_second: Option<f64>,
}

/// The one of two ways to share that passes more rounds, beside the best that either found of the other way.
pub(super) fn better(one: Result<Found, Error>, other: Result<Found, Error>) -> Result<Found, Error> {
    let (one, other) = match (one, other) {
        (Ok(one), Ok(other)) => (one, other),
        (found @ Ok(_), Err(_)) | (Err(_), found) => return found,
    };
    let (best, second) = if other.sharing.passes_more_than(&one.sharing) { (other, one) } else { (one, other) };
    let is_alike = best.sharing.takes_turns == second.sharing.takes_turns;
    let of_second = if is_alike { second.other_rounds_per_second } else { Some(second.sharing.rounds_per_second) };
    let other_rounds_per_second = [best.other_rounds_per_second, of_second].into_iter().flatten().reduce(f64::max);
    Ok(Found { other_rounds_per_second, ..best })
}

impl SharedBoard<'_> {
    /// The best that is found of sharing the board and its memories. Where what is best without a look at memory does
    /// not fit, all that fit are tried, and also what each network does within a part of the memories.
    pub(super) fn share_within_memory(&self, teams: Teams) -> Result<Found, Error> {
        let is_roomy = Cell::new(true);
        let mut best = self.share(&self.problems(teams)?, &is_roomy);
        if is_roomy.get() {
            return best;
        }
        let networks: Vec<&Network> = self.networks.iter().map(|shared| shared.network).collect();
        for boards in boards_with_parts(self.board, &networks)? {
            let divided = divide_memory(&self.problems_on(&boards, teams)?).map_err(Error::from);
            best = match (best, divided.and_then(|divided| self.share(&divided, &is_roomy))) {
                (Ok(one), Ok(other)) if other.sharing.rounds_per_second > one.sharing.rounds_per_second => Ok(other),
                (Ok(one), _) | (Err(_), Ok(one)) => Ok(one),
                (Err(_), Err(error)) => Err(error),
            };
        }
        best
    }

    /// The best that is found of sharing the board, of all that fits into its memories, and rounds a second of the
    /// other way to share. Says if something did not fit.
    fn share(&self, problems: &[Problem], is_roomy: &Cell<bool>) -> Result<Found, Error> {
        let tenants = self.tenants(problems);
        let rate = |sharing: &Sharing| {
            if self.check_memory(sharing).is_err() {
                is_roomy.set(false);
                return None;
            }
            let Some(together) = self.simulate(sharing).ok()? else { return Some(sharing.rounds_per_second) };
            self.are_in_time(&together).then_some(together.rounds_per_second)
        };
        let sharing = share(&tenants, rate)?;

        let other_rounds_per_second = if sharing.takes_turns {
            divide_as_rated(&tenants, rate).ok().map(|other| other.rounds_per_second)
        } else {
            let turns = take_turns(&tenants).ok().filter(|turns| self.check_memory(turns).is_ok());
            turns.and_then(|turns| self.rounds_per_second(&turns))
        };
        Ok(Found { sharing, other_rounds_per_second })
    }

    /// Rounds a second of a way to share, as simulated where networks wait for each other.
    fn rounds_per_second(&self, sharing: &Sharing) -> Option<f64> {
        let together = self.simulate(sharing).ok()?;
        Some(together.map_or(sharing.rounds_per_second, |together| together.rounds_per_second))
    }

    /// Whether a division of the processors, one for each stage, would pass more rounds without deadlines, or can't be
    /// at all.
    pub(super) fn is_held_up(&self, Found { sharing, other_rounds_per_second }: &Found) -> bool {
        if self.networks.iter().all(|shared| shared.share.deadline.is_none()) {
            return sharing.takes_turns && other_rounds_per_second.is_none();
        }
        let Ok(problems) = self.problems(Teams::Without) else { return false };
        let tenants = self.tenants(&problems).into_iter().map(|tenant| Tenant { deadline: None, ..tenant });
        let Ok(free) = divide_processors(&tenants.collect::<Vec<_>>()) else { return true };
        let rounds_per_second = self.rounds_per_second(&free).unwrap_or(0.0);
        Sharing { rounds_per_second, ..free }.passes_more_than(sharing)
    }
}
