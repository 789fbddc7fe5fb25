//! Hosts, ways between them and time, all simulated: the same seed gives the same story.

use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use millstream_backend::Tensor;
use millstream_distributed::{
    FrameValue, Front, FrontAction, FrontEvent, FrontOptions, HostAction, HostId, HostSide, Identity, Message, Peer,
    PlanId, Route,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// How many stages the network has.
pub(crate) const STAGES: u64 = 6;

/// What may go wrong, and when.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults {
    /// When a host ends, which, and for how long it is away.
    pub(crate) kills: Vec<(Duration, usize, Duration)>,
    /// One in so many messages is lost, for as long as `lossy` says; 0 for none.
    pub(crate) loses_one_in: u32,
    /// Until when messages may be lost.
    pub(crate) lossy: Duration,
    /// Frames that end the first host that works on them, each time.
    pub(crate) poisonous: Vec<u64>,
    /// Frames that a stage fails on.
    pub(crate) failing: Vec<u64>,
}

/// What became of it.
#[derive(Debug, Default)]
pub(crate) struct Story {
    pub(crate) answers: Vec<(u64, Result<i64, String>)>,
    pub(crate) events: Vec<(Duration, FrontEvent)>,
    /// Longest time between two answers while frames were there.
    pub(crate) longest_pause: Duration,
    pub(crate) end: Duration,
}

enum Happening {
    Arrives { from: Peer, to: Peer, incarnations: [u64; 2], bytes: Vec<u8> },
    Computed { host: usize, incarnation: u64, tag: millstream_distributed::FrameTag, values: Vec<FrameValue> },
    Prepared { host: usize, incarnation: u64, plan: PlanId },
    Dies { host: usize, away: Duration },
    Starts { host: usize },
    Ticks,
}

pub(crate) struct World {
    now: Duration,
    order: u64,
    due: BinaryHeap<std::cmp::Reverse<(Duration, u64)>>,
    happenings: BTreeMap<u64, Happening>,
    /// When the last message of each way arrives: none overtakes another.
    ways: BTreeMap<(Peer, Peer), Duration>,
    random: ChaCha8Rng,
    front: Front,
    hosts: Vec<Option<HostSide>>,
    incarnations: Vec<u64>,
    divisions: Vec<Vec<(HostId, u64)>>,
    identities: Vec<Identity>,
    faults: Faults,
    frames: u64,
    submitted: u64,
    last_answer: Duration,
    story: Story,
}

/// Plans for so many hosts: with all of them, and without each.
fn divisions(hosts: usize, visits: usize) -> Vec<Vec<(HostId, u64)>> {
    let divide = |hosts: Vec<usize>| {
        let visits = visits.max(hosts.len()).min(STAGES as usize);
        let of_visit = |visit: usize| {
            let part = |edge: usize| (edge as u64 * STAGES) / visits as u64;
            (HostId(hosts[visit % hosts.len()]), part(visit + 1) - part(visit))
        };
        (0..visits).map(of_visit).collect()
    };
    let mut all = vec![divide((0..hosts).collect())];
    if hosts > 1 {
        all.extend((0..hosts).map(|without| divide((0..hosts).filter(|&host| host != without).collect())));
    }
    all
}

/// What the whole network makes of a number.
pub(crate) fn whole(value: i64) -> i64 {
    (0..STAGES).fold(value, stage)
}

fn stage(value: i64, stage: u64) -> i64 {
    value.wrapping_mul(3).wrapping_add(stage as i64 + 1)
}

fn number(values: &[FrameValue]) -> i64 {
    let bytes = values[0].tensor.bytes().unwrap();
    i64::from_le_bytes(bytes.try_into().unwrap())
}

fn values(number: i64) -> Vec<FrameValue> {
    vec![FrameValue { id: 7, tensor: Tensor::from_i64([1], vec![number]) }]
}

impl World {
    pub(crate) fn new(
        hosts: usize,
        visits: usize,
        options: FrontOptions,
        faults: Faults,
        frames: u64,
        seed: u64,
    ) -> Self {
        let identity = |host: usize| Identity { host: format!("host{host}"), ..Identity::default() };
        let identities: Vec<Identity> = (0..hosts).map(identity).collect();
        let divisions = divisions(hosts, visits);
        let front = Front::new(routes(&divisions), identities.clone(), options).unwrap();

        let mut world = Self {
            now: Duration::ZERO,
            order: 0,
            due: BinaryHeap::new(),
            happenings: BTreeMap::new(),
            ways: BTreeMap::new(),
            random: ChaCha8Rng::seed_from_u64(seed),
            front,
            hosts: (0..hosts).map(|_| None).collect(),
            incarnations: vec![0; hosts],
            divisions,
            identities,
            faults: faults.clone(),
            frames,
            submitted: 0,
            last_answer: Duration::ZERO,
            story: Story::default(),
        };

        (0..hosts).for_each(|host| world.at(Duration::ZERO, Happening::Starts { host }));
        for (time, host, away) in faults.kills {
            world.at(time, Happening::Dies { host: host % hosts, away });
        }
        world.at(Duration::ZERO, Happening::Ticks);
        world
    }

    /// Another identity than the front expects, for one host.
    pub(crate) fn with_identity(mut self, host: usize, identity: Identity) -> Self {
        self.identities[host] = identity;
        self
    }

    fn at(&mut self, time: Duration, happening: Happening) {
        self.order += 1;
        self.due.push(std::cmp::Reverse((time, self.order)));
        self.happenings.insert(self.order, happening);
    }

    fn random(&mut self, micros: std::ops::Range<u64>) -> Duration {
        Duration::from_micros(self.random.random_range(micros))
    }

    /// Lets everything happen until all frames are answered or time is over.
    pub(crate) fn run(mut self, limit: Duration) -> (Story, Front) {
        while let Some(std::cmp::Reverse((time, order))) = self.due.pop() {
            self.now = time;
            if time > limit {
                break;
            }
            let happening = self.happenings.remove(&order).unwrap();
            self.happen(happening);
            if self.story.answers.len() as u64 == self.frames {
                break;
            }
        }
        self.story.end = self.now;
        (self.story, self.front)
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Ticks => {
                let actions = self.front.tick(self.now);
                self.of_front(actions);
                self.submit();
                self.at(self.now + Duration::from_millis(5), Happening::Ticks);
            }
            Happening::Starts { host } => {
                self.incarnations[host] += 1;
                let identity = self.identities[host].clone();
                let side = HostSide::new(HostId(host), identity, self.incarnations[host], routes(&self.divisions));
                self.hosts[host] = Some(side);
            }
            Happening::Dies { host, away } => self.die(host, away),

            Happening::Arrives { from, to, incarnations, bytes } => {
                // Whoever has ended since gets nothing, and what it sent is lost as well.
                if incarnations == [self.incarnation(from), self.incarnation(to)] {
                    self.arrive(from, to, Message::decode(&bytes).unwrap());
                }
            }

            Happening::Computed { host, incarnation, tag, values } if self.incarnations[host] == incarnation => {
                let Some(side) = &mut self.hosts[host] else { return };
                let outcome = if self.faults.failing.contains(&tag.sequence) {
                    Err("it does not fit".to_owned())
                } else {
                    Ok(values)
                };
                let actions = side.computed(tag, outcome);
                self.of_host(host, actions);
            }
            Happening::Prepared { host, incarnation, plan } if self.incarnations[host] == incarnation => {
                if let Some(side) = &mut self.hosts[host] {
                    side.prepared(plan, Ok(()));
                }
            }
            Happening::Computed { .. } | Happening::Prepared { .. } => {}
        }
    }

    fn incarnation(&self, peer: Peer) -> u64 {
        match peer {
            Peer::Front => 0,
            Peer::Host(host) => self.incarnations[host.0],
        }
    }

    fn die(&mut self, host: usize, away: Duration) {
        if self.hosts[host].take().is_some() {
            // So that nothing of it counts any more.
            self.incarnations[host] += 1;
            self.at(self.now + away, Happening::Starts { host });
        }
    }

    fn arrive(&mut self, from: Peer, to: Peer, message: Message) {
        match (to, from) {
            (Peer::Front, Peer::Host(from)) => {
                let actions = self.front.receive(from, message, self.now);
                self.of_front(actions);
                self.submit();
            }
            (Peer::Host(HostId(host)), _) => {
                let Some(side) = &mut self.hosts[host] else { return };
                let actions = side.receive(message, self.now);
                self.of_host(host, actions);
            }
            (Peer::Front, Peer::Front) => unreachable!(),
        }
    }

    fn submit(&mut self) {
        while self.submitted < self.frames && (self.front.has_room() || self.front.failure().is_some()) {
            let (sequence, actions) = self.front.submit(values(self.submitted as i64), self.now);
            assert_eq!(sequence, self.submitted);
            self.submitted += 1;
            self.of_front(actions);
        }
    }

    fn of_front(&mut self, actions: Vec<FrontAction>) {
        for action in actions {
            match action {
                FrontAction::Send { to, message } => self.send(Peer::Front, Peer::Host(to), &message),
                FrontAction::Answer { sequence, outcome } => {
                    let outcome = outcome.map(|values| number(&values)).map_err(|failure| failure.to_string());
                    self.story.answers.push((sequence, outcome));
                    self.story.longest_pause = self.story.longest_pause.max(self.now - self.last_answer);
                    self.last_answer = self.now;
                }
                FrontAction::Event(event) => self.story.events.push((self.now, event)),
                _ => {}
            }
        }
    }

    fn of_host(&mut self, host: usize, actions: Vec<HostAction>) {
        let incarnation = self.incarnations[host];
        for action in actions {
            match action {
                HostAction::Send { to, message } => self.send(Peer::Host(HostId(host)), to, &message),
                HostAction::Compute { tag, .. } if self.faults.poisonous.contains(&tag.sequence) => {
                    return self.die(host, Duration::from_millis(300));
                }
                HostAction::Compute { tag, values: before } => {
                    let parts = &self.divisions[tag.plan.0];
                    let first: u64 = parts[..tag.visit].iter().map(|part| part.1).sum();
                    let last = first + parts[tag.visit].1;
                    let made = values((first..last).fold(number(&before), stage));
                    let done = self.now + self.random(1000..15_000);
                    self.at(done, Happening::Computed { host, incarnation, tag, values: made });
                }
                HostAction::Prepare(plan) => {
                    let done = self.now + self.random(20_000..200_000);
                    self.at(done, Happening::Prepared { host, incarnation, plan });
                }
                _ => {}
            }
        }
    }

    fn send(&mut self, from: Peer, to: Peer, message: &Message) {
        let one_in = self.faults.loses_one_in;
        if one_in > 0 && self.now < self.faults.lossy && self.random.random_range(0..one_in) == 0 {
            return;
        }
        let arrives = self.now + self.random(100..3000);
        let way = self.ways.entry((from, to)).or_default();
        let arrives = arrives.max(*way);
        *way = arrives;
        let incarnations = [self.incarnation(from), self.incarnation(to)];
        self.at(arrives, Happening::Arrives { from, to, incarnations, bytes: message.encode().unwrap() });
    }
}

fn routes(divisions: &[Vec<(HostId, u64)>]) -> Vec<Route> {
    divisions.iter().map(|parts| Route::new(parts.iter().map(|part| part.0))).collect()
}
