//! The shortest period of pipelines on single processors.

use std::collections::HashMap;

use millstream_board::{Board, host_of};
use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::Graph;
use millstream_partition::Chain;

use crate::stage_rates::StageRates;
use crate::{CertifyError, ReachedState, SingleProcessorProof};

/// More clusters and accelerators have too many sets of them.
const MOST_UNITS: usize = 16;
/// More states times ranges of blocks than this are not worth writing down, nor looking through.
const MOST_STEPS: usize = 10_000_000;
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
    let below = |period: Nanoseconds| {
        Reached::new(&rates, |senders, start, end| quick_sizes(&space, &rates, (senders, start, end), period))
    };
    let reached = below(Nanoseconds(proof.period_nanoseconds));
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
    match below(not_above).end() {
        Some(_) => Ok(()),
        None => wrong("no such pipeline has this period, all take longer".to_owned()),
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
    let reached = Reached::new(&rates, |senders, start, end| quick_sizes(&space, &rates, (senders, start, end), ever));
    reached.end().is_none()
}

/// Whether there are more states and ranges of blocks than can be looked through.
pub(crate) fn has_too_many_states(rates: &StageRates<'_>) -> bool {
    let units = rates.units.len();
    let lasts = if rates.senders_matter() { 1_usize << units.min(MOST_UNITS) } else { 1 };
    let sizes = rates.units.iter().fold(1_usize, |all, unit| all.saturating_mul(unit.cores + 1));
    let steps = sizes.saturating_mul(lasts).saturating_mul(rates.blocks * rates.blocks);
    units > MOST_UNITS || steps > MOST_STEPS
}

/// Where pipelines get by stages with a period below a given one.
pub(crate) struct Reached {
    space: Space,
    /// Per state, whether so many blocks are done.
    done: Vec<Vec<bool>>,
}

/// States: cores used of each unit, the first one counting fastest, and the units of the last stage as a mask, where that matters.
pub(crate) struct Space {
    cores: Vec<usize>,
    strides: Vec<usize>,
    /// The cores of each number of them.
    decoded: Vec<Vec<usize>>,
    /// Sets of units of a last stage; only the empty one where it does not matter who sends.
    lasts: usize,
}

impl Space {
    pub(crate) fn of(rates: &StageRates<'_>) -> Self {
        let cores: Vec<usize> = rates.units.iter().map(|unit| unit.cores).collect();
        let strides: Vec<usize> =
            (0..cores.len()).map(|unit| cores[..unit].iter().map(|cores| cores + 1).product()).collect();
        let lasts = if rates.senders_matter() { 1 << cores.len().min(MOST_UNITS) } else { 1 };
        let sizes: usize = cores.iter().map(|cores| cores + 1).product();
        let decode = |used: usize| {
            let digits = cores.iter().zip(&strides);
            digits.map(|(cores, stride)| used / stride % (cores + 1)).collect::<Vec<usize>>()
        };
        let decoded = (0..sizes).map(decode).collect();
        Self { lasts, cores, strides, decoded }
    }

    /// How many ways there are to use cores.
    pub(crate) fn sizes(&self) -> usize {
        self.decoded.len()
    }

    /// The number of these cores of each unit, which it has.
    pub(crate) fn encode(&self, cores: &[usize]) -> usize {
        cores.iter().zip(&self.strides).map(|(cores, stride)| cores * stride).sum()
    }

    /// Whether some cores are among others.
    pub(crate) fn contains(&self, all: usize, some: usize) -> bool {
        self.decoded[all].iter().zip(&self.decoded[some]).all(|(all, some)| some <= all)
    }

    /// The same cores without one of some unit.
    pub(crate) fn one_fewer(&self, size: usize) -> impl Iterator<Item = usize> {
        let used = self.decoded[size].iter().zip(&self.strides).filter(|(cores, _)| **cores > 0);
        used.map(move |(_, stride)| size - stride)
    }

    fn decode(&self, used: usize) -> Vec<usize> {
        self.decoded[used].clone()
    }

    fn units_of(mask: usize) -> Vec<usize> {
        (0..usize::BITS as usize).filter(|unit| mask >> unit & 1 == 1).collect()
    }

    /// What a stage on so many cores is to the next one.
    fn last_of(&self, size: usize) -> usize {
        let used = &self.decoded[size];
        let mask = (0..used.len()).filter(|&unit| used[unit] > 0).fold(0, |mask, unit| mask | 1 << unit);
        if self.lasts == 1 { 0 } else { mask }
    }
}

impl Reached {
    /// `quick` says on which numbers of cores a stage that takes its frames over from these units, and begins and ends after so many blocks,
    /// has a shorter period.
    pub(crate) fn new(rates: &StageRates<'_>, quick: impl Fn(&[usize], usize, usize) -> Vec<usize>) -> Self {
        let space = Space::of(rates);
        let sizes = space.sizes();
        let lasts: Vec<usize> = (0..sizes).map(|size| space.last_of(size)).collect();
        let mut done = vec![vec![false; rates.blocks + 1]; sizes * space.lasts];
        done[0][0] = true;
        // Stages only ever use more cores: when a state comes, all that leads there has been. Of one set of senders, each range is timed once.
        let mut known: HashMap<(usize, usize, usize), Vec<usize>> = HashMap::new();
        for used in 0..sizes {
            for last in 0..space.lasts {
                let state = used * space.lasts + last;
                let starts: Vec<usize> = (0..rates.blocks).filter(|&start| done[state][start]).collect();
                for (start, end) in
                    starts.iter().flat_map(|&start| (start + 1..=rates.blocks).map(move |end| (start, end)))
                {
                    let quick = known.entry((last, start, end)).or_insert_with(|| {
                        // Where it does not matter who sends, anybody may stand for all.
                        quick(&Space::units_of(if space.lasts == 1 { 1 } else { last }), start, end)
                    });
                    let fits = |size: &&usize| {
                        let pairs = space.decoded[used].iter().zip(&space.decoded[**size]);
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
    pub(crate) fn end(&self) -> Option<Vec<usize>> {
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

/// The numbers of cores of which replicas on single processors pass frames with a period that is rounded to less than a given one.
pub(crate) fn quick_sizes(
    space: &Space,
    rates: &StageRates<'_>,
    (senders, start, end): (&[usize], usize, usize),
    below: Nanoseconds,
) -> Vec<usize> {
    let per_unit: Vec<Vec<f64>> = (0..rates.units.len()).map(|unit| rates.rates(unit, senders, start, end)).collect();
    (1..space.sizes()).filter(|&size| is_quicker(&per_unit, &space.decoded[size], below)).collect()
}

/// Whether the period of a stage on so many cores of each unit, all of which take frames, is rounded to less than a given one.
fn is_quicker(per_unit: &[Vec<f64>], size: &[usize], below: Nanoseconds) -> bool {
    let own = || size.iter().zip(per_unit).filter(|(cores, _)| **cores > 0).map(|(&cores, rates)| rates[cores]);
    let rate: f64 = own().sum();
    own().all(|rate| rate > 0.0) && is_rounded_below(1.0 / rate, below)
}

/// Whether a period is rounded to less than a given one. Halves are rounded up, also those that sums of rates miss by their last digits.
pub(crate) fn is_rounded_below(period: f64, below: Nanoseconds) -> bool {
    below > Nanoseconds(1) && period < below.0 as f64 - 0.5 - HALVES
}
