//! The shortest period of pipelines on single processors.

use std::collections::HashMap;

use millstream_board::Board;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_partition::Chain;

use crate::stage_rates::StageRates;
use crate::{CertifyError, ReachedState, SingleProcessorProof};

/// More clusters and accelerators have too many sets of them.
const MOST_UNITS: usize = 16;
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
    if rates.units.len() > MOST_UNITS {
        return wrong(format!(
            "the board has {} clusters and accelerators, {MOST_UNITS} can be checked",
            rates.units.len()
        ));
    }
    let reached = Reached::new(&rates, Nanoseconds(proof.period_nanoseconds));
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
    let not_above = Nanoseconds(proof.period_nanoseconds.saturating_add(1));
    match Reached::new(&rates, not_above).end() {
        Some(_) => Ok(()),
        None => wrong("no such pipeline has this period, all take longer".to_owned()),
    }
}

/// Where pipelines get by stages with a period below a given one.
struct Reached {
    space: Space,
    /// Per state, whether so many blocks are done.
    done: Vec<Vec<bool>>,
}

/// States: cores used of each unit, the first one counting fastest, and the units of the last stage as a mask, where that matters.
struct Space {
    cores: Vec<usize>,
    strides: Vec<usize>,
    /// Sets of units of a last stage; only the empty one where it does not matter who sends.
    lasts: usize,
}

impl Space {
    fn of(rates: &StageRates<'_>) -> Self {
        let cores: Vec<usize> = rates.units.iter().map(|unit| unit.cores).collect();
        let strides = (0..cores.len()).map(|unit| cores[..unit].iter().map(|cores| cores + 1).product()).collect();
        Self { lasts: if rates.senders_matter() { 1 << cores.len() } else { 1 }, cores, strides }
    }

    /// How many ways there are to use cores.
    fn sizes(&self) -> usize {
        self.cores.iter().map(|cores| cores + 1).product()
    }

    fn decode(&self, used: usize) -> Vec<usize> {
        self.cores.iter().zip(&self.strides).map(|(cores, stride)| used / stride % (cores + 1)).collect()
    }

    fn units_of(mask: usize) -> Vec<usize> {
        (0..usize::BITS as usize).filter(|unit| mask >> unit & 1 == 1).collect()
    }

    /// What a stage on so many cores is to the next one.
    fn last_of(&self, size: usize) -> usize {
        let used = self.decode(size);
        let mask = (0..used.len()).filter(|&unit| used[unit] > 0).fold(0, |mask, unit| mask | 1 << unit);
        if self.lasts == 1 { 0 } else { mask }
    }
}

impl Reached {
    fn new(rates: &StageRates<'_>, below: Nanoseconds) -> Self {
        let space = Space::of(rates);
        let sizes: Vec<Vec<usize>> = (0..space.sizes()).map(|size| space.decode(size)).collect();
        let lasts: Vec<usize> = (0..sizes.len()).map(|size| space.last_of(size)).collect();
        let mut done = vec![vec![false; rates.blocks + 1]; sizes.len() * space.lasts];
        done[0][0] = true;
        // Stages only ever use more cores: when a state comes, all that leads there has been. Of one set of senders, each range is timed once.
        let mut known: HashMap<(usize, usize, usize), Vec<usize>> = HashMap::new();
        for used in 0..sizes.len() {
            for last in 0..space.lasts {
                let state = used * space.lasts + last;
                let starts: Vec<usize> = (0..rates.blocks).filter(|&start| done[state][start]).collect();
                for (start, end) in
                    starts.iter().flat_map(|&start| (start + 1..=rates.blocks).map(move |end| (start, end)))
                {
                    let quick = known.entry((last, start, end)).or_insert_with(|| {
                        // Where it does not matter who sends, anybody may stand for all.
                        let senders = Space::units_of(if space.lasts == 1 { 1 } else { last });
                        let per_unit: Vec<Vec<f64>> =
                            (0..rates.units.len()).map(|unit| rates.rates(unit, &senders, start, end)).collect();
                        let is_quick = |size: &usize| is_quicker(&per_unit, &sizes[*size], below);
                        (1..sizes.len()).filter(is_quick).collect()
                    });
                    let fits = |size: &&usize| {
                        let pairs = sizes[used].iter().zip(&sizes[**size]);
                        pairs.zip(&space.cores).all(|((used, own), cores)| used + own <= *cores)
                    };
                    for &size in quick.iter().filter(fits) {
                        done[(used + size) * space.lasts + lasts[size]][end] = true;
                    }
                }
            }
        }
        Self { space, done }
    }

    /// Whether all blocks are done in some state, with the cores that are used.
    fn end(&self) -> Option<Vec<usize>> {
        let state = self.done.iter().position(|done| done.last() == Some(&true))?;
        Some(self.space.decode(state / self.space.lasts))
    }

    /// States in which something is done.
    fn states(&self) -> Vec<ReachedState> {
        let state = |(state, done): (usize, &Vec<bool>)| ReachedState {
            used: self.space.decode(state / self.space.lasts),
            last: Space::units_of(state % self.space.lasts),
            ends: (0..done.len()).filter(|&end| done[end]).collect(),
        };
        let all = self.done.iter().enumerate().skip(1).map(state);
        all.filter(|state| !state.ends.is_empty()).collect()
    }
}

/// Whether the period of a stage on so many cores of each unit, all of which take frames, is rounded to less than a given one. Halves are
/// rounded up, also those that sums of rates miss by their last digits.
fn is_quicker(per_unit: &[Vec<f64>], size: &[usize], below: Nanoseconds) -> bool {
    let own = || size.iter().zip(per_unit).filter(|(cores, _)| **cores > 0).map(|(&cores, rates)| rates[cores]);
    let rate: f64 = own().sum();
    below > Nanoseconds(1) && own().all(|rate| rate > 0.0) && 1.0 / rate < below.0 as f64 - 0.5 - HALVES
}
