//! Pipelines from host to host.

use std::collections::HashMap;

use super::host_visits::{Arrival, HostVisits, Origin, Visited};
use super::system::SystemStages;

/// A set of hosts, as a mask of their places.
type HostMask = usize;

/// Whether there is a pipeline whose stages and links, those from and to outside among them, all have a shorter period
/// than this.
pub(super) fn has_pipeline_below(system: &SystemStages<'_>, period: u64) -> bool {
    let mut hosts: Vec<HostVisits<'_>> = system.places().map(|place| HostVisits::new(system, place, period)).collect();
    let mut arrivals: HashMap<(HostMask, usize), Vec<Arrival>> = HashMap::new();
    for place in system.places().filter(|&place| system.host(place).frame_occupies_nanoseconds < period) {
        arrivals.insert((0, place), vec![Arrival { origin: Origin::Outside, starts: vec![0] }]);
    }

    // Sets of hosts only ever grow: when one comes, all that leads there has been.
    let all: HostMask = 1 << system.places().len();
    for done in 0..all {
        for (place, host) in hosts.iter_mut().enumerate() {
            // Nothing arrives where it has been.
            let Some(arrived) = arrivals.remove(&(done, place)) else { continue };
            let Visited { is_end_reached, departures } = host.visit(&arrived);
            if is_end_reached {
                return true;
            }
            let done = done | 1 << place;
            let others = departures.into_iter().enumerate();
            for (to, starts) in others.filter(|(to, starts)| done >> to & 1 == 0 && !starts.is_empty()) {
                let arrival = Arrival { origin: Origin::Host(place), starts };
                arrivals.entry((done, to)).or_default().push(arrival);
            }
        }
    }
    false
}
