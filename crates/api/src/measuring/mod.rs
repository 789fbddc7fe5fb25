//! Measuring networks on a machine, and the costs that this gives.

pub(crate) mod costs;
pub(crate) mod disturbed;
pub(crate) mod opening;
pub(crate) mod profiling;
pub(crate) mod quantile;
pub(crate) mod steady;
mod sweeping;

use std::time::Duration;

use millstream_predict::Profile;

use crate::backends::Backends;
use crate::control::Control;
use crate::error::Error;
use crate::machine::Machine;
use crate::network::Network;
use crate::provenance;
use profiling::{add_network, cached, known_or_measured, report_disturbance};
use sweeping::add_sweep;

pub use costs::{CostSource, read_profile};
pub use profiling::PROFILE_BUDGET;

impl Machine {
    /// An empty profile of this machine, to add measurements to.
    pub fn new_profile(&self) -> Profile {
        Profile::new(self.board(), provenance())
    }

    /// The profile of a network on this machine: the one that is cached, or a new one, for which `budget` is spent on
    /// measuring.
    ///
    /// # Errors
    /// [`Error::NotHere`] if the board is not this computer, [`Error::Interrupted`], or whatever keeps the network from
    /// running.
    pub fn profile(&self, network: &Network, budget: Duration, control: &Control) -> Result<Profile, Error> {
        self.check_usable()?;
        let known = cached(self, network, false, control);
        let (profile, _) = known_or_measured(network, self, known, budget, control)?;
        Ok(profile)
    }

    /// Measures networks, and the sweep over layers of many shapes if `has_sweep`, as far as the profile does not know
    /// them. Each gets an equal part of the time. Returns whether everything was measured: if not, the caller asked to
    /// stop, and the profile has what was measured until then.
    ///
    /// # Errors
    /// As [`Machine::profile`].
    pub fn measure(
        &self,
        profile: &mut Profile,
        networks: &[Network],
        has_sweep: bool,
        budget: Duration,
        control: &Control,
    ) -> Result<bool, Error> {
        self.check_usable()?;
        let parts = u32::from(has_sweep) + u32::try_from(networks.len()).unwrap_or(u32::MAX);
        let budget = budget / parts.max(1);
        for network in networks {
            let backends = Backends::open(self.board(), network.model(), Some(profile))?;
            if !add_network(profile, network, self.board(), &backends, budget, control)? {
                return Ok(false);
            }
            report_disturbance(profile, network, self.board(), control);
            self.cache.store(profile, network, self.board());
        }
        Ok(!has_sweep || add_sweep(profile, self.board(), budget, control)?)
    }
}
