//! How many cores may be left after the first blocks of a pipeline.

use millstream_partition::BlockId;

use crate::board::core_sets::CoreSet;
use crate::board::cores::Cores;
use crate::front::stages_within::StagesWithin;
use crate::options::ways_by_cores::FewerCores;
use crate::problem::Problem;
use crate::ways::prefixes::{PrefixId, Prefixes};

/// For each number of blocks done, the numbers of cores that pipelines of these blocks leave under some bound on the
/// period, and all smaller ones.
///
/// Under a lower bound, no pipeline leaves more than some pipeline does under the higher one: of each of its stages, that
/// one has the quickest on as many cores or fewer. It hands frames over from no other clusters than the former does, and
/// whoever takes them over from fewer is no slower.
///
/// Numbers of cores stand in runs that differ in the cores of the first cluster only. Of each run, those that are left
/// are the first ones.
pub(crate) struct NeededCores {
    prefixes: Prefixes,
    runs: Runs,
    /// By prefixes: the numbers of cores that pipelines of its blocks have.
    used: Vec<CoreSet>,
    /// By blocks done, then by runs: how many of a run are left.
    left: Vec<usize>,
}

/// The runs of all numbers of cores.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Runs {
    /// Of each run.
    pub(crate) length: usize,
    pub(crate) count: usize,
}

impl Runs {
    pub(crate) fn of(problem: &Problem) -> Self {
        let length = problem.processors.clusters.first().map_or(1, |first| first.count + 1);
        Self { length, count: problem.counts().len() / length }
    }

    /// The run that has a number of cores, and its place there.
    #[inline]
    pub(crate) fn place(self, cores: Cores) -> (usize, usize) {
        (cores.index() / self.length, cores.index() % self.length)
    }
}

impl NeededCores {
    pub(crate) fn new(problem: &Problem) -> Self {
        let (prefixes, counts, runs) = (problem.prefixes(), problem.counts(), Runs::of(problem));
        Self {
            prefixes,
            runs,
            used: vec![CoreSet::none_of(counts); prefixes.len()],
            left: vec![0; (problem.blocks() + 1) * runs.count],
        }
    }

    /// How many of each run may be left once these blocks are done.
    #[inline]
    pub(crate) fn left(&self, done: BlockId) -> &[usize] {
        &self.left[done.index() * self.runs.count..][..self.runs.count]
    }

    /// Finds them under the present bound, from the first block on. Returns how many steps that took: sums of sets, each
    /// of one more or less full word of a set.
    pub(crate) fn find(&mut self, stages: &StagesWithin<'_>, blocks: usize, compatible: &[CoreSet]) -> u64 {
        let mut steps = 0;
        self.used.iter_mut().for_each(CoreSet::clear);
        self.used[PrefixId::NONE.index()].insert(Cores::NONE);
        for start in (0..blocks).map(BlockId::new) {
            for (_, prefix) in self.prefixes.after(start) {
                let (before, after) = self.used.split_at_mut(prefix.index() + 1);
                let before = &before[prefix.index()];
                if before.is_empty() {
                    continue;
                }
                for row in stages.rows_after(prefix).map(|row_index| stages.row(row_index)) {
                    for stage in &row.stages {
                        let longer = self.prefixes.id(row.blocks.end(), stage.next);
                        let used = &mut after[longer.index() - prefix.index() - 1];
                        used.add_sums(before, &compatible[stage.cores.index()], stage.cores);
                        steps += before.words();
                    }
                }
            }
        }
        (0..=blocks).map(BlockId::new).for_each(|done| self.find_left(done, stages.fewer()));
        steps
    }

    /// What those leave that use as many cores as some pipeline of these blocks, or more. Which senders they end with
    /// does not count: under a lower bound, a stage may have more of them.
    fn find_left(&mut self, done: BlockId, fewer: &FewerCores) {
        let Self { prefixes, runs, used, left } = self;
        let left = &mut left[done.index() * runs.count..][..runs.count];
        left.fill(0);
        let mut are_used = vec![false; runs.count * runs.length];
        for cores in (0..are_used.len()).map(Cores::at) {
            let are = fewer.than(cores).iter().any(|fewer| are_used[fewer.index()])
                || prefixes.after(done).any(|(_, prefix)| used[prefix.index()].contains(cores));
            are_used[cores.index()] = are;
            if are {
                let (run, place) = runs.place(cores);
                let counterpart = &mut left[runs.count - 1 - run];
                *counterpart = (*counterpart).max(runs.length - place);
            }
        }
    }
}
