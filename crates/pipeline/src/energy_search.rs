//! Dynamic programming over all trade-offs between period, latency and energy.

use std::ops::Range;

use millstream_cost::Nanoseconds;
use millstream_schedule::replicated_period;

use crate::energy::{ClassPower, Nanojoules, StagePower, replicated_power};
use crate::problem::UNSUPPORTED;
use crate::stage_options::configurations;
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
    /// Per range of blocks, per number of cores.
    options: Vec<Vec<Vec<StageOption>>>,
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
        let blocks = problem.blocks();
        let mut options = Vec::with_capacity(blocks * (blocks + 1) / 2);
        for end in 1..=blocks {
            for start in 0..end {
                let mut by_size: Vec<Vec<StageOption>> = vec![Vec::new(); states];
                for (number, (size, classes)) in configurations.iter().enumerate() {
                    by_size[*size].extend(option(problem, classes, start..end, number));
                }
                by_size.iter_mut().for_each(keep_useful);
                options.push(by_size);
            }
        }
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

    fn options(&self, start: usize, end: usize) -> &[Vec<StageOption>] {
        &self.options[(end - 1) * end / 2 + start]
    }

    /// Backward, each of the three for itself.
    fn remainders(&self) -> Vec<Vec<Remainder>> {
        let (blocks, states) = (self.problem.blocks(), self.problem.counts.len());
        let rooms: Vec<Vec<usize>> = (0..states).map(|size| self.problem.counts.with_room_for(size)).collect();
        let mut found = vec![vec![IMPOSSIBLE; states]; blocks + 1];
        found[blocks].fill(NOTHING);
        for start in (0..blocks).rev() {
            for end in start + 1..=blocks {
                for (size, options) in self.options(start, end).iter().enumerate() {
                    let period = options.iter().map(|option| option.period).min();
                    let latency = options.iter().map(|option| option.latency).min();
                    let joules = options.iter().map(|option| option.power.active_joules).min_by(f64::total_cmp);
                    let (Some(period), Some(latency), Some(joules)) = (period, latency, joules) else { continue };
                    for &rest in &rooms[size] {
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
        let (blocks, states) = (self.problem.blocks(), self.problem.counts.len());
        let mut labels: Vec<Vec<Vec<Label>>> = vec![vec![Vec::new(); states]; blocks + 1];
        let power = StagePower::default();
        labels[0][0].push(Label { period: 0, latency: 0, power, start: 0, before: (0, 0), configuration: 0 });
        for end in 1..=blocks {
            let mut found: Vec<Vec<Label>> = vec![Vec::new(); states];
            for (start, reached) in labels[..end].iter().enumerate() {
                for (size, options) in self.options(start, end).iter().enumerate().filter(|(_, own)| !own.is_empty()) {
                    for used in self.problem.counts.with_room_for(size) {
                        let left = states - 1 - used - size;
                        for (index, before) in reached[used].iter().enumerate() {
                            let extended = options.iter().map(|option| extend(before, option, start, (used, index)));
                            let is_worth_it = |label: &Label| {
                                self.outlook(label, end, left).is_some_and(|outlook| {
                                    !self.known.iter().any(|known| outlook.is_no_better_than(known))
                                })
                            };
                            found[used + size].extend(extended.filter(is_worth_it));
                        }
                    }
                }
            }
            found.iter_mut().for_each(|own| self.thin(own));
            labels[end] = found;
        }
        let last = labels[blocks].iter().enumerate();
        let all = last.flat_map(|(used, own)| (0..own.len()).map(move |index| (used, index)));
        all.map(|place| self.plan(&labels, place)).collect()
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

    fn plan(&self, labels: &[Vec<Vec<Label>>], (mut used, mut index): (usize, usize)) -> Plan {
        let mut end = self.problem.blocks();
        let mut stages = Vec::new();
        while end > 0 {
            let label = labels[end][used][index];
            stages.push((label.start..end, self.configurations[label.configuration].1.clone()));
            end = label.start;
            (used, index) = label.before;
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
fn option(problem: &Problem, classes: &[usize], blocks: Range<usize>, configuration: usize) -> Option<StageOption> {
    let times: Vec<Nanoseconds> =
        classes.iter().map(|&class| Nanoseconds(problem.time(class, blocks.start, blocks.end))).collect();
    let latency = times.iter().map(|time| time.0).max().filter(|&latency| latency < UNSUPPORTED)?;
    let period = replicated_period(&times);
    let team = classes.first().and_then(|&class| problem.team(class));
    let power = match team {
        Some(team) => team.power(blocks.start, blocks.end)?,
        None => {
            let powers = classes.iter().map(|&class| problem.powers.get(class).copied().flatten());
            replicated_power(&powers.collect::<Option<Vec<ClassPower>>>()?, &times)
        }
    };
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
