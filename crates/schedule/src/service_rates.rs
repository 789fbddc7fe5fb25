//! Service rates of replicas and shared links.

use millstream_cost::Nanoseconds;

use crate::stage_id::StageId;

/// The use of a link by taking over a frame. The link carries one frame after the other, to whichever replicas and
/// stages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkUse {
    /// The cluster or accelerator that the link comes from: of several, the one from which it takes longest.
    pub sender: String,
    /// The cluster or accelerator that the link leads to.
    pub receiver: String,
    /// For how long a frame occupies it.
    pub time: Nanoseconds,
}

/// A link that taking over a frame occupies: a [`LinkUse`], or what a search that asks very often has in place of its
/// names.
pub trait OccupiedLink {
    /// Whether two use the same link.
    fn is_of_same_link(&self, other: &Self) -> bool;

    /// For how long a frame occupies it.
    fn time(&self) -> Nanoseconds;
}

impl OccupiedLink for LinkUse {
    fn is_of_same_link(&self, other: &Self) -> bool {
        (&self.sender, &self.receiver) == (&other.sender, &other.receiver)
    }

    fn time(&self) -> Nanoseconds {
        self.time
    }
}

/// Period of replicas that take frames in turn, each when it is free: `1 / (1/t1 + 1/t2 + ...)`.
pub fn replicated_period(times: &[Nanoseconds]) -> Nanoseconds {
    if let [time] = times {
        return *time;
    }
    period_of(times.iter().copied().map(rate).sum())
}

/// Period of replicas that may share links: those that take frames over the same link take no more than it carries,
/// each in proportion to how often it would take a frame otherwise. `links` has what each replica occupies. Where
/// replicas occupy a link for different times, the period is no bound;
/// [`Evaluation::least_period`](crate::Evaluation::least_period) is one.
pub fn shared_period<L: OccupiedLink>(times: &[Nanoseconds], links: &[impl AsRef<[L]>]) -> Nanoseconds {
    match times {
        [time] => *time,
        _ if links.iter().all(|of_replica| of_replica.as_ref().is_empty()) => replicated_period(times),
        _ => period_of(replica_rates(times, links).iter().sum()),
    }
}

/// Frames per nanosecond that each replica takes, where `links` has what each occupies.
pub fn replica_rates<L: OccupiedLink>(times: &[Nanoseconds], links: &[impl AsRef<[L]>]) -> Vec<f64> {
    let mut rates: Vec<f64> = times.iter().copied().map(rate).collect();
    for (first, of_first) in links.iter().enumerate() {
        for link in of_first.as_ref() {
            let time_of = |replica: usize| {
                let of_replica = links[replica].as_ref();
                of_replica.iter().find(|other| other.is_of_same_link(link)).map(OccupiedLink::time)
            };
            // Once for each link, with the first that uses it.
            if (0..first).any(|replica| time_of(replica).is_some()) {
                continue;
            }
            let sharers = || (first..links.len()).filter_map(|replica| Some((replica, time_of(replica)?)));
            let occupied: f64 = sharers().map(|(replica, time)| rates[replica] * time.0 as f64).sum();
            let carried = 1.0 / occupied.max(1.0);
            sharers().for_each(|(replica, _)| rates[replica] *= carried);
        }
    }
    rates
}

/// The use of a link of a board by frames on their ways to all stages that take them over it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedLink {
    /// The cluster or accelerator that it comes from.
    pub sender: String,
    /// The cluster or accelerator that it leads to.
    pub receiver: String,
    /// Number of the stages that take frames over it.
    pub stages: usize,
    /// For how long a frame occupies it: no more than one frame passes in this time.
    pub period: Nanoseconds,
}

/// For how long frames occupy each link, whichever stages they go to: no more than one frame passes in this time.
/// Stages are told one by one, with the rates at which their replicas take frames.
pub(crate) fn occupied_links<'a>(stages: impl IntoIterator<Item = (&'a [Vec<LinkUse>], Vec<f64>)>) -> Vec<SharedLink> {
    let mut occupied: Vec<Occupied<'_>> = Vec::new();
    for (stage, (links, rates)) in (0..).map(StageId::new).zip(stages) {
        let all: f64 = rates.iter().sum();
        let of_replica = |(links, rate): (&'a Vec<LinkUse>, f64)| links.iter().map(move |link| (link, rate / all));
        for (link, share) in links.iter().zip(rates).flat_map(of_replica) {
            let nanoseconds = share * link.time.0 as f64;
            match occupied.iter_mut().find(|other| other.link.is_of_same_link(link)) {
                None => occupied.push(Occupied { link, nanoseconds, stages: 1, last_stage: stage }),
                Some(other) => other.add(nanoseconds, stage),
            }
        }
    }
    occupied.into_iter().map(Occupied::into_shared_link).collect()
}

/// A link with what has been counted of it.
struct Occupied<'a> {
    link: &'a LinkUse,
    /// For how long a frame occupies it, over all stages so far.
    nanoseconds: f64,
    /// Number of the stages that use it.
    stages: usize,
    /// The last of them.
    last_stage: StageId,
}

impl Occupied<'_> {
    fn add(&mut self, nanoseconds: f64, stage: StageId) {
        self.nanoseconds += nanoseconds;
        if self.last_stage != stage {
            (self.stages, self.last_stage) = (self.stages + 1, stage);
        }
    }

    fn into_shared_link(self) -> SharedLink {
        SharedLink {
            sender: self.link.sender.clone(),
            receiver: self.link.receiver.clone(),
            stages: self.stages,
            // As periods are rounded.
            period: Nanoseconds((self.nanoseconds + 0.5 + 1e-6).floor() as u64),
        }
    }
}

/// Frames per nanosecond of a replica that takes a frame whenever it is free.
fn rate(time: Nanoseconds) -> f64 {
    1.0 / time.0.max(1) as f64
}

/// The time between two frames that come at some rate, in frames per nanosecond.
pub fn period_of(frames_per_nanosecond: f64) -> Nanoseconds {
    // However many share the frames, there is some time between two of them. Halves of nanoseconds are rounded up, in
    // whatever order rates were added: their last digits may differ.
    Nanoseconds(((1.0 / frames_per_nanosecond + 0.5 + 1e-6).floor() as u64).max(1))
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
        assert_eq!(shared_period::<LinkUse>(&times, &[vec![], vec![], vec![]]), Nanoseconds(25));
        // Two that together could take a frame every 50 ns get one every 100 ns; the third is not held up.
        let link = |receiver: &str, time| {
            vec![LinkUse { sender: "G".to_owned(), receiver: receiver.to_owned(), time: Nanoseconds(time) }]
        };
        let links = [link("B", 100), link("B", 100), link("s", 10)];
        assert_eq!(replica_rates(&times, &links), [0.005, 0.005, 0.02]);
        assert_eq!(shared_period(&times, &links), Nanoseconds(33));
    }

    /// Links that several stages use carry the frames of all of them, in whatever parts replicas take them.
    #[test]
    fn links_carry_the_frames_of_all_stages() {
        let link = |sender: &str, time| LinkUse {
            sender: sender.to_owned(),
            receiver: "B".to_owned(),
            time: Nanoseconds(time),
        };
        // One of two equal replicas takes every other frame over G's link; the next stage takes all over it, and over
        // another.
        let first = [vec![link("G", 60)], vec![]];
        let second = [vec![link("G", 40), link("s", 7)]];
        let found = occupied_links([(&first[..], vec![0.1, 0.1]), (&second[..], vec![0.3])]);
        let found: Vec<(&str, usize, u64)> =
            found.iter().map(|link| (link.sender.as_str(), link.stages, link.period.0)).collect();
        assert_eq!(found, [("G", 2, 70), ("s", 1, 7)]);
    }
}
