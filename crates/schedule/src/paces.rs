//! How often replicas of a stage take frames.

use millstream_cost::Nanoseconds;

/// What taking over a frame occupies of a link. Only the replicas of one stage share it: what other stages, or other networks, send over
/// the same link does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkUse {
    /// The cluster or accelerator that the link leads to. Replicas there get their frames one after the other.
    pub receiver: String,
    /// For how long.
    pub time: Nanoseconds,
}

/// Period of replicas that take frames in turn, each when it is free: `1 / (1/t1 + 1/t2 + ...)`.
pub fn replicated_period(times: &[Nanoseconds]) -> Nanoseconds {
    if let [time] = times {
        return *time;
    }
    period_of(times.iter().copied().map(rate).sum())
}

/// The same where replicas may share links: those that take frames over one take no more than it carries.
pub fn shared_period(times: &[Nanoseconds], links: &[Option<LinkUse>]) -> Nanoseconds {
    match times {
        [time] => *time,
        _ if links.iter().all(Option::is_none) => replicated_period(times),
        _ => period_of(replica_rates(times, links).iter().sum()),
    }
}

/// Frames per nanosecond that each replica takes.
pub fn replica_rates(times: &[Nanoseconds], links: &[Option<LinkUse>]) -> Vec<f64> {
    let mut rates: Vec<f64> = times.iter().copied().map(rate).collect();
    for (place, link) in links.iter().enumerate() {
        let Some(link) = link else { continue };
        let is_same = |other: &Option<LinkUse>| other.as_ref().is_some_and(|other| other.receiver == link.receiver);
        let sharers: Vec<usize> = (0..links.len()).filter(|&other| is_same(&links[other])).collect();
        // Once for each link, with the first that uses it.
        if sharers.first() == Some(&place) {
            let together: f64 = sharers.iter().map(|&own| rates[own]).sum();
            let most = rate(link.time).min(together);
            sharers.iter().for_each(|&own| rates[own] *= most / together);
        }
    }
    rates
}

fn rate(time: Nanoseconds) -> f64 {
    1.0 / time.0.max(1) as f64
}

/// The time between two frames of which so many come in a nanosecond.
pub fn period_of(rate: f64) -> Nanoseconds {
    // However many share the frames, there is some time between two of them. Halves of nanoseconds are rounded up, in whatever order rates
    // were added: their last digits may differ.
    Nanoseconds(((1.0 / rate + 0.5 + 1e-6).floor() as u64).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_replicas_does_not_matter() {
        for (times, period) in [([5, 70, 14], 4), ([4, 42, 84], 4), ([13, 20, 156], 8), ([3, 3, 3], 1)] {
            for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                let times = order.map(|at| Nanoseconds(times[at]));
                assert_eq!(replicated_period(&times), Nanoseconds(period), "{times:?}");
            }
        }
    }

    #[test]
    fn replicas_take_no_more_than_their_link_carries() {
        let times = [100, 100, 50].map(Nanoseconds);
        assert_eq!(replicated_period(&times), Nanoseconds(25));
        assert_eq!(shared_period(&times, &[None, None, None]), Nanoseconds(25));
        // Two that together could take a frame every 50 ns get one every 100 ns; the third is not held up.
        let link = |receiver: &str, time| Some(LinkUse { receiver: receiver.to_owned(), time: Nanoseconds(time) });
        let links = [link("B", 100), link("B", 100), link("s", 10)];
        assert_eq!(replica_rates(&times, &links), [0.005, 0.005, 0.02]);
        assert_eq!(shared_period(&times, &links), Nanoseconds(33));
    }
}
