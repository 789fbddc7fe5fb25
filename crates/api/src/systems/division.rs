//! How a network is divided between hosts.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use millstream_pipeline::{HostDivision, HostPlace, SystemProblem};

use crate::error::Error;
use crate::systems::Hosts;

/// What a plan for a system may use, and how it divides the network.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OnHosts {
    /// Hosts that are left out.
    pub without: Vec<String>,
    /// How the network is divided between the others.
    pub division: SystemDivision,
}

/// How a network is divided between hosts, each of which runs its part as well as it can.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SystemDivision {
    /// As is best.
    #[default]
    Best,
    /// Equal numbers of blocks, in the order of the hosts.
    Equal,
    /// Blocks in proportion to the memories of the hosts, in their order.
    Memory,
    /// All on the host of this name.
    Only(String),
}

/// Whether the memories are known of all hosts that are not lost.
fn memories_are_known(hosts: &Hosts, lost: &[HostPlace]) -> bool {
    let all = hosts.system().hosts().iter().enumerate();
    let mut left = all.filter(|(place, _)| !lost.contains(&HostPlace::new(*place)));
    left.all(|(_, host)| host.board.memory_bytes().is_some())
}

impl FromStr for SystemDivision {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "best" => Self::Best,
            "equal" => Self::Equal,
            "memory" => Self::Memory,
            host => Self::Only(host.to_owned()),
        })
    }
}

impl fmt::Display for SystemDivision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Best => formatter.write_str("best"),
            Self::Equal => formatter.write_str("equal"),
            Self::Memory => formatter.write_str("memory"),
            Self::Only(host) => formatter.write_str(host),
        }
    }
}

impl SystemDivision {
    /// The blocks that each host may run; `None` if all may run any.
    pub(super) fn of(
        &self,
        hosts: &Hosts,
        problem: &SystemProblem,
        lost: &[HostPlace],
    ) -> Result<Option<HostDivision>, Error> {
        Ok(match self {
            Self::Best => None,
            Self::Equal => Some(HostDivision::equal(problem, lost)),
            Self::Memory if !memories_are_known(hosts, lost) => {
                return Err(Error::Unfit("the memory of some host is not known".to_owned()));
            }
            Self::Memory => Some(HostDivision::by_memory(problem, lost)),
            Self::Only(name) => {
                let place = hosts.place(name)?;
                if lost.contains(&place) {
                    return Err(Error::Unfit(format!("host '{name}' is both left out and to run everything")));
                }
                Some(HostDivision::only(problem, place))
            }
        })
    }

    /// What is written as the algorithm of schedules.
    pub(super) fn algorithm(&self, is_exact: bool, has_teams: bool) -> &'static str {
        match self {
            Self::Best if has_teams => "teams-by-bounds",
            Self::Best if is_exact => "exact",
            Self::Best => "best-found",
            Self::Equal => "equal-parts",
            Self::Memory => "parts-by-memory",
            Self::Only(_) => "one-host",
        }
    }
}
