//! The shortest period of pipelines on single processors.

use millstream_board::Board;
use millstream_cost::CostTable;

use crate::certificate::SingleProcessorProof;
use crate::error::CertifyError;
use crate::network::NetworkBlocks;
use crate::reached::{Beginning, Reached, Ways};
use crate::space::{Added, MOST_UNITS, Space};
use crate::stage_rates::{StageRates, StageSpan, UnitRates};

/// More states times ranges of blocks than this are not worth writing down, nor looking through.
const MOST_STEPS: usize = 10_000_000;
/// More numbers of cores are not compared with each other.
const MOST_SIZES: usize = 10_000;

/// Follows all pipelines of contiguous stages, each on one processor or on replicas of it, whose stages pass frames
/// more often than the period that is said to be the shortest, and compares how far they get.
///
/// A stage has some cores of some clusters, and of each the replicas that together pass the most frames.
///
/// # Errors
/// [`CertifyError::Reached`] if they get anywhere else, or to the end.
pub fn check_single_processors(
    proof: &SingleProcessorProof,
    network: NetworkBlocks<'_>,
    board: &Board,
    table: &CostTable,
) -> Result<(), CertifyError> {
    let wrong = |detail: String| Err(CertifyError::Reached { detail });
    let Some(rates) = StageRates::new(network, board, table) else {
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
    let reached = Reached::by(&space, rates.blocks, &mut SingleWays::new(&space, &rates), proof.period_nanoseconds);
    if let Some(used) = reached.end() {
        return wrong(format!("a pipeline on {used:?} cores of the clusters has a shorter period"));
    }
    let states = reached.states();
    if let Some((state, said)) = states.iter().zip(&proof.reached).find(|(state, said)| state != said) {
        return wrong(format!(
            "on {:?} cores they reach {:?}, not {:?} on {:?}",
            state.used, state.ends, said.ends, said.used
        ));
    }
    if states.len() != proof.reached.len() {
        return wrong(format!("there are {} states, not {}", states.len(), proof.reached.len()));
    }

    // Something on the board does reach it: nothing longer is the shortest.
    if reached.is_end_possible() {
        Ok(())
    } else {
        wrong("no such pipeline has this period, all take longer".to_owned())
    }
}

/// Whether all pipelines are too many to be written down.
pub(crate) fn is_beyond_proof(network: NetworkBlocks<'_>, board: &Board, table: &CostTable) -> bool {
    StageRates::new(network, board, table).is_some_and(|rates| has_too_many_states(&rates))
}

/// Whether no pipeline of stages on single processors runs a network.
pub(crate) fn need_teams(network: NetworkBlocks<'_>, board: &Board, table: &CostTable) -> bool {
    StageRates::new(network, board, table).is_some_and(|rates| {
        let space = Space::of(&rates);
        Reached::by(&space, rates.blocks, &mut SingleWays::new(&space, &rates), u64::MAX).end().is_none()
    })
}

/// Whether there are more states and ranges of blocks than can be looked through.
pub(crate) fn has_too_many_states(rates: &StageRates<'_>) -> bool {
    let sizes = rates.units.iter().fold(1_usize, |all, unit| all.saturating_mul(unit.cores + 1));
    let steps = states(rates).saturating_mul(rates.blocks * rates.blocks);
    rates.units.len() > MOST_UNITS || steps > MOST_STEPS || sizes > MOST_SIZES
}

/// Cores that may be used, with the units that a last stage may have been on.
pub(crate) fn states(rates: &StageRates<'_>) -> usize {
    // A last stage was on some of the units that are used.
    let ways = |cores: usize| if rates.senders_matter() { 1 + 2 * cores } else { 1 + cores };
    rates.units.iter().fold(1_usize, |all, unit| all.saturating_mul(ways(unit.cores)))
}

/// Stages on single processors, and on replicas of them.
pub(crate) struct SingleWays<'a> {
    space: &'a Space,
    rates: &'a StageRates<'a>,
    per_unit: Vec<UnitRates>,
    /// By the number of cores: frames per nanosecond of the best replicas on all units together, where each unit takes
    /// some frames.
    passing: Vec<f64>,
}

impl<'a> SingleWays<'a> {
    pub(crate) fn new(space: &'a Space, rates: &'a StageRates<'a>) -> Self {
        let per_unit = vec![UnitRates::default(); rates.units.len()];
        Self { space, rates, per_unit, passing: vec![0.0; space.sizes()] }
    }

    /// The periods of a stage on each of these numbers of cores.
    pub(crate) fn periods_of(&mut self, stage: StageSpan<'_>, sizes: &[usize], periods: &mut [f64]) {
        let most = sizes.last().map_or(&[][..], |&all| self.space.decode(all));
        for (unit, (unit_rates, &cores)) in
            self.per_unit.iter_mut().zip(most).enumerate().filter(|(_, (_, cores))| **cores > 0)
        {
            self.rates.work_out(unit_rates, (unit, cores), stage);
        }
        for &size in sizes {
            let Added { unit, cores, to } = self.space.last_added(size);
            let more = self.per_unit[unit].best[cores];
            self.passing[size] = if more > 0.0 { self.passing[to] + more } else { f64::NEG_INFINITY };
            periods[size] = if self.passing[size] > 0.0 { 1.0 / self.passing[size] } else { f64::INFINITY };
        }
    }
}

impl Ways for SingleWays<'_> {
    fn periods(&mut self, beginning: Beginning<'_>, end: usize, periods: &mut [f64]) {
        self.periods_of(beginning.until(end), beginning.sizes, periods);
    }
}
