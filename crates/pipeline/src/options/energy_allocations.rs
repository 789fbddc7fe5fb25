//! How the cores of a stage are divided among replicas where it counts what they draw.

use millstream_cost::Nanoseconds;
use millstream_schedule::shared_period;

use crate::board::cluster_id::ClusterId;
use crate::board::cores::Cores;
use crate::board::stage_power::StagePower;
use crate::options::ways_by_cores::{SizedWay, WaysByCores};
use crate::problem::Problem;
use crate::problem::plan_energy::replicated_power;
use crate::ways::multisets::Multisets;
use crate::ways::stage_blocks::StageBlocks;
use crate::ways::stage_option::{SizedOption, StageOption};
use crate::ways::way::WayId;

/// The replicas of a stage that no others on as many cores or fewer beat, in latency, period, energy of a frame, or
/// idle power.
///
/// Frames come to replicas by their rates, so that what these pass and draw adds up: of two sets of replicas on the
/// same cores, the one that passes no more frames, draws no less while it works and while it waits, and takes no less
/// for a frame is of no use, whatever else is added to both. So the useful sets are found by dynamic programming over
/// numbers of cores. Where links have a capacity, what is received by each cluster counts for itself. Processors draw
/// no less while they work than while they wait.
pub(crate) struct EnergyAllocations<'a> {
    problem: &'a Problem,
    by_cores: WaysByCores,
    pub(crate) multisets: Multisets,
}

/// A way to run the stage at hand.
#[derive(Clone, Copy)]
struct Way {
    id: WayId,
    cores: Cores,
    time: Nanoseconds,
    power: StagePower,
}

/// What replicas do together that share a link, or that have none.
#[derive(Clone, Copy, Default)]
struct Together {
    /// Frames a nanosecond.
    rate: f64,
    /// What they draw for these.
    dynamic_joules: f64,
}

/// A set of replicas, with all that may make another set better.
#[derive(Clone)]
struct ReplicaLabel {
    latency: Nanoseconds,
    idle_watts: f64,
    /// Of all replicas, if the stage occupies no links; else those of each cluster, and then of all teams, which occupy
    /// none.
    together: Vec<Together>,
    replicas: Vec<WayId>,
}

impl ReplicaLabel {
    fn is_no_better_than(&self, other: &Self) -> bool {
        let less =
            |(one, other): (&Together, &Together)| one.rate <= other.rate && one.dynamic_joules >= other.dynamic_joules;
        self.latency >= other.latency
            && self.idle_watts >= other.idle_watts
            && self.together.iter().zip(&other.together).all(less)
    }
}

impl<'a> EnergyAllocations<'a> {
    pub(crate) fn new(problem: &'a Problem) -> Self {
        Self { problem, by_cores: WaysByCores::of(problem), multisets: Multisets::default() }
    }

    /// Adds the options of a stage, by ascending cores.
    pub(crate) fn options(&mut self, stage: StageBlocks, all_options: &mut Vec<SizedOption>) {
        let able = self.able(stage);
        let occupied = self.problem.occupied_links(stage.senders, stage.blocks);
        let mut sets = self.sets(&able, &occupied);
        for way in able.iter().filter(|way| self.problem.is_alone(way.id, &occupied)) {
            sets[way.cores.index()].push(vec![way.id]);
        }

        // Per number of cores: what so many or fewer can do.
        let mut reach: Vec<Vec<StageOption>> = Vec::with_capacity(sets.len());
        for (cores, sets) in self.problem.counts().all().zip(sets) {
            let mut reached: Vec<StageOption> = Vec::new();
            for option in self.by_cores.fewer.than(cores).iter().flat_map(|fewer| &reach[fewer.index()]) {
                insert_undominated(&mut reached, *option);
            }
            let first = all_options.len();
            for replicas in sets {
                let Some(option) = self.option(replicas, stage) else { continue };
                if insert_undominated(&mut reached, option) {
                    all_options.push(SizedOption { cores, option });
                }
            }

            // Later ones may have beaten earlier ones.
            let mut options = all_options.split_off(first);
            options.retain(|sized| reached.contains(&sized.option));
            options.sort_by_key(|sized| (sized.option.latency, sized.option.period));
            all_options.append(&mut options);
            reach.push(reached);
        }
    }

    /// The useful sets of replicas, per number of cores, without teams that have the stage for themselves because links
    /// to these clusters are occupied.
    fn sets(&self, able: &[Way], occupied: &[ClusterId]) -> Vec<Vec<Vec<WayId>>> {
        let group_of_teams = self.problem.cluster_count();
        let groups = if occupied.is_empty() { 1 } else { group_of_teams + 1 };
        let nothing = ReplicaLabel {
            latency: Nanoseconds::ZERO,
            idle_watts: 0.0,
            together: vec![Together::default(); groups],
            replicas: Vec::new(),
        };
        let mut labels: Vec<Vec<ReplicaLabel>> = vec![Vec::new(); self.problem.counts().len()];
        labels[0].push(nothing);

        for way in able {
            let group = match self.problem.cluster_of(way.id) {
                _ if occupied.is_empty() => 0,
                Some(class) => class.cluster.index(),
                None if self.problem.is_alone(way.id, occupied) => continue,
                None => group_of_teams,
            };
            for &cores in &self.by_cores.with_others[way.cores.index()] {
                if !self.problem.settings.has_replicas && cores != way.cores {
                    continue;
                }
                let before = (cores - way.cores).index();
                for at in 0..labels[before].len() {
                    let longer = labels[before][at].with(way, group);
                    insert_undominated_label(&mut labels[cores.index()], longer);
                }
            }
        }

        labels[0].clear();
        let replicas = |labels: Vec<ReplicaLabel>| labels.into_iter().map(|label| label.replicas).collect();
        labels.into_iter().map(replicas).collect()
    }

    /// The ways that run the stage and whose power is known.
    fn able(&self, StageBlocks { senders, blocks }: StageBlocks) -> Vec<Way> {
        let way = |&SizedWay { id, cores }: &SizedWay| {
            let time = self.problem.time(id, senders, blocks)?;
            let power = self.problem.way_power(id, senders, blocks, time)?;
            Some(Way { id, cores, time, power })
        };
        let mut able: Vec<Way> = self.by_cores.ways.iter().filter_map(way).collect();
        able.sort_by_key(|way| (way.time, way.id));
        able
    }

    fn option(&mut self, mut replicas: Vec<WayId>, stage: StageBlocks) -> Option<StageOption> {
        let StageBlocks { senders, blocks } = stage;
        replicas.sort_unstable();
        let times = self.problem.times(&replicas, senders, blocks)?;
        let links = self.problem.links(&replicas, senders, blocks);
        let drawn = |(&way, &time): (&WayId, &Nanoseconds)| self.problem.way_power(way, senders, blocks, time);
        let powers: Option<Vec<StagePower>> = replicas.iter().zip(&times).map(drawn).collect();
        Some(StageOption {
            period: shared_period(&times, &links),
            latency: times.iter().copied().max()?,
            power: replicated_power(&powers?, &times, &links),
            replicas: self.multisets.place(replicas),
        })
    }
}

impl ReplicaLabel {
    /// With one more replica, which takes no less for a frame than the others.
    fn with(&self, way: &Way, group: usize) -> Self {
        let rate = 1.0 / way.time.0 as f64;
        let mut longer = self.clone();
        longer.latency = way.time;
        longer.idle_watts += way.power.idle_watts;
        longer.together[group].rate += rate;
        longer.together[group].dynamic_joules += rate * way.power.dynamic_joules;
        longer.replicas.push(way.id);
        longer
    }
}

/// Adds a label that no other beats, in place of those that it beats.
fn insert_undominated_label(labels: &mut Vec<ReplicaLabel>, label: ReplicaLabel) {
    if labels.iter().any(|better| label.is_no_better_than(better)) {
        return;
    }
    labels.retain(|other| !other.is_no_better_than(&label));
    labels.push(label);
}

/// Adds an option that no other beats, in place of those that it beats; returns whether it did.
fn insert_undominated(options: &mut Vec<StageOption>, option: StageOption) -> bool {
    let is_no_better = |one: &StageOption, other: &StageOption| {
        one.latency >= other.latency
            && one.period >= other.period
            && one.power.dynamic_joules >= other.power.dynamic_joules
            && one.power.idle_watts >= other.power.idle_watts
    };
    if options.iter().any(|better| is_no_better(&option, better)) {
        return false;
    }
    options.retain(|other| !is_no_better(other, &option));
    options.push(option);
    true
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use millstream_cost::{CostTable, PowerOrigin, ProcessorPower};
    use millstream_partition::Chain;
    use millstream_test_support::board;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::board::senders::Senders;
    use crate::teams::space::teams_of;

    /// Two clusters of two cores, each of which is quick at every other block only.
    fn problem() -> Problem {
        let board = board("B2+s2:500");
        let model = millstream_zoo::build("tiny-darknet").unwrap();
        let graph = model.graph();
        let chain = Chain::of(graph);
        let mut table = CostTable::new(graph.operators().len(), board.processor_classes());
        for processor in table.class_ids() {
            let is_big = table.classes()[processor.index()].cluster == "B";
            for (index, block) in chain.blocks().iter().enumerate() {
                let time = if (index % 2 == 0) == is_big { 1000 } else { 10_000 };
                block.operators.iter().for_each(|&id| table.set_time(processor, id, Nanoseconds(time)));
            }
            let power = ProcessorPower { active_watts: 2.0, idle_watts: 1.0, origin: PowerOrigin::BoardFile };
            table.set_power(processor, power);
        }
        Problem::with_teams(graph, &chain, &board, &table, &teams_of(&board)).unwrap()
    }

    /// The replicas that are found for the whole network on all cores.
    fn found(problem: &Problem) -> Vec<Vec<WayId>> {
        for way in problem.team_ways() {
            while !problem.team(way).unwrap().evaluate_next_part(problem.costs.chain.whole()).unwrap() {}
        }
        let mut allocations = EnergyAllocations::new(problem);
        let mut found = Vec::new();
        let whole = StageBlocks { senders: Senders::NETWORK, blocks: problem.costs.chain.whole() };
        allocations.options(whole, &mut found);
        let all = found.iter().filter(|sized| sized.cores == problem.counts().most());
        all.map(|sized| allocations.multisets.at(sized.option.replicas).to_vec()).collect()
    }

    /// Sets of single processors with no more cores together than there are, none but those from a place on.
    fn add_sets(problem: &Problem, from: usize, set: &[WayId], used: Cores, sets: &mut Vec<(Vec<WayId>, Cores)>) {
        for (place, cluster) in problem.clusters().enumerate() {
            for count in 1..=problem.classes_of(cluster).len() {
                let way = problem.class_with(cluster, count);
                let rank = 10 * place + count;
                let has_room = problem.counts().with_room_for(problem.cores(way)).contains(&used);
                if rank >= from && has_room {
                    let (longer, used) = ([set, &[way]].concat(), used + problem.cores(way));
                    sets.push((longer.clone(), used));
                    add_sets(problem, rank, &longer, used, sets);
                }
            }
        }
    }

    #[test]
    fn no_set_of_replicas_is_better_than_all_options() {
        let graph = millstream_test_support::chain(3);
        let board = board("B3+s3:500");
        for seed in 0..40 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut table = CostTable::new(3, board.processor_classes());
            for class in table.class_ids() {
                table
                    .operator_ids()
                    .for_each(|id| table.set_time(class, id, Nanoseconds(random.random_range(200..900))));
                let (active_watts, idle_watts) = (random.random_range(1.0..6.0), random.random_range(0.1..0.9));
                table.set_power(class, ProcessorPower { active_watts, idle_watts, origin: PowerOrigin::BoardFile });
            }
            let problem = Problem::new(&graph, &Chain::of(&graph), &board, &table).unwrap();
            let whole = StageBlocks { senders: Senders::NETWORK, blocks: problem.costs.chain.whole() };
            let mut allocations = EnergyAllocations::new(&problem);
            let mut found = Vec::new();
            allocations.options(whole, &mut found);

            let mut sets = Vec::new();
            add_sets(&problem, 0, &[], Cores::NONE, &mut sets);
            assert_eq!(sets.len(), 7 * 7 - 1, "partitions of up to three cores in each of two clusters");
            for (set, cores) in sets {
                let option = allocations.option(set.clone(), whole).unwrap();
                let is_as_good = |sized: &&SizedOption| {
                    let SizedOption { option: other, cores: on } = sized;
                    let slack = 1.0 + 1e-9;
                    problem.counts().are_within(*on, cores)
                        && other.latency <= option.latency
                        && other.period <= option.period
                        && other.power.dynamic_joules <= option.power.dynamic_joules * slack
                        && other.power.idle_watts <= option.power.idle_watts * slack
                };
                assert!(found.iter().any(|sized| is_as_good(&sized)), "{seed} {set:?} {option:?}");
            }
        }
    }

    #[test]
    fn teams_are_replicas_of_each_other() {
        let problem = problem();
        let found = found(&problem);
        let has_two_teams = |ways: &Vec<WayId>| ways.len() == 2 && ways.iter().all(|&way| problem.team(way).is_some());
        assert!(found.iter().any(has_two_teams), "{found:?}");
    }

    #[test]
    fn without_replicas_there_is_one_way_each() {
        let problem = problem().without_replicas();
        assert!(found(&problem).iter().all(|ways| ways.len() == 1));
        assert!(problem.team_ways().any(|way| problem.cores(way) == problem.counts().most()), "some have all cores");
    }
}
