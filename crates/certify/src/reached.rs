//! Where pipelines get by stages that pass frames often enough.

use crate::certificate::ReachedState;
use crate::space::Space;
use crate::stage_rates::{Senders, StageSpan};

/// How far sums of rates may be from halves of nanoseconds that they stand for.
const HALVES: f64 = 1e-6;

/// What takes frames over, before it is known where it ends.
#[derive(Clone, Copy)]
pub(crate) struct Beginning<'a> {
    /// The units that the stage before is on.
    pub(crate) senders: &'a [usize],
    /// Blocks that are done before.
    pub(crate) start: usize,
    /// The numbers of cores that there is room for beside the stage before: with each of them, all that it contains,
    /// and these first.
    pub(crate) sizes: &'a [usize],
}

impl<'a> Beginning<'a> {
    /// The stage that ends after so many blocks.
    pub(crate) fn until(self, end: usize) -> StageSpan<'a> {
        StageSpan { senders: Senders::Units(self.senders), start: self.start, end, crossing_nanoseconds: 0 }
    }
}

/// Ways to run a stage.
pub(crate) trait Ways {
    /// For each of the sizes, the shortest period in nanoseconds, not yet rounded, of a stage on all of these cores
    /// that ends after so many blocks; infinite if there is none.
    fn periods(&mut self, beginning: Beginning<'_>, end: usize, periods: &mut [f64]);
}

/// Where pipelines get by stages with a period below a given one, and whether stages that have that period come to the
/// end.
pub(crate) struct Reached<'a> {
    space: &'a Space,
    blocks: usize,
    below: Ends,
    is_end_possible: bool,
}

impl<'a> Reached<'a> {
    pub(crate) fn by(space: &'a Space, blocks: usize, ways: &mut impl Ways, period: u64) -> Self {
        let (sizes, sets) = (space.sizes(), space.lasts());
        let lasts: Vec<usize> = (0..sizes).map(|size| space.last_of(size)).collect();
        let mut stages = Stages::new(space, blocks, period);
        let (mut below, mut possible) = (Ends::none(sizes * sets, blocks), Ends::none(sizes * sets, blocks));
        below.insert(0, 0);
        possible.insert(0, 0);

        // Stages only ever use more cores: when a state comes, all that leads there has been.
        let mut is_end_possible = false;
        for used in 0..sizes {
            for last in 0..sets {
                let state = used * sets + last;
                for start in 0..blocks {
                    let is_below = below.contains(state, start);
                    if !is_below && (is_end_possible || !possible.contains(state, start)) {
                        continue;
                    }
                    let stages = stages.from(last, start, ways);
                    for &(place, size) in stages.useful.iter().filter(|(_, size)| space.have_room_for(used, *size)) {
                        let next = (used + size) * sets + lasts[size];
                        possible.extend(next, &stages.possible, place);
                        if is_below {
                            below.extend(next, &stages.below, place);
                        }
                        is_end_possible |= possible.contains(next, blocks);
                    }
                }
            }
        }
        Self { space, blocks, below, is_end_possible }
    }

    /// Cores that are used where stages with a shorter period come to the end, if they do.
    pub(crate) fn end(&self) -> Option<&[usize]> {
        let states = self.space.sizes() * self.space.lasts();
        let state = (0..states).find(|&state| self.below.contains(state, self.blocks))?;
        Some(self.space.decode(state / self.space.lasts()))
    }

    /// Whether stages with the period itself, or a shorter one, come to the end.
    pub(crate) fn is_end_possible(&self) -> bool {
        self.is_end_possible
    }

    /// States in which something is done by stages with a shorter period.
    pub(crate) fn states(&self) -> Vec<ReachedState> {
        let state = |state: usize| ReachedState {
            used: self.space.decode(state / self.space.lasts()).to_vec(),
            last: Space::units_of(state % self.space.lasts()),
            ends: (0..=self.blocks).filter(|&end| self.below.contains(state, end)).collect(),
        };
        let states = self.space.sizes() * self.space.lasts();
        (1..states).map(state).filter(|state| !state.ends.is_empty()).collect()
    }
}

/// Sets of numbers of blocks.
pub(crate) struct Ends {
    words_each: usize,
    words: Vec<u64>,
}

impl Ends {
    pub(crate) fn none(sets: usize, blocks: usize) -> Self {
        let words_each = blocks / 64 + 1;
        Self { words_each, words: vec![0; sets * words_each] }
    }

    pub(crate) fn contains(&self, set: usize, end: usize) -> bool {
        self.words[set * self.words_each + end / 64] >> (end % 64) & 1 == 1
    }

    pub(crate) fn insert(&mut self, set: usize, end: usize) {
        self.words[set * self.words_each + end / 64] |= 1 << (end % 64);
    }

    fn of(&self, set: usize) -> &[u64] {
        &self.words[set * self.words_each..][..self.words_each]
    }

    /// Puts all that are in a set of others into an own one.
    pub(crate) fn extend(&mut self, set: usize, others: &Self, place: usize) {
        let words = &mut self.words[set * self.words_each..][..self.words_each];
        words.iter_mut().zip(others.of(place)).for_each(|(word, other)| *word |= other);
    }
}

/// Stages that pass frames often enough.
pub(crate) struct Stages<'a> {
    space: &'a Space,
    blocks: usize,
    period: u64,
    /// By the units of the stage before, what there is room for beside it.
    compatible: Vec<Option<Vec<usize>>>,
    /// By these units and the blocks that are done.
    timed: Vec<Option<StagesFrom>>,
    periods: Vec<f64>,
}

/// Stages that begin at the same place.
pub(crate) struct StagesFrom {
    /// Places and numbers of cores of those that are possible.
    pub(crate) useful: Vec<(usize, usize)>,
    /// Where they end, by the place of their cores: with a shorter period, and with the period itself or a shorter one.
    pub(crate) below: Ends,
    possible: Ends,
}

impl<'a> Stages<'a> {
    pub(crate) fn new(space: &'a Space, blocks: usize, period: u64) -> Self {
        let timed = (0..space.lasts() * blocks).map(|_| None).collect();
        Self { space, blocks, period, compatible: vec![None; space.lasts()], timed, periods: vec![0.0; space.sizes()] }
    }

    /// All that take their frames over from a stage on a set of units; each is timed once.
    pub(crate) fn from(&mut self, last: usize, start: usize, ways: &mut impl Ways) -> &StagesFrom {
        let (space, blocks, period) = (self.space, self.blocks, self.period);
        let sizes = self.compatible[last].get_or_insert_with(|| space.sizes_beside(last));
        let periods = &mut self.periods;
        self.timed[last * blocks + start].get_or_insert_with(|| {
            // Where it does not matter who sends, anybody may stand for all.
            let senders = Space::units_of(if space.lasts() == 1 { 1 } else { last });
            let beginning = Beginning { senders: &senders, start, sizes };
            let (mut below, mut possible) = (Ends::none(sizes.len(), blocks), Ends::none(sizes.len(), blocks));
            for end in start + 1..=blocks {
                ways.periods(beginning, end, periods);
                for (place, &size) in sizes.iter().enumerate() {
                    if is_rounded_below(periods[size], period.saturating_add(1)) {
                        possible.insert(place, end);
                    }
                    if is_rounded_below(periods[size], period) {
                        below.insert(place, end);
                    }
                }
            }
            let is_useful = |(place, _): &(usize, usize)| possible.of(*place).iter().any(|word| *word > 0);
            let useful = sizes.iter().copied().enumerate().filter(is_useful).collect();
            StagesFrom { useful, below, possible }
        })
    }
}

/// Whether a period is rounded to less than a given one. Halves are rounded up, also those that sums of rates miss by
/// their last digits.
fn is_rounded_below(period: f64, below: u64) -> bool {
    below > 1 && period < below as f64 - 0.5 - HALVES
}
