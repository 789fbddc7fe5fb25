//! How far stages of one host get.

use crate::reached::{Ends, Stages, StagesFrom};
use crate::single::SingleWays;
use crate::space::Space;

use super::system::SystemStages;
use super::ways::HostWays;

/// A host's stages, timed when they are first needed.
pub(super) struct Visitor<'a> {
    space: &'a Space,
    blocks: usize,
    /// Stages that follow one on the same host.
    following: Leaving<'a>,
    /// The first stage on the host, by where frames come from.
    entering: Vec<Option<Leaving<'a>>>,
}

/// Stages that are entered alike, by where their frames go.
struct Leaving<'a> {
    /// To the same host, or to outside once all blocks are done.
    staying: TimedStages<'a>,
    /// By the host.
    crossing: Vec<Option<TimedStages<'a>>>,
}

/// Where frames come from that enter a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    Outside,
    /// The host at this place.
    Host(usize),
}

/// Frames that wait before a host.
pub(super) struct Arrival {
    pub(super) origin: Origin,
    /// How many blocks may be done of them.
    pub(super) starts: Vec<usize>,
}

/// What comes of a visit to a host.
pub(super) struct Visited {
    /// Whether all blocks can be done.
    pub(super) is_end_reached: bool,
    /// By the hosts, how many blocks may be done of what goes there.
    pub(super) departures: Vec<Vec<usize>>,
}

struct TimedStages<'a> {
    stages: Stages<'a>,
    ways: HostWays<'a>,
}

impl TimedStages<'_> {
    fn from(&mut self, last: usize, start: usize) -> &StagesFrom {
        self.stages.from(last, start, &mut self.ways)
    }
}

impl<'a> Visitor<'a> {
    /// Stages of the host at a place that pass frames more often than the period says.
    pub(super) fn new(system: &'a SystemStages<'a>, place: usize, period: u64) -> Self {
        let host = system.host(place);
        let (space, rates, blocks) = (&host.space, &host.rates, system.blocks());
        let nothing = vec![0; blocks + 1];
        let leaving = |sender, receiving: Vec<u64>| {
            let timed = |sending: Vec<u64>| {
                let stages = Stages::new(space, blocks, period);
                let within = SingleWays::new(space, rates);
                TimedStages { stages, ways: HostWays { within, sender, receiving: receiving.clone(), sending } }
            };
            let mut given_out = nothing.clone();
            given_out[blocks] = host.results_nanoseconds;
            let to = |to: usize| Some(timed(system.crossing(place, to)?.sending_below(period)));
            Leaving { staying: timed(given_out), crossing: system.places().map(to).collect() }
        };

        let mut taken_in = nothing.clone();
        taken_in[0] = host.frame_nanoseconds;
        let from = |from: usize| {
            let crossing = system.crossing(from, place)?;
            Some(leaving(Some(crossing.sender), crossing.receiving.clone()))
        };
        let entering = std::iter::once(Some(leaving(None, taken_in))).chain(system.places().map(from)).collect();
        Self { space, blocks, following: leaving(None, nothing.clone()), entering }
    }

    /// Follows all stages that begin with what has arrived.
    pub(super) fn visit(&mut self, arrivals: &[Arrival]) -> Visited {
        let (space, blocks) = (self.space, self.blocks);
        let (sizes, lasts) = (space.sizes(), space.lasts());
        let mut inside = Ends::none(sizes * lasts, blocks);
        let mut left = Ends::none(self.following.crossing.len(), blocks);

        for Arrival { origin, starts } in arrivals {
            let entry = match origin {
                Origin::Outside => 0,
                Origin::Host(place) => place + 1,
            };
            let Some(stages) = &mut self.entering[entry] else { continue };
            for &start in starts {
                stages.extend((space, 0), (0, start), &mut inside, &mut left);
            }
        }

        // Stages only ever use more cores: when a state comes, all that leads there has been.
        for used in 1..sizes {
            for last in 0..lasts {
                for start in 1..blocks {
                    if inside.contains(used * lasts + last, start) {
                        self.following.extend((space, used), (last, start), &mut inside, &mut left);
                    }
                }
            }
        }
        let ends = |sets: &Ends, set: usize| (0..=blocks).filter(|&end| sets.contains(set, end)).collect();
        Visited {
            is_end_reached: (0..sizes * lasts).any(|state| inside.contains(state, blocks)),
            departures: (0..self.following.crossing.len()).map(|to| ends(&left, to)).collect(),
        }
    }
}

impl Leaving<'_> {
    /// Adds every stage that can follow once some cores are used: where stages get on the host, and what leaves it.
    fn extend(
        &mut self,
        (space, used): (&Space, usize),
        (last, start): (usize, usize),
        inside: &mut Ends,
        left: &mut Ends,
    ) {
        let stages = self.staying.from(last, start);
        for &(place, size) in stages.useful.iter().filter(|(_, size)| space.have_room_for(used, *size)) {
            inside.extend((used + size) * space.lasts() + space.last_of(size), &stages.below, place);
        }
        for (to, crossing) in self.crossing.iter_mut().enumerate() {
            let Some(crossing) = crossing else { continue };
            let stages = crossing.from(last, start);
            for &(place, _) in stages.useful.iter().filter(|(_, size)| space.have_room_for(used, *size)) {
                left.extend(to, &stages.below, place);
            }
        }
    }
}
