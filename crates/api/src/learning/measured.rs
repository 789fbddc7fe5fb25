//! A network with its profile, which is measured anew where a trial contradicts it.

use std::time::Duration;

use millstream_pipeline::Objective;
use millstream_predict::Profile;

use crate::backends::Backends;
use crate::control::{Control, Event};
use crate::error::Error;
use crate::learning::{Known, Refined, refine};
use crate::machine::Machine;
use crate::measuring::opening::fit_and_choose_threads;
use crate::measuring::profiling::known_or_measured;
use crate::network::Network;
use crate::plans::{Aim, Plans};

/// What is known of a network on this machine, and what runs its operators.
pub(crate) struct Measured<'a> {
    machine: &'a Machine,
    network: &'a Network,
    budget: Duration,
    /// Its profile.
    pub(crate) profile: Profile,
    /// What runs its operators.
    pub(crate) backends: Backends,
    /// Whether the profile was there before.
    is_old: bool,
}

impl<'a> Measured<'a> {
    /// With the profile that is known, or a new one.
    pub(crate) fn known_or_new(
        machine: &'a Machine,
        network: &'a Network,
        known: Option<Profile>,
        budget: Duration,
        control: &Control,
    ) -> Result<Self, Error> {
        let is_old = known.is_some();
        let (profile, backends) = known_or_measured(network, machine, known, budget, control)?;
        Ok(Self { machine, network, budget, profile, backends, is_old })
    }

    /// Plans that were tried out, on a new profile if a trial contradicts one that was there before; what was measured
    /// is kept for later.
    pub(crate) fn refine(&mut self, objectives: &[Objective], aim: Aim, control: &Control) -> Result<Plans, Error> {
        let (machine, network) = (self.machine, self.network);
        let board = machine.board();
        loop {
            let table = fit_and_choose_threads(&self.backends, network, board, &self.profile)?;
            let known = Known { profile: &mut self.profile, table, is_old: self.is_old };
            match refine(network, board, &self.backends.backend(), known, objectives, aim, control)? {
                Refined::Plans(plans) => {
                    machine.cache.store(&self.profile, network, board);
                    return Ok(*plans);
                }
                Refined::Contradicted(reason) => {
                    let created = &self.profile.provenance.created;
                    control.emit(&Event::MeasuredAnew { created, reason: &reason });
                    *self = Self::known_or_new(machine, network, None, self.budget, control)?;
                }
            }
        }
    }
}
