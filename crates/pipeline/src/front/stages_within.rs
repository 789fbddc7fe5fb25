//! The stages that keep to a bound on the period.

use millstream_cost::Nanoseconds;
use millstream_partition::{BlockId, BlockRange};

use crate::board::cores::Cores;
use crate::board::senders::Senders;
use crate::front::latency_period::LatencyPeriod;
use crate::options::stage_options::StageOptions;
use crate::options::ways_by_cores::FewerCores;
use crate::problem::Problem;
use crate::ways::prefixes::PrefixId;
use crate::ways::stage_option::StageOption;

/// A stage of a pipeline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StageWithin {
    /// The senders to the stage after it.
    pub(crate) next: Senders,
    pub(crate) cores: Cores,
    pub(crate) value: LatencyPeriod,
    /// Which of the options it is.
    pub(crate) option: usize,
}

/// For all senders and every range of blocks, the stages whose periods are within a bound and that none on fewer cores
/// beats.
///
/// Lowering the bound changes no stage: those that break it stay until somebody asks for others in their place, which
/// take no less.
pub(crate) struct StagesWithin<'a> {
    problem: &'a Problem,
    options: &'a StageOptions,
    /// By numbers of cores: those with one core less somewhere.
    fewer: &'a FewerCores,
    /// By numbers of cores: the senders to the stage after one on them.
    next: Vec<Senders>,
    /// On the period.
    bound: Nanoseconds,
    /// By rows, then by numbers of cores: the option with the lowest latency that kept to the bound when somebody last
    /// asked.
    first_within: Vec<FirstWithin>,
    /// By the prefixes that the stages continue, then by ends.
    rows: Vec<Row>,
    /// By prefixes: where their rows begin.
    begins: Vec<usize>,
    /// Of the row at hand, by numbers of cores: the least on so many or fewer.
    reached: Vec<LatencyPeriod>,
}

/// The first option of a stage on so many cores that keeps to a bound, and what it gives; [`LatencyPeriod::UNREACHED`]
/// if none does.
#[derive(Debug, Clone, Copy)]
struct FirstWithin {
    value: LatencyPeriod,
    option: usize,
}

/// The stages of one range of blocks.
pub(crate) struct Row {
    pub(crate) blocks: BlockRange,
    pub(crate) senders: Senders,
    /// By rising numbers of cores.
    pub(crate) stages: Vec<StageWithin>,
    /// The least latency of them.
    pub(crate) least_latency: Nanoseconds,
    /// The longest period of them.
    longest_period: Nanoseconds,
}

impl FirstWithin {
    fn of(first: Option<(usize, &StageOption)>) -> Self {
        let found = |(option, &StageOption { latency, period, .. })| {
            let value = LatencyPeriod { latency, period };
            Self { value, option }
        };
        first.map_or(Self { value: LatencyPeriod::UNREACHED, option: 0 }, found)
    }
}

impl<'a> StagesWithin<'a> {
    /// Without a bound.
    pub(crate) fn new(problem: &'a Problem, options: &'a StageOptions, fewer: &'a FewerCores) -> Self {
        let (mut rows, mut begins) = (Vec::new(), Vec::new());
        for start in (0..problem.blocks()).map(BlockId::new) {
            for senders in problem.all_senders() {
                begins.push(rows.len());
                if !senders.may_send_to(start) {
                    continue;
                }
                let row = |end| Row {
                    blocks: BlockRange::new(start, BlockId::new(end)),
                    senders,
                    stages: Vec::new(),
                    least_latency: Nanoseconds::ZERO,
                    longest_period: Nanoseconds(u64::MAX),
                };
                rows.extend((start.index() + 1..=problem.blocks()).map(row));
            }
        }
        begins.push(rows.len());
        let next = problem.counts().all().map(|cores| problem.senders_on(cores)).collect();
        let bound = Nanoseconds(u64::MAX - 1);
        let first_of_all = |row: &Row| {
            let options = options.of_stage(row.senders, row.blocks);
            problem.counts().all().map(move |cores| FirstWithin::of(options.first_within(cores, None, bound)))
        };
        let first_within = rows.iter().flat_map(first_of_all).collect();
        let mut stages = Self { problem, options, fewer, next, bound, first_within, rows, begins, reached: Vec::new() };
        stages.replace_all_broken();
        stages
    }

    /// The bound on the period.
    pub(crate) fn bound(&self) -> Nanoseconds {
        self.bound
    }

    /// Lowers the bound on the period.
    pub(crate) fn tighten(&mut self, bound: Nanoseconds) {
        self.bound = bound;
    }

    /// By numbers of cores: those with one core less somewhere.
    pub(crate) fn fewer(&self) -> &'a FewerCores {
        self.fewer
    }

    /// The indices of the rows whose stages continue a prefix.
    pub(crate) fn rows_after(&self, prefix: PrefixId) -> std::ops::Range<usize> {
        self.begins[prefix.index()]..self.begins[prefix.index() + 1]
    }

    /// A row as it was left: its stages may break the bound, others in their place take no less.
    pub(crate) fn row(&self, row_index: usize) -> &Row {
        &self.rows[row_index]
    }

    /// Whether a row has stages of a kind that break the bound.
    pub(crate) fn has_broken(&self, row_index: usize, of_kind: impl Fn(&StageWithin) -> bool) -> bool {
        let row = &self.rows[row_index];
        row.longest_period > self.bound
            && row.stages.iter().any(|stage| stage.value.period > self.bound && of_kind(stage))
    }

    /// Puts other stages in the place of all that break the bound.
    pub(crate) fn replace_all_broken(&mut self) {
        (0..self.rows.len()).for_each(|row_index| self.replace_broken(row_index));
    }

    /// Puts other stages in the place of those of one row, if any of them breaks the bound.
    pub(crate) fn replace_broken(&mut self, row_index: usize) {
        let Row { blocks, senders, stages, least_latency, longest_period } = &mut self.rows[row_index];
        if *longest_period <= self.bound {
            return;
        }
        stages.clear();
        (*least_latency, *longest_period) = (Nanoseconds(u64::MAX), Nanoseconds::ZERO);
        self.reached.clear();
        self.reached.push(LatencyPeriod::UNREACHED);
        let options = self.options.of_stage(*senders, *blocks);
        let sizes = self.problem.counts().len();
        let first_within = &mut self.first_within[row_index * sizes..][..sizes];
        for (cores, first) in self.problem.counts().all().zip(first_within).skip(1) {
            let fewer = self.fewer.than(cores).iter().map(|fewer| self.reached[fewer.index()]).min();
            let fewer = fewer.unwrap_or(LatencyPeriod::UNREACHED);
            if first.value.period > self.bound && first.value != LatencyPeriod::UNREACHED {
                *first = FirstWithin::of(options.first_within(cores, Some(first.option), self.bound));
            }
            let FirstWithin { value, option } = *first;
            if value >= fewer {
                self.reached.push(fewer);
                continue;
            }
            self.reached.push(value);
            *least_latency = (*least_latency).min(value.latency);
            *longest_period = (*longest_period).max(value.period);
            stages.push(StageWithin { next: self.next[cores.index()], cores, value, option });
        }
    }
}
