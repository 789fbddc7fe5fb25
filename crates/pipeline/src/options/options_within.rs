//! Of each stage's options, the one with the lowest latency under a bound on the period.

use millstream_cost::Nanoseconds;
use millstream_partition::BlockRange;

use crate::board::cores::Cores;
use crate::board::senders::Senders;
use crate::options::stage_options::StageOptions;

/// For each senders, range of blocks and number of cores: the option with the lowest latency whose period is within a bound.
pub(crate) struct OptionsWithin<'a> {
    options: &'a StageOptions,
    /// Its index.
    current: Vec<usize>,
    /// Its latency in nanoseconds; `u64::MAX` if there is none. Plain numbers, of which the compiler compares several
    /// at once.
    latency: Vec<u64>,
    /// Its period in nanoseconds; 0 if there is none.
    period: Vec<u64>,
}

/// One of them.
pub(crate) struct OptionWithin {
    /// Its index among all options.
    pub(crate) option: usize,
    pub(crate) latency: Nanoseconds,
    pub(crate) period: Nanoseconds,
}

impl<'a> OptionsWithin<'a> {
    /// Those of all options, without a bound.
    pub(crate) fn of(options: &'a StageOptions) -> Self {
        let count = options.begins.len() - 1;
        let mut within = Self {
            options,
            current: options.begins[..count].to_vec(),
            latency: vec![u64::MAX; count],
            period: vec![0; count],
        };
        (0..count).for_each(|index| within.show(index));
        within
    }

    /// How many are looked at together: the compiler compares them at once.
    const TOGETHER: usize = 16;

    /// Lowers the bound.
    pub(crate) fn tighten(&mut self, bound: Nanoseconds) {
        let bound = bound.0;
        for first in (0..self.period.len()).step_by(Self::TOGETHER) {
            let end = (first + Self::TOGETHER).min(self.period.len());
            if self.period[first..end].iter().fold(false, |any, &period| any | (period > bound)) {
                for index in first..end {
                    while self.period[index] > bound {
                        self.current[index] += 1;
                        self.show(index);
                    }
                }
            }
        }
    }

    /// That of a stage on so many cores; `None` if there is none that fewer cores do not have as well.
    #[inline]
    pub(crate) fn on(&self, senders: Senders, blocks: BlockRange, cores: Cores) -> Option<OptionWithin> {
        let index = self.options.row(senders, blocks) + cores.index();
        let [latency, period] = [self.latency[index], self.period[index]].map(Nanoseconds);
        (latency != Nanoseconds(u64::MAX)).then_some(OptionWithin { option: self.current[index], latency, period })
    }

    fn show(&mut self, index: usize) {
        let StageOptions { options, begins, .. } = self.options;
        let current = self.current[index];
        let shown = options.get(current).filter(|_| current < begins[index + 1]);
        (self.latency[index], self.period[index]) =
            shown.map_or((u64::MAX, 0), |option| (option.latency.0, option.period.0));
    }
}
