//! Dynamic programming over all trade-offs between period, latency and energy of a frame.

use millstream_cost::Nanoseconds;
use millstream_partition::{BlockId, BlockRange};

use crate::board::cores::Cores;
use crate::board::senders::Senders;
use crate::board::stage_power::StagePower;
use crate::options::stage_options::StageOptions;
use crate::plan::Plan;
use crate::plan::constraints::Constraints;
use crate::plan::nanojoules::Nanojoules;
use crate::problem::Problem;
use crate::ways::multisets::MultisetId;
use crate::ways::stage_option::StageOption;
use crate::ways::way::StageWays;

/// Pipelines of so many first blocks, by the senders to the next stage and the cores they use.
#[derive(Clone, Copy)]
struct EnergyState {
    senders: Senders,
    used: Cores,
}

/// A pipeline of the first blocks, and how it was reached.
#[derive(Clone, Copy)]
struct PipelineLabel {
    period: Nanoseconds,
    latency: Nanoseconds,
    power: StagePower,
    /// The last stage.
    start: BlockId,
    replicas: MultisetId,
    /// The label that it continues.
    before: LabelPlace,
}

/// A label by its place among those of its state.
#[derive(Clone, Copy)]
struct LabelPlace {
    state: EnergyState,
    at: usize,
}

/// What a plan, a stage, or the stages from some block on amount to at least.
#[derive(Clone, Copy)]
struct LeastAmounts {
    period: Nanoseconds,
    latency: Nanoseconds,
    joules: f64,
}

impl LeastAmounts {
    fn is_no_better_than(&self, other: &Self) -> bool {
        other.period <= self.period && other.latency <= self.latency && other.joules <= self.joules * (1.0 + 1e-12)
    }
}

const NOTHING: LeastAmounts = LeastAmounts { period: Nanoseconds::ZERO, latency: Nanoseconds::ZERO, joules: 0.0 };
const IMPOSSIBLE: LeastAmounts =
    LeastAmounts { period: Nanoseconds(u64::MAX), latency: Nanoseconds(u64::MAX), joules: f64::INFINITY };

/// The search for trade-offs that some known plans do not have.
pub(crate) struct EnergySearch<'a> {
    problem: &'a Problem,
    options: StageOptions,
    all_senders: Vec<Senders>,
    /// Per number of cores: those that leave room for it.
    compatible: Vec<Vec<Cores>>,
    /// Per first block that is not done, per number of cores that are left: the least that the blocks from there on add,
    /// whatever runs the others.
    remainders: Vec<Vec<LeastAmounts>>,
    /// Of known plans.
    known: Vec<LeastAmounts>,
    constraints: Constraints,
    /// How many times as large as another's a label's latency may be that is kept in its place. With a limit on latency,
    /// no larger: it might be above the limit.
    latency_slack: f64,
    /// The same of what it draws.
    power_slack: f64,
}

impl<'a> EnergySearch<'a> {
    pub(crate) fn new(problem: &'a Problem, constraints: &Constraints, tolerance: f64, known: &[Plan]) -> Self {
        let outcome = |plan: &Plan| LeastAmounts {
            period: plan.period,
            latency: plan.latency,
            joules: plan.energy.map_or(f64::INFINITY, Nanojoules::joules),
        };
        // What each stage may lose multiplies, and there are at most as many stages as processors.
        let most_stages = problem.counts().decode(problem.counts().most()).iter().sum::<usize>().max(1);
        let slack = (1.0 + tolerance).powf(1.0 / most_stages as f64);
        let mut search = Self {
            problem,
            options: StageOptions::by_time_and_energy(problem),
            all_senders: problem.all_senders().collect(),
            compatible: problem.counts().all().map(|cores| problem.counts().with_room_for(cores)).collect(),
            remainders: Vec::new(),
            known: known.iter().map(outcome).collect(),
            constraints: *constraints,
            latency_slack: if constraints.max_latency.is_some() { 1.0 } else { slack },
            power_slack: slack,
        };
        search.remainders = search.remainders();
        search
    }

    /// Backward, each of the three for itself, with the best senders that there could be.
    fn remainders(&self) -> Vec<Vec<LeastAmounts>> {
        let (blocks, sizes) = (self.problem.blocks(), self.problem.counts().len());
        let mut remainders = vec![vec![IMPOSSIBLE; sizes]; blocks + 1];
        remainders[blocks].fill(NOTHING);
        for start in (0..blocks).rev() {
            for end in start + 1..=blocks {
                for (cores, compatible) in self.problem.counts().all().zip(&self.compatible) {
                    let Some(least) = self.least(BlockRange::from(start..end), cores) else { continue };
                    for &rest in compatible {
                        let after = remainders[end][rest.index()];
                        let remainder = &mut remainders[start][(rest + cores).index()];
                        remainder.period = remainder.period.min(least.period.max(after.period));
                        remainder.latency = remainder.latency.min(least.latency + after.latency);
                        remainder.joules = remainder.joules.min(least.joules + after.joules);
                    }
                }
            }
        }
        remainders
    }

    /// The least of each that a stage on so many cores takes.
    fn least(&self, blocks: BlockRange, cores: Cores) -> Option<LeastAmounts> {
        let options = || self.all_senders.iter().flat_map(|&senders| self.options.on(senders, blocks, cores));
        Some(LeastAmounts {
            period: options().map(|option| option.period).min()?,
            latency: options().map(|option| option.latency).min()?,
            joules: options().map(|option| option.power.dynamic_joules).min_by(f64::total_cmp)?,
        })
    }

    /// The best that can come of a prefix.
    fn outlook(&self, label: &PipelineLabel, end: BlockId, left: Cores) -> Option<LeastAmounts> {
        let rest = self.remainders[end.index()][left.index()];
        if !rest.joules.is_finite() {
            return None;
        }
        let (latency, period) = (label.latency + rest.latency, label.period.max(rest.period));
        let Constraints { max_period, max_latency, .. } = self.constraints;
        if max_period.is_some_and(|most| period > most) || max_latency.is_some_and(|most| latency > most) {
            return None;
        }
        let StagePower { dynamic_joules, idle_watts } = label.power;
        let joules = dynamic_joules + rest.joules + idle_watts * period.seconds();
        Some(LeastAmounts { period, latency, joules })
    }

    fn is_worth_it(&self, label: &PipelineLabel, end: BlockId, left: Cores) -> bool {
        let outlook = self.outlook(label, end, left);
        outlook.is_some_and(|outlook| !self.known.iter().any(|known| outlook.is_no_better_than(known)))
    }

    /// The pipelines that come out.
    pub(crate) fn run(&self) -> Vec<Plan> {
        let (blocks, sizes) = (self.problem.blocks(), self.problem.counts().len());
        let next_senders: Vec<Senders> =
            self.problem.counts().all().map(|cores| self.problem.senders_on(cores)).collect();
        // Per number of first blocks, by states.
        let mut labels: Vec<Vec<Vec<PipelineLabel>>> =
            vec![vec![Vec::new(); self.all_senders.len() * sizes]; blocks + 1];
        let start = EnergyState { senders: Senders::NETWORK, used: Cores::NONE };
        labels[0][self.place(start)].push(self.nothing(start));

        for end in (1..=blocks).map(BlockId::new) {
            let mut extended: Vec<Vec<PipelineLabel>> = vec![Vec::new(); self.all_senders.len() * sizes];
            for start in (0..end.index()).map(BlockId::new) {
                for &senders in &self.all_senders {
                    self.extend(&labels[start.index()], senders, BlockRange::new(start, end), |cores, label| {
                        let used = label.before.state.used + cores;
                        if self.is_worth_it(&label, end, self.problem.counts().most() - used) {
                            extended[self.place(EnergyState { senders: next_senders[cores.index()], used })]
                                .push(label);
                        }
                    });
                }
            }
            extended.iter_mut().for_each(|labels| self.prune(labels));
            labels[end.index()] = extended;
        }

        let states = self
            .all_senders
            .iter()
            .flat_map(|&senders| self.problem.counts().all().map(move |used| EnergyState { senders, used }));
        let places = states
            .flat_map(|state| (0..labels[blocks][self.place(state)].len()).map(move |at| LabelPlace { state, at }));
        places.filter_map(|place| self.plan(&labels, place)).collect()
    }

    fn place(&self, state: EnergyState) -> usize {
        state.senders.index() * self.problem.counts().len() + state.used.index()
    }

    /// The label of a pipeline without stages.
    fn nothing(&self, start: EnergyState) -> PipelineLabel {
        PipelineLabel {
            period: Nanoseconds::ZERO,
            latency: Nanoseconds::ZERO,
            power: StagePower::default(),
            start: BlockId::new(0),
            replicas: MultisetId::NONE,
            before: LabelPlace { state: start, at: 0 },
        }
    }

    /// Adds a stage of these blocks, which takes its frames from these senders, to all pipelines before it; `add` gets
    /// the stage's cores and the longer pipeline.
    fn extend(
        &self,
        reached: &[Vec<PipelineLabel>],
        senders: Senders,
        blocks: BlockRange,
        mut add: impl FnMut(Cores, PipelineLabel),
    ) {
        for (cores, compatible) in self.problem.counts().all().zip(&self.compatible) {
            let options = self.options.on(senders, blocks, cores);
            if options.is_empty() {
                continue;
            }
            for &used in compatible {
                let state = EnergyState { senders, used };
                for (at, before) in reached[self.place(state)].iter().enumerate() {
                    for option in options {
                        add(cores, before.with(option, blocks.start(), LabelPlace { state, at }));
                    }
                }
            }
        }
    }

    /// Drops labels that another one beats, up to the tolerance.
    fn prune(&self, labels: &mut Vec<PipelineLabel>) {
        let Self { latency_slack, power_slack, .. } = self;
        labels.sort_by(|one, other| {
            let numbers = |label: &PipelineLabel| (label.period, label.latency);
            numbers(one).cmp(&numbers(other)).then(one.power.dynamic_joules.total_cmp(&other.power.dynamic_joules))
        });
        let mut kept: Vec<PipelineLabel> = Vec::new();
        labels.retain(|label| {
            let is_beaten = kept.iter().rev().any(|other| {
                other.latency.0 as f64 <= label.latency.0 as f64 * latency_slack
                    && other.power.dynamic_joules <= label.power.dynamic_joules * power_slack
                    && other.power.idle_watts <= label.power.idle_watts * power_slack
            });
            if !is_beaten {
                kept.push(*label);
            }
            !is_beaten
        });
    }

    /// The pipeline of all blocks that a label stands for.
    fn plan(&self, labels: &[Vec<Vec<PipelineLabel>>], mut place: LabelPlace) -> Option<Plan> {
        let mut end = BlockId::new(self.problem.blocks());
        let mut stages: Vec<StageWays> = Vec::new();
        while end.index() > 0 {
            let label = labels[end.index()][self.place(place.state)][place.at];
            let ways = self.options.replicas(label.replicas).to_vec();
            stages.push(StageWays { blocks: BlockRange::new(label.start, end), ways });
            end = label.start;
            place = label.before;
        }
        stages.reverse();
        self.problem.plan(stages)
    }
}

impl PipelineLabel {
    fn with(&self, option: &StageOption, start: BlockId, before: LabelPlace) -> Self {
        Self {
            period: self.period.max(option.period),
            latency: self.latency + option.latency,
            power: StagePower {
                dynamic_joules: self.power.dynamic_joules + option.power.dynamic_joules,
                idle_watts: self.power.idle_watts + option.power.idle_watts,
            },
            start,
            replicas: option.replicas,
            before,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_cost::{PowerOrigin, ProcessorPower};
    use millstream_partition::Chain;
    use millstream_test_support::{board, chain, uniform_table};

    use super::*;

    /// Of two labels, one has the shorter period, and a latency that is longer by 1 %: within the tolerance, even
    /// of a single stage, but perhaps not within a limit.
    #[test]
    fn under_a_limit_on_latency_no_label_gives_way_to_a_later_one() {
        let (graph, board) = (chain(2), board("B1+s1"));
        let mut table = uniform_table(&graph, &board, [10, 20]);
        for class in table.class_ids() {
            table.set_power(
                class,
                ProcessorPower { active_watts: 1.0, idle_watts: 0.1, origin: PowerOrigin::BoardFile },
            );
        }
        let problem = Problem::new(&graph, &Chain::of(&graph), &board, &table).unwrap();
        let left = |max_latency: Option<Nanoseconds>| {
            let constraints = Constraints { max_latency, ..Constraints::default() };
            let search = EnergySearch::new(&problem, &constraints, 0.1, &[]);
            let nothing = search.nothing(EnergyState { senders: Senders::NETWORK, used: Cores::NONE });
            let label = |period: u64, latency: u64| PipelineLabel {
                period: Nanoseconds(period),
                latency: Nanoseconds(latency),
                ..nothing
            };
            let mut labels = vec![label(90, 1010), label(100, 1000)];
            search.prune(&mut labels);
            labels.into_iter().map(|label| label.latency.0).collect::<Vec<_>>()
        };

        assert_eq!(left(None), [1010]);
        assert_eq!(left(Some(Nanoseconds(1005))), [1010, 1000]);
    }
}
