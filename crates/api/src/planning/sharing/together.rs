//! What networks that share a board do beside each other, in a simulation.

use std::time::Duration;

use millstream_pipeline::Sharing;
use millstream_schedule::Energy;
use millstream_sim::{Conditions, SimulatedNetwork, Simulation, simulate_streams};

use super::shared_board::SharedBoard;
use crate::error::Error;
use crate::simulating::rounds_hertz;

/// Frames of the network with the fewest, after which a simulation of networks that take turns has shown what frames
/// wait for.
const SIMULATED_ROUNDS: f64 = 400.0;
/// The same where deadlines count: what is late is rare.
const DEADLINE_ROUNDS: f64 = 2000.0;

/// What all networks do together.
pub(super) struct Together {
    pub(super) rounds_per_second: f64,
    /// In the order of the networks.
    pub(super) networks: Vec<BesideOthers>,
}

/// What one network does beside the others.
pub(super) struct BesideOthers {
    /// Time between two frames.
    pub(super) period_seconds: f64,
    /// The longest that a frame took: with its waiting for others where networks take turns, without queues where they
    /// do not.
    pub(super) latency: Duration,
    /// What its frames cost, where that is known.
    pub(super) energy: Option<Energy>,
}

impl SharedBoard<'_> {
    /// Simulates networks that take turns or compete for memory or links, for longer where frames that wait for other
    /// networks have deadlines. `None` if the networks do not wait for each other, so that each runs as if it were
    /// alone.
    pub(super) fn simulate(&self, sharing: &Sharing) -> Result<Option<Together>, Error> {
        let has_deadlines = self.networks.iter().any(|shared| shared.share.deadline.is_some());
        let Some(mut together) = self.simulate_rounds(sharing, SIMULATED_ROUNDS)? else { return Ok(None) };
        if sharing.takes_turns && has_deadlines && self.are_in_time(&together) {
            // Rounds are compared with those of other ways to share, over as many frames.
            let longer = self.simulate_rounds(sharing, DEADLINE_ROUNDS)?;
            let longer = longer.into_iter().flat_map(|longer| longer.networks);
            together.networks.iter_mut().zip(longer).for_each(|(beside, longer)| beside.latency = longer.latency);
        }
        Ok(Some(together))
    }

    /// Whether all keep to their deadlines.
    pub(super) fn are_in_time(&self, together: &Together) -> bool {
        together.networks.iter().zip(&self.networks).all(|(seen, shared)| shared.share.is_met_by(seen.latency))
    }

    /// The same over so many frames of the network with the fewest.
    fn simulate_rounds(&self, sharing: &Sharing, rounds: f64) -> Result<Option<Together>, Error> {
        let memory_bytes_per_second = self.board.memory_bytes_per_second();
        if !sharing.takes_turns && memory_bytes_per_second.is_none() && self.board.links().is_empty() {
            return Ok(None);
        }
        let least = self.networks.iter().map(|shared| shared.share.weight).fold(f64::INFINITY, f64::min);
        let all = || self.networks.iter().zip(&sharing.schedules);
        let streams: Vec<SimulatedNetwork<'_>> = all()
            .map(|(shared, schedule)| {
                let frames = (shared.share.weight / least * rounds).ceil() as usize;
                SimulatedNetwork {
                    weight: shared.share.weight,
                    takes_turns: sharing.takes_turns,
                    ..SimulatedNetwork::new(schedule, shared.network.graph(), shared.table, frames)
                }
            })
            .collect();

        let conditions = Conditions { keeps_all_busy: true, memory_bytes_per_second, ..Conditions::default() };
        let simulations = simulate_streams(&streams, &conditions)?;
        let latency = |simulation: &Simulation| {
            if sharing.takes_turns { simulation.worst_latency() } else { simulation.worst_time_in_stages() }
        };
        let networks: Vec<BesideOthers> = all()
            .zip(&simulations)
            .map(|((shared, schedule), simulation)| BesideOthers {
                period_seconds: simulation.period_seconds(),
                latency: Duration::from_nanos(latency(simulation).0),
                energy: simulation.steady_energy(schedule, shared.table),
            })
            .collect();

        let weights = self.networks.iter().map(|shared| shared.share.weight);
        let rounds_per_second = rounds_hertz(networks.iter().map(|beside| beside.period_seconds).zip(weights));
        Ok(Some(Together { rounds_per_second, networks }))
    }
}
