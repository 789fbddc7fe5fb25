//! The shortest period of pipelines on single processors.

use std::collections::HashMap;

use millstream_board::{Board, host_of};
use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_partition::Chain;

use crate::space::{Added, MOST_UNITS, Space};
use crate::stage_rates::StageRates;
use crate::{CertifyError, ReachedState, SingleProcessorProof};

/// More states times ranges of blocks than this are not worth writing down, nor looking through.
const MOST_STEPS: usize = 10_000_000;
/// More numbers of cores are not compared with each other.
const MOST_SIZES: usize = 10_000;
/// How far sums of rates may be from halves of nanoseconds that they stand for.
const HALVES: f64 = 1e-6;

/// Follows all pipelines of contiguous stages, each on one processor or on replicas of it, whose stages pass frames more often than the period
/// that is said to be the shortest, and compares how far they get.
///
/// A stage has some cores of some clusters, and of each the replicas that together pass the most frames.
///
/// # Errors
/// [`CertifyError::Reached`] if they get anywhere else, or to the end.
pub fn check_single_processors(
    proof: &SingleProcessorProof,
    (graph, chain): (&Graph, &Chain),
    board: &Board,
    table: &CostTable,
) -> Result<(), CertifyError> {
    let wrong = |detail: String| Err(CertifyError::Reached { detail });
    let Some(rates) = StageRates::new(graph, chain, board, table) else {
        return wrong("the costs are of another board".to_owned());
    };
    if proof.blocks != rates.blocks {
        return wrong(format!("the network has {} blocks, not {}", rates.blocks, proof.blocks));
    }
    if has_too_many_states(&rates) {
        let units = rates.units.len();
        return wrong(format!("the {units} clusters and accelerators have more states than can be checked"));
    }

    let space = Space::of(&rates);
    let quick = |period: u64| {
        let (space, rates) = (&space, &rates);
        move |senders: &[usize], start, end| quick_sizes(space, rates, (senders, start, end), Nanoseconds(period))
    };
    let reached = Reached::new(&space, &rates, quick(proof.period_nanoseconds));
    if let Some(used) = reached.end() {
        return wrong(format!("a pipeline on {used:?} cores of the clusters has a shorter period"));
    }
    let found = reached.states();
    if let Some((own, said)) = found.iter().zip(&proof.reached).find(|(own, said)| own != said) {
        return wrong(format!(
            "on {:?} cores they reach {:?}, not {:?} on {:?}",
            own.used, own.ends, said.ends, said.used
        ));
    }
    if found.len() != proof.reached.len() {
        return wrong(format!("there are {} states, not {}", found.len(), proof.reached.len()));
    }

    // Something on the board does reach it: nothing longer is the shortest.
    match Reached::is_end(&space, &rates, quick(proof.period_nanoseconds.saturating_add(1))) {
        true => Ok(()),
        false => wrong("no such pipeline has this period, all take longer".to_owned()),
    }
}

/// Whether no pipeline of stages on single processors runs a network, all of them are too many to be written down, or the board is made of
/// several hosts, of whose pipelines nothing is.
pub(crate) fn is_beyond_proof(graph: &Graph, chain: &Chain, board: &Board, table: &CostTable) -> bool {
    if board.clusters().iter().any(|cluster| host_of(&cluster.label).is_some()) {
        return true;
    }
    let Some(rates) = StageRates::new(graph, chain, board, table) else { return false };
    if has_too_many_states(&rates) {
        return true;
    }
    let space = Space::of(&rates);
    let ever = Nanoseconds(u64::MAX);
    !Reached::is_end(&space, &rates, |senders, start, end| quick_sizes(&space, &rates, (senders, start, end), ever))
}

/// Whether there are more states and ranges of blocks than can be looked through.
pub(crate) fn has_too_many_states(rates: &StageRates<'_>) -> bool {
    // A last stage was on some of the units that are used.
    let ways = |cores: usize| if rates.senders_matter() { 1 + 2 * cores } else { 1 + cores };
    let states = rates.units.iter().fold(1_usize, |all, unit| all.saturating_mul(ways(unit.cores)));
    let steps = states.saturating_mul(rates.blocks * rates.blocks);
    let sizes = rates.units.iter().fold(1_usize, |all, unit| all.saturating_mul(unit.cores + 1));
    rates.units.len() > MOST_UNITS || steps > MOST_STEPS || sizes > MOST_SIZES
}

/// Where pipelines get by stages with a period below a given one.
pub(crate) struct Reached<'a> {
    space: &'a Space,
    /// Per state, whether so many blocks are done.
    done: Vec<Vec<bool>>,
}

impl<'a> Reached<'a> {
    /// `quick` says on which numbers of cores a stage that takes its frames over from these units, and begins and ends after so many blocks,
    /// has a shorter period.
    pub(crate) fn new(
        space: &'a Space,
        rates: &StageRates<'_>,
        quick: impl Fn(&[usize], usize, usize) -> Vec<usize>,
    ) -> Self {
        Self::until(space, rates, quick, false)
    }

    /// Whether all blocks are ever done.
    pub(crate) fn is_end(
        space: &'a Space,
        rates: &StageRates<'_>,
        quick: impl Fn(&[usize], usize, usize) -> Vec<usize>,
    ) -> bool {
        Self::until(space, rates, quick, true).end().is_some()
    }

    /// What is reached, or as much of it as there was when all blocks were done.
    fn until(
        space: &'a Space,
        rates: &StageRates<'_>,
        quick: impl Fn(&[usize], usize, usize) -> Vec<usize>,
        stops_at_end: bool,
    ) -> Self {
        let sizes = space.sizes();
        let sets = space.lasts();
        let lasts: Vec<usize> = (0..sizes).map(|size| space.last_of(size)).collect();
        let mut done = vec![vec![false; rates.blocks + 1]; sizes * sets];
        done[0][0] = true;

        // Stages only ever use more cores: when a state comes, all that leads there has been. Of one set of senders, each range is timed once.
        let mut known: HashMap<(usize, usize, usize), Vec<bool>> = HashMap::new();
        for used in 0..sizes {
            let rooms: Vec<usize> = (1..sizes).filter(|&size| space.have_room_for(used, size)).collect();
            for last in 0..sets {
                let state = used * sets + last;
                let starts: Vec<usize> = (0..rates.blocks).filter(|&start| done[state][start]).collect();
                for (start, end) in
                    starts.iter().flat_map(|&start| (start + 1..=rates.blocks).map(move |end| (start, end)))
                {
                    let quick = known.entry((last, start, end)).or_insert_with(|| {
                        // Where it does not matter who sends, anybody may stand for all.
                        let quick = quick(&Space::units_of(if sets == 1 { 1 } else { last }), start, end);
                        quick.into_iter().fold(vec![false; sizes], |mut all, size| {
                            all[size] = true;
                            all
                        })
                    });
                    for &size in rooms.iter().filter(|size| quick[**size]) {
                        done[(used + size) * sets + lasts[size]][end] = true;
                        if stops_at_end && end == rates.blocks {
                            return Self { space, done };
                        }
                    }
                }
            }
        }
        Self { space, done }
    }

    /// Whether all blocks are done in some state, with the cores that are used.
    pub(crate) fn end(&self) -> Option<Vec<usize>> {
        let state = self.done.iter().position(|done| done.last() == Some(&true))?;
        Some(self.space.decode(state / self.space.lasts()).to_vec())
    }

    /// States in which something is done.
    fn states(&self) -> Vec<ReachedState> {
        let state = |(state, done): (usize, &Vec<bool>)| ReachedState {
            used: self.space.decode(state / self.space.lasts()).to_vec(),
            last: Space::units_of(state % self.space.lasts()),
            ends: (0..done.len()).filter(|&end| done[end]).collect(),
        };
        let all = self.done.iter().enumerate().skip(1).map(state);
        all.filter(|state| !state.ends.is_empty()).collect()
    }
}

/// The numbers of cores of which replicas on single processors pass frames with a period that is rounded to less than a given one.
pub(crate) fn quick_sizes(
    space: &Space,
    rates: &StageRates<'_>,
    (senders, start, end): (&[usize], usize, usize),
    below: Nanoseconds,
) -> Vec<usize> {
    let per_unit: Vec<Vec<f64>> = (0..rates.units.len()).map(|unit| rates.rates(unit, senders, start, end)).collect();
    // Frames per nanosecond of all units, where each of them takes some.
    let mut rates: Vec<f64> = vec![0.0];
    for size in 1..space.sizes() {
        let Added { unit, cores, to } = space.last_added(size);
        let more = per_unit[unit][cores];
        rates.push(if more > 0.0 { rates[to] + more } else { f64::NEG_INFINITY });
    }
    let is_quick = |size: &usize| rates[*size] > 0.0 && is_rounded_below(1.0 / rates[*size], below);
    (1..space.sizes()).filter(is_quick).collect()
}

/// Whether a period is rounded to less than a given one. Halves are rounded up, also those that sums of rates miss by their last digits.
pub(crate) fn is_rounded_below(period: f64, below: Nanoseconds) -> bool {
    below > Nanoseconds(1) && period < below.0 as f64 - 0.5 - HALVES
}
