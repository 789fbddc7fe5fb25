//! Dynamic programming over all trade-offs between period, latency and energy.

use std::ops::Range;

use millstream_cost::Nanoseconds;
use millstream_schedule::shared_period;

use crate::energy::{Nanojoules, StagePower, replicated_power};
use crate::problem::UNSUPPORTED;
use crate::range_table::RangeTable;
use crate::senders::Senders;
use crate::{Constraints, Plan, Problem};

/// A way to run a stage on so many cores.
#[derive(Clone, Copy)]
struct StageOption {
    period: u64,
    latency: u64,
    power: StagePower,
    configuration: usize,
}

/// A way to run the first blocks, and how it was reached.
#[derive(Clone, Copy)]
struct Label {
    period: u64,
    latency: u64,
    power: StagePower,
    start: usize,
    before: (usize, usize),
    configuration: usize,
}

/// What a plan amounts to at least.
#[derive(Clone, Copy)]
struct Outcome {
    period: u64,
    latency: u64,
    joules: f64,
}

impl Outcome {
    fn is_no_better_than(&self, other: &Self) -> bool {
        other.period <= self.period && other.latency <= self.latency && other.joules <= self.joules * (1.0 + 1e-12)
    }
}

/// The least that blocks from here on add, whatever runs the others, with at most so many cores.
#[derive(Clone, Copy)]
struct Remainder {
    period: u64,
    latency: u64,
    joules: f64,
}

const NOTHING: Remainder = Remainder { period: 0, latency: 0, joules: 0.0 };
const IMPOSSIBLE: Remainder = Remainder { period: u64::MAX, latency: u64::MAX, joules: f64::INFINITY };

pub(crate) struct EnergySearch<'a> {
    problem: &'a Problem,
    configurations: Vec<(usize, Vec<usize>)>,
    /// Per senders, per range of blocks, per number of cores.
    options: Vec<RangeTable<Vec<Vec<StageOption>>>>,
    /// Per start, per number of cores that are left.
    remainders: Vec<Vec<Remainder>>,
    known: Vec<Outcome>,
    max_period: u64,
    max_latency: u64,
    /// Per stage; errors add up.
    tolerance: f64,
}

impl<'a> EnergySearch<'a> {
    pub(crate) fn new(problem: &'a Problem, constraints: &Constraints, tolerance: f64, known: &[Plan]) -> Self {
        let configurations = configurations(problem);
        let states = problem.counts.len();
        let of_range = |senders: Senders, blocks: Range<usize>| {
            let mut by_size: Vec<Vec<StageOption>> = vec![Vec::new(); states];
            for (number, (size, classes)) in configurations.iter().enumerate() {
                by_size[*size].extend(option(problem, (classes, senders), blocks.clone(), number));
            }
            by_size.iter_mut().for_each(keep_useful);
            by_size
        };
        let of_senders = |senders| RangeTable::of(problem.blocks(), |range| of_range(senders, range));
        let options = problem.all_senders().map(of_senders).collect();
        let outcome = |plan: &Plan| Outcome {
            period: plan.period.0,
            latency: plan.latency.0,
            joules: plan.energy.map_or(f64::INFINITY, Nanojoules::joules),
        };
        // Errors of the stages of a pipeline add up, and there are at most as many stages as processors.
        let most_stages = problem.counts.decode(states - 1).iter().sum::<usize>().max(1);
        let mut search = Self {
            problem,
            configurations,
            options,
            remainders: Vec::new(),
            known: known.iter().map(outcome).collect(),
            max_period: constraints.max_period.map_or(u64::MAX, |most| most.0),
            max_latency: constraints.max_latency.map_or(u64::MAX, |most| most.0),
            tolerance: tolerance / most_stages as f64,
        };
        search.remainders = search.remainders();
        search
    }

    fn options(&self, senders: Senders, start: usize, end: usize) -> &[Vec<StageOption>] {
        self.options[senders.index()].at(start, end)
    }

    /// Backward, each of the three for itself, with the best senders that there could be.
    fn remainders(&self) -> Vec<Vec<Remainder>> {
        let (blocks, states) = (self.problem.blocks(), self.problem.counts.len());
        let rooms: Vec<Vec<usize>> = (0..states).map(|size| self.problem.counts.with_room_for(size)).collect();
        let mut found = vec![vec![IMPOSSIBLE; states]; blocks + 1];
        found[blocks].fill(NOTHING);
        for start in (0..blocks).rev() {
            for end in start + 1..=blocks {
                for (size, rooms) in rooms.iter().enumerate() {
                    let options = || self.options.iter().flat_map(|own| &own.at(start, end)[size]);
                    let period = options().map(|option| option.period).min();
                    let latency = options().map(|option| option.latency).min();
                    let joules = options().map(|option| option.power.active_joules).min_by(f64::total_cmp);
                    let (Some(period), Some(latency), Some(joules)) = (period, latency, joules) else { continue };
                    for &rest in rooms {
                        let after = found[end][rest];
                        let own = &mut found[start][rest + size];
                        own.period = own.period.min(period.max(after.period));
                        own.latency = own.latency.min(latency.saturating_add(after.latency));
                        own.joules = own.joules.min(joules + after.joules);
                    }
                }
            }
        }
        found
    }

    /// The best that can come of a prefix.
    fn outlook(&self, label: &Label, end: usize, left: usize) -> Option<Outcome> {
        let rest = self.remainders[end][left];
        let latency = label.latency.checked_add(rest.latency)?;
        let period = label.period.max(rest.period);
        if period > self.max_period || latency > self.max_latency || !rest.joules.is_finite() {
            return None;
        }
        let StagePower { active_joules, idle_watts } = label.power;
        let joules = active_joules + rest.joules + idle_watts * Nanoseconds(period).seconds();
        Some(Outcome { period, latency, joules })
    }

    pub(crate) fn run(&self) -> Vec<Plan> {
        let (blocks, sizes) = (self.problem.blocks(), self.problem.counts.len());
        let all: Vec<Senders> = self.problem.all_senders().collect();
        let next_senders: Vec<usize> =
            (0..sizes).map(|size| self.problem.senders_of_size(size).index() * sizes).collect();
        // By what the last stage is to the next, and the cores used.
        let mut labels: Vec<Vec<Vec<Label>>> = vec![vec![Vec::new(); all.len() * sizes]; blocks + 1];
        let power = StagePower::default();
        labels[0][0].push(Label { period: 0, latency: 0, power, start: 0, before: (0, 0), configuration: 0 });
        for end in 1..=blocks {
            let mut found: Vec<Vec<Label>> = vec![Vec::new(); all.len() * sizes];
            let starts = labels[..end].iter().enumerate();
            for (start, reached, senders) in starts.flat_map(|(start, own)| all.iter().map(move |&by| (start, own, by)))
            {
                for (size, options) in
                    self.options(senders, start, end).iter().enumerate().filter(|(_, own)| !own.is_empty())
                {
                    for used in self.problem.counts.with_room_for(size) {
                        let left = sizes - 1 - used - size;
                        let state = senders.index() * sizes + used;
                        for (index, before) in reached[state].iter().enumerate() {
                            let extended = options.iter().map(|option| extend(before, option, start, (state, index)));
                            let is_worth_it = |label: &Label| {
                                self.outlook(label, end, left).is_some_and(|outlook| {
                                    !self.known.iter().any(|known| outlook.is_no_better_than(known))
                                })
                            };
                            found[next_senders[size] + used + size].extend(extended.filter(is_worth_it));
                        }
                    }
                }
            }
            found.iter_mut().for_each(|own| self.thin(own));
            labels[end] = found;
        }
        let last = labels[blocks].iter().enumerate();
        let places = last.flat_map(|(state, own)| (0..own.len()).map(move |index| (state, index)));
        places.map(|place| self.plan(&labels, place)).collect()
    }

    /// Keeps only labels that no other beats by more than the tolerance.
    fn thin(&self, labels: &mut Vec<Label>) {
        let slack = 1.0 + self.tolerance;
        labels.sort_by(|one, other| {
            let numbers = |label: &Label| (label.period, label.latency);
            numbers(one).cmp(&numbers(other)).then(one.power.active_joules.total_cmp(&other.power.active_joules))
        });
        let mut kept: Vec<Label> = Vec::new();
        labels.retain(|label| {
            let is_beaten = kept.iter().rev().any(|other| {
                other.latency as f64 <= label.latency as f64 * slack
                    && other.power.active_joules <= label.power.active_joules * slack
                    && other.power.idle_watts <= label.power.idle_watts * slack
            });
            if !is_beaten {
                kept.push(*label);
            }
            !is_beaten
        });
    }

    fn plan(&self, labels: &[Vec<Vec<Label>>], (mut state, mut index): (usize, usize)) -> Plan {
        let mut end = self.problem.blocks();
        let mut stages = Vec::new();
        while end > 0 {
            let label = labels[end][state][index];
            stages.push((label.start..end, self.configurations[label.configuration].1.clone()));
            end = label.start;
            (state, index) = label.before;
        }
        stages.reverse();
        self.problem.plan(stages)
    }
}

fn extend(before: &Label, option: &StageOption, start: usize, place: (usize, usize)) -> Label {
    Label {
        period: before.period.max(option.period),
        latency: before.latency + option.latency,
        power: StagePower {
            active_joules: before.power.active_joules + option.power.active_joules,
            idle_watts: before.power.idle_watts + option.power.idle_watts,
        },
        start,
        before: place,
        configuration: option.configuration,
    }
}

/// What a stage of these blocks takes and draws on replicas of these classes; `None` if one can't run it.
fn option(
    problem: &Problem,
    (classes, senders): (&[usize], Senders),
    blocks: Range<usize>,
    configuration: usize,
) -> Option<StageOption> {
    let time = |&class: &usize| Nanoseconds(problem.time(class, senders, blocks.start, blocks.end));
    let times: Vec<Nanoseconds> = classes.iter().map(time).collect();
    let latency = times.iter().map(|time| time.0).max().filter(|&latency| latency < UNSUPPORTED)?;
    let links = problem.links(classes, senders, &blocks);
    let period = shared_period(&times, &links);
    let drawn = |(&way, &time): (&usize, &Nanoseconds)| problem.way_power(way, senders, &blocks, time);
    let powers: Option<Vec<StagePower>> = classes.iter().zip(&times).map(drawn).collect();
    let power = replicated_power(&powers?, &times, &links);
    Some(StageOption { period: period.0, latency, power, configuration })
}

/// Keeps only options that no other beats.
fn keep_useful(options: &mut Vec<StageOption>) {
    options.sort_by_key(|option| (option.period, option.latency));
    let mut kept: Vec<StageOption> = Vec::new();
    options.retain(|option| {
        let is_beaten = kept.iter().any(|other| {
            other.latency <= option.latency
                && other.power.active_joules <= option.power.active_joules
                && other.power.idle_watts <= option.power.idle_watts
        });
        if !is_beaten {
            kept.push(*option);
        }
        !is_beaten
    });
}

/// All multisets of classes that the board has cores for, and the teams, with their encoded numbers of cores.
fn configurations(problem: &Problem) -> Vec<(usize, Vec<usize>)> {
    let mut found: Vec<(usize, Vec<usize>)> = vec![(0, Vec::new())];
    for cluster in 0..problem.clusters() {
        let classes = problem.classes_of(cluster);
        let mut extended = Vec::new();
        for (size, chosen) in &found {
            for partition in partitions(classes.len()) {
                let cores: usize = partition.iter().sum();
                let own = partition.iter().map(|count| classes.start + count - 1);
                let size = size + problem.counts.of_cluster(cluster, cores);
                extended.push((size, chosen.iter().copied().chain(own).collect()));
            }
        }
        found = extended;
    }
    found.retain(|(size, classes)| *size > 0 && (problem.has_replicas || classes.len() == 1));
    let teams = problem.teams.iter().enumerate();
    found.extend(teams.map(|(index, own)| (own.size, vec![problem.classes.len() + index])));
    found
}

/// All ways to write numbers from 0 to `limit` as sums of positive numbers, without regard to order.
fn partitions(limit: usize) -> Vec<Vec<usize>> {
    fn extend(left: usize, largest: usize, current: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
        found.push(current.clone());
        for part in 1..=largest.min(left) {
            current.push(part);
            extend(left - part, part, current, found);
            current.pop();
        }
    }
    let mut found = Vec::new();
    extend(limit, limit, &mut Vec::new(), &mut found);
    found
}
