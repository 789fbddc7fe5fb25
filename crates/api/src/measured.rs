//! A network with its profile, which is measured anew where it does not hold any more.

use std::time::Duration;

use millstream_pipeline::Objective;
use millstream_predict::Profile;

use crate::backends::Backends;
use crate::disturbance::{is_quieter_now, others_during};
use crate::learning::{Known, Refined, refine};
use crate::profiling::{known_or_measured, tell_left_out};
use crate::{Aim, Control, Error, Event, Machine, Network, Plans};

/// The cached profile of a network, unless a new one is wanted, or would be better since others have become quieter.
pub(crate) fn cached(machine: &Machine, network: &Network, is_fresh: bool, control: &Control) -> Option<Profile> {
    let board = machine.board();
    let known = if is_fresh { None } else { machine.cache.load(network, board) }?;
    let created = &known.provenance.created;
    let own = known.network(network.digest())?;
    if is_quieter_now(own, board) {
        let reason =
            format!("other programs used {:.1} cores then, and less than half as much now", others_during(own));
        control.tell(&Event::MeasuredAnew { created, reason: &reason });
        return None;
    }
    control.tell(&Event::CachedProfile { created });
    tell_left_out(own, control);
    Some(known)
}

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

    /// Plans that were tried out, on a new profile if a trial contradicts one that was there before; what was measured is kept for later.
    pub(crate) fn refine(&mut self, objectives: &[Objective], aim: Aim, control: &Control) -> Result<Plans, Error> {
        let (machine, network) = (self.machine, self.network);
        let board = machine.board();
        loop {
            self.backends.choose_threads(network, board, &self.profile)?;
            let known = Known { profile: &mut self.profile, is_old: self.is_old };
            match refine(network, board, &self.backends.backend(), known, objectives, aim, control)? {
                Refined::Plans(plans) => {
                    machine.cache.store(&self.profile, network, board);
                    return Ok(*plans);
                }
                Refined::Contradicted(reason) => {
                    let created = &self.profile.provenance.created;
                    control.tell(&Event::MeasuredAnew { created, reason: &reason });
                    *self = Self::known_or_new(machine, network, None, self.budget, control)?;
                }
            }
        }
    }
}
