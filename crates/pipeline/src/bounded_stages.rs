//! The stages that keep to a bound on the period.

use millstream_partition::{BlockId, BlockRange};

use crate::Problem;
use crate::cores::Cores;
use crate::senders::Senders;
use crate::stage_options::StageOptions;
use crate::ways_by_cores::FewerCores;

/// A stage of a pipeline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BoundedStage {
    /// What it is to the stage after it.
    pub(crate) next: Senders,
    pub(crate) cores: Cores,
    pub(crate) latency: u64,
    pub(crate) period: u64,
    /// Which of the options it is.
    pub(crate) option: usize,
}

/// For all senders and every range of blocks, the stages whose periods are within a bound and that none on fewer cores beats.
///
/// Where the bound has been lowered, stages of before stay until somebody asks for others in their place: these take no less.
pub(crate) struct BoundedStages<'a> {
    problem: &'a Problem,
    options: &'a StageOptions,
    /// By numbers of cores: those with one core less somewhere, and what a stage is to the next one.
    fewer: &'a FewerCores,
    next: Vec<Senders>,
    bound: u64,
    /// By starts, then senders, then ends.
    rows: Vec<Row>,
    /// Where the rows of each start and senders begin.
    begins: Vec<usize>,
    /// Latency and period of the row at hand, on so many cores or fewer.
    reached: Vec<(u64, u64)>,
}

/// The stages of one range of blocks.
pub(crate) struct Row {
    pub(crate) blocks: BlockRange,
    pub(crate) senders: Senders,
    /// By rising numbers of cores.
    pub(crate) stages: Vec<BoundedStage>,
    /// The least latency of them, and the longest period.
    pub(crate) least: u64,
    longest: u64,
}

const UNREACHED: (u64, u64) = (u64::MAX, u64::MAX);

impl<'a> BoundedStages<'a> {
    /// Without a bound.
    pub(crate) fn new(problem: &'a Problem, options: &'a StageOptions, fewer: &'a FewerCores) -> Self {
        let (mut rows, mut begins) = (Vec::new(), Vec::new());
        for start in (0..problem.blocks()).map(BlockId::new) {
            for senders in problem.all_senders() {
                begins.push(rows.len());
                // Before the first stage there is nobody.
                if start.index() == 0 && senders != Senders::NETWORK {
                    continue;
                }
                let row = |end| Row {
                    blocks: BlockRange::new(start, BlockId::new(end)),
                    senders,
                    stages: Vec::new(),
                    least: 0,
                    longest: u64::MAX,
                };
                rows.extend((start.index() + 1..=problem.blocks()).map(row));
            }
        }
        begins.push(rows.len());
        let next = problem.counts.all().map(|cores| problem.senders_on(cores)).collect();
        let bound = u64::MAX - 1;
        let mut stages = Self { problem, options, fewer, next, bound, rows, begins, reached: Vec::new() };
        stages.show_all();
        stages
    }

    /// The bound on the period.
    pub(crate) fn bound(&self) -> u64 {
        self.bound
    }

    /// Lowers the bound on the period.
    pub(crate) fn tighten(&mut self, bound: u64) {
        self.bound = bound;
    }

    /// The places of the rows that begin after so many blocks and take their frames over from these senders.
    pub(crate) fn rows_from(&self, start: usize, senders: Senders) -> std::ops::Range<usize> {
        let place = start * self.problem.all_senders().count() + senders.index();
        self.begins[place]..self.begins[place + 1]
    }

    /// A row as it was left: its stages may break the bound, others in their place take no less.
    pub(crate) fn row(&self, place: usize) -> &Row {
        &self.rows[place]
    }

    /// Whether a row has stages of a kind that break the bound.
    pub(crate) fn has_broken(&self, place: usize, of_kind: impl Fn(&BoundedStage) -> bool) -> bool {
        let row = &self.rows[place];
        row.longest > self.bound && row.stages.iter().any(|own| own.period > self.bound && of_kind(own))
    }

    /// Puts other stages in the place of all that break the bound.
    pub(crate) fn show_all(&mut self) {
        (0..self.rows.len()).for_each(|place| self.show(place));
    }

    /// The same of one row.
    pub(crate) fn show(&mut self, place: usize) {
        let Row { blocks, senders, stages, least, longest } = &mut self.rows[place];
        if *longest <= self.bound {
            return;
        }
        stages.clear();
        (*least, *longest) = (u64::MAX, 0);
        self.reached.clear();
        self.reached.push(UNREACHED);
        let options = self.options.of_stage(*senders, *blocks);
        for cores in self.problem.counts.all().skip(1) {
            let fewer = self.fewer.than(cores.index()).iter().map(|fewer| self.reached[fewer.index()]).min();
            let fewer = fewer.unwrap_or(UNREACHED);
            let own = options.first_within(cores, self.bound).filter(|(_, own)| (own.latency.0, own.period.0) < fewer);
            let Some((option, own)) = own else {
                self.reached.push(fewer);
                continue;
            };
            let (latency, period) = (own.latency.0, own.period.0);
            self.reached.push((latency, period));
            (*least, *longest) = ((*least).min(latency), (*longest).max(period));
            stages.push(BoundedStage { next: self.next[cores.index()], cores, latency, period, option });
        }
    }
}
