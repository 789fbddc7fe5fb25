//! All pipelines on a small board, one by one, by the rules of execution alone.

use std::collections::BTreeMap;

use millstream_board::{Board, Processor, ProcessorClass};
use millstream_certify::ReachedState;
use millstream_graph::OperatorId;
use millstream_schedule::{Entry, Replica, held_bytes, shared_period};

use crate::random_problem::Instance;

/// Cores that are used of each unit, units of the last stage, and blocks that are done.
type State = (Vec<usize>, Vec<usize>, usize);

/// Where pipelines of stages on single processors and replicas of them get, and the least that the longest stage on the
/// way takes.
pub(crate) struct Pipelines {
    least: BTreeMap<State, u64>,
    blocks: usize,
}

impl Pipelines {
    pub(crate) fn of(instance: &Instance) -> Self {
        let cores = cores(&instance.board);
        let blocks = instance.chain.blocks().len();
        let mut least = BTreeMap::from([((vec![0; cores.len()], Vec::new(), 0), 0)]);
        for start in 0..blocks {
            let states: Vec<(State, u64)> = least.iter().map(|(state, period)| (state.clone(), *period)).collect();
            for ((used, last, _), period) in states.into_iter().filter(|((_, _, done), _)| *done == start) {
                let free: Vec<usize> = cores.iter().zip(&used).map(|(all, used)| all - used).collect();
                for taken in up_to(&free).into_iter().filter(|taken| taken.iter().any(|cores| *cores > 0)) {
                    for end in start + 1..=blocks {
                        let Some(stage) = stage_period(instance, &taken, &last, start..end) else { continue };
                        let used = used.iter().zip(&taken).map(|(used, taken)| used + taken).collect();
                        let last = (0..taken.len()).filter(|unit| taken[*unit] > 0).collect();
                        let known = least.entry((used, last, end)).or_insert(u64::MAX);
                        *known = stage.max(period).min(*known);
                    }
                }
            }
        }
        Self { least, blocks }
    }

    /// The shortest period of those that come to the end; `None` if none does.
    pub(crate) fn shortest(&self) -> Option<u64> {
        self.least.iter().filter(|((_, _, done), _)| *done == self.blocks).map(|(_, period)| *period).min()
    }

    /// Where they get with stages below a period, in the order of certificates.
    pub(crate) fn reached_below(&self, period: u64, do_senders_matter: bool) -> Vec<ReachedState> {
        let mut ends: BTreeMap<(Vec<usize>, Vec<usize>), Vec<usize>> = BTreeMap::new();
        for ((used, last, done), least) in &self.least {
            if *done > 0 && *least < period {
                // The first unit counts fastest, and of the last stage the first unit is the lowest bit.
                let used: Vec<usize> = used.iter().rev().copied().collect();
                let last: Vec<usize> = last.iter().rev().copied().filter(|_| do_senders_matter).collect();
                ends.entry((used, last)).or_default().push(*done);
            }
        }
        let mut states: Vec<ReachedState> = Vec::new();
        for ((mut used, mut last), mut ends) in ends {
            used.reverse();
            last.reverse();
            ends.sort_unstable();
            ends.dedup();
            states.push(ReachedState { used, last, ends });
        }
        let mask = |state: &ReachedState| state.last.iter().map(|unit| 1_usize << unit).sum::<usize>();
        states.sort_by_cached_key(|state| (state.used.iter().rev().copied().collect::<Vec<_>>(), mask(state)));
        states
    }
}

/// Cores of each cluster; accelerators count as one.
fn cores(board: &Board) -> Vec<usize> {
    let clusters = board.clusters().iter().map(|cluster| cluster.cores.len());
    clusters.chain(board.accelerators().iter().map(|_| 1)).collect()
}

fn labels(board: &Board) -> Vec<String> {
    let clusters = board.clusters().iter().map(|cluster| cluster.label.clone());
    clusters.chain(board.accelerators().iter().map(|accelerator| accelerator.label.clone())).collect()
}

/// All numbers of cores up to some.
fn up_to(most: &[usize]) -> Vec<Vec<usize>> {
    most.iter().fold(vec![Vec::new()], |all, &most| {
        all.iter().flat_map(|counts| (0..=most).map(|cores| [counts.as_slice(), &[cores]].concat())).collect()
    })
}

/// All multisets of numbers of cores, at least one, that are not more together.
fn replicas(cores: usize, largest: usize) -> Vec<Vec<usize>> {
    let first = (1..=cores.min(largest)).flat_map(|first| {
        let others = replicas(cores - first, first).into_iter().chain([Vec::new()]);
        others.map(move |others| [vec![first], others].concat())
    });
    first.collect()
}

/// The shortest period of a stage of these blocks on replicas that have at most so many cores of each unit, and at
/// least one of each that is named.
fn stage_period(instance: &Instance, taken: &[usize], last: &[usize], blocks: std::ops::Range<usize>) -> Option<u64> {
    let Instance { chain, board, .. } = instance;
    let operators: Vec<OperatorId> =
        chain.blocks()[blocks.clone()].iter().flat_map(|block| block.operators.clone()).collect();
    let labels = labels(board);
    let senders = last.iter().map(|&unit| ProcessorClass::new(labels[unit].clone(), 1)).collect();
    let entry = if blocks.start == 0 { Entry::Network } else { Entry::Stage { senders } };

    let units = (0..taken.len()).filter(|unit| taken[*unit] > 0);
    let sets = units.fold(vec![Vec::new()], |all: Vec<Vec<(usize, usize)>>, unit| {
        let sets_of_unit = replicas(taken[unit], taken[unit]);
        let with = |before: &Vec<(usize, usize)>, counts: &Vec<usize>| {
            before.iter().copied().chain(counts.iter().map(|&count| (unit, count))).collect()
        };
        all.iter().flat_map(|before| sets_of_unit.iter().map(move |counts| with(before, counts))).collect()
    });
    sets.iter().filter_map(|set| set_period(instance, set, &operators, &entry, &labels)).min()
}

/// The period of replicas, each of so many cores of a unit; `None` if one of them can't run the operators.
fn set_period(
    Instance { graph, board, table, .. }: &Instance,
    set: &[(usize, usize)],
    operators: &[OperatorId],
    entry: &Entry,
    labels: &[String],
) -> Option<u64> {
    let (mut times, mut links) = (Vec::new(), Vec::new());
    for &(unit, count) in set {
        let memory = board.accelerator(&labels[unit]).and_then(|accelerator| accelerator.memory_bytes);
        if memory.is_some_and(|most| held_bytes(graph, operators) > most) {
            return None;
        }
        let cores = if board.accelerator(&labels[unit]).is_some() { 0 } else { count as u32 };
        let replica = Replica::single(Processor::new(labels[unit].clone(), 0..cores), operators.to_vec());
        times.push(replica.time(entry, graph, table).ok()?);
        links.push(replica.link_uses(entry, graph, table));
    }
    // A replica alone takes all frames over its links.
    let occupied = links.iter().flatten().map(|link| link.time.0).max().filter(|_| links.len() == 1);
    Some(shared_period(&times, &links).0.max(occupied.unwrap_or(0)))
}
