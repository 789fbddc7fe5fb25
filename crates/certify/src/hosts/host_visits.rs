//! How far stages of one host get.

use std::rc::Rc;

use millstream_cost::ClassId;

use super::link_times::NEVER;
use super::system::{HostStages, SystemStages};
use crate::reached::{Beginning, Ends, Stages, StagesFrom, Ways};
use crate::single::SingleWays;
use crate::space::Space;
use crate::stage_rates::{Senders, StageSpan};

/// Where frames come from that enter a host.
#[derive(Clone, Copy)]
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

/// Visits to a host, whose stages are timed when they are first needed.
pub(super) struct HostVisits<'a> {
    space: &'a Space,
    blocks: usize,
    /// Stages that follow one on the same host.
    following: EnteredAlike<'a>,
    /// The first stage on the host, where frames come from outside.
    from_outside: EnteredAlike<'a>,
    /// And where they come from each host.
    from_hosts: Vec<Option<EnteredAlike<'a>>>,
}

/// Stages that are entered alike, by where their frames go.
struct EnteredAlike<'a> {
    /// To the same host, or to outside once all blocks are done.
    staying: TimedStages<'a>,
    /// By the host.
    leaving: Vec<Option<TimedStages<'a>>>,
}

/// How stages are entered.
struct Entry {
    /// A class of the host that sends, where that is another one.
    sender: Option<ClassId>,
    /// What receiving costs, by the blocks that are done before the stage.
    receiving: Rc<[u64]>,
}

/// Stages that are entered and left alike.
struct TimedStages<'a> {
    stages: Stages<'a>,
    ways: HostWays<'a>,
}

/// Ways to run stages that are entered and left alike.
struct HostWays<'a> {
    within: SingleWays<'a>,
    sender: Option<ClassId>,
    receiving: Rc<[u64]>,
    /// What sending costs, by the blocks that are done after the stage.
    sending: Vec<u64>,
}

/// What is done before a stage.
#[derive(Clone, Copy)]
struct Before {
    /// The number of the host's cores that are used.
    used: usize,
    /// The set of units of the last stage on the host; nothing before the first.
    last: usize,
    /// Blocks.
    start: usize,
}

impl<'a> HostVisits<'a> {
    /// Visits to the host at a place, whose stages pass frames more often than the period says.
    pub(super) fn new(system: &'a SystemStages<'a>, place: usize, period: u64) -> Self {
        let (host, blocks) = (system.host(place), system.blocks());
        let nothing = || vec![0; blocks + 1];
        let entered = |sender: Option<ClassId>, receiving: &[u64]| {
            EnteredAlike::new(system, place, period, &Entry { sender, receiving: receiving.into() })
        };
        let mut taken_in = nothing();
        taken_in[0] = host.frame_nanoseconds;
        let from_host = |from: usize| {
            let link = system.link(from, place)?;
            Some(entered(Some(link.sender()), link.receiving()))
        };
        Self {
            space: &host.space,
            blocks,
            following: entered(None, &nothing()),
            from_outside: entered(None, &taken_in),
            from_hosts: system.places().map(from_host).collect(),
        }
    }

    /// Follows all stages that begin with what has arrived.
    pub(super) fn visit(&mut self, arrivals: &[Arrival]) -> Visited {
        let (space, blocks) = (self.space, self.blocks);
        let (sizes, lasts) = (space.sizes(), space.lasts());
        let mut inside = Ends::none(sizes * lasts, blocks);
        let mut left = Ends::none(self.from_hosts.len(), blocks);

        for Arrival { origin, starts } in arrivals {
            let stages = match origin {
                Origin::Outside => Some(&mut self.from_outside),
                Origin::Host(place) => self.from_hosts[*place].as_mut(),
            };
            let Some(stages) = stages else { continue };
            for &start in starts {
                stages.extend(space, Before { used: 0, last: 0, start }, &mut inside, &mut left);
            }
        }

        // Stages only ever use more cores: when a state comes, all that leads there has been.
        for used in 1..sizes {
            for last in 0..lasts {
                for start in 1..blocks {
                    if inside.contains(used * lasts + last, start) {
                        self.following.extend(space, Before { used, last, start }, &mut inside, &mut left);
                    }
                }
            }
        }
        let ends = |sets: &Ends, set: usize| (0..=blocks).filter(|&end| sets.contains(set, end)).collect();
        Visited {
            is_end_reached: (0..sizes * lasts).any(|state| inside.contains(state, blocks)),
            departures: (0..self.from_hosts.len()).map(|to| ends(&left, to)).collect(),
        }
    }
}

impl<'a> EnteredAlike<'a> {
    fn new(system: &'a SystemStages<'a>, place: usize, period: u64, entry: &Entry) -> Self {
        let (host, blocks) = (system.host(place), system.blocks());
        let mut given_out = vec![0; blocks + 1];
        let may_leave = host.results_occupy_nanoseconds < period;
        given_out[blocks] = if may_leave { host.results_nanoseconds } else { NEVER };
        let to_host = |to: usize| {
            let sending = system.link(place, to)?.sending_below(period);
            Some(TimedStages::new(host, blocks, period, entry, sending))
        };
        Self {
            staying: TimedStages::new(host, blocks, period, entry, given_out),
            leaving: system.places().map(to_host).collect(),
        }
    }

    /// Adds every stage that can follow: where it gets on the host, and what leaves it.
    fn extend(&mut self, space: &Space, before: Before, inside: &mut Ends, left: &mut Ends) {
        let Before { used, last, start } = before;
        let stages = self.staying.from(last, start);
        for &(place, size) in stages.useful.iter().filter(|(_, size)| space.have_room_for(used, *size)) {
            inside.extend((used + size) * space.lasts() + space.last_of(size), &stages.below, place);
        }
        for (to, leaving) in self.leaving.iter_mut().enumerate() {
            let Some(leaving) = leaving else { continue };
            let stages = leaving.from(last, start);
            for &(place, _) in stages.useful.iter().filter(|(_, size)| space.have_room_for(used, *size)) {
                left.extend(to, &stages.below, place);
            }
        }
    }
}

impl<'a> TimedStages<'a> {
    fn new(host: &'a HostStages<'a>, blocks: usize, period: u64, entry: &Entry, sending: Vec<u64>) -> Self {
        let Entry { sender, receiving } = entry;
        let within = SingleWays::new(&host.space, &host.rates);
        let ways = HostWays { within, sender: *sender, receiving: Rc::clone(receiving), sending };
        Self { stages: Stages::new(&host.space, blocks, period), ways }
    }

    fn from(&mut self, last: usize, start: usize) -> &StagesFrom {
        self.stages.from(last, start, &mut self.ways)
    }
}

impl Ways for HostWays<'_> {
    fn periods(&mut self, beginning: Beginning<'_>, end: usize, periods: &mut [f64]) {
        let stage = beginning.until(end);
        let stage = StageSpan {
            senders: self.sender.map_or(stage.senders, Senders::OtherHost),
            crossing_nanoseconds: self.receiving[stage.start].saturating_add(self.sending[end]),
            ..stage
        };
        self.within.periods_of(stage, beginning.sizes, periods);
    }
}
