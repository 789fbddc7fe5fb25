//! The shortest periods of all possible stages.

use millstream_cost::Nanoseconds;
use millstream_partition::BlockRange;
use millstream_schedule::period_of;

use crate::board::cores::Cores;
use crate::board::senders::Senders;
use crate::options::useful_ways::UsefulWays;
use crate::options::ways_by_cores::FewerCores;
use crate::period::single_rates::SingleRates;
use crate::problem::Problem;
use crate::times::stage_places::StagePlaces;

/// For all senders, every range of blocks and every number of cores, the shortest period of replicas on so many cores
/// or fewer.
pub(crate) struct StagePeriods {
    periods: Vec<Nanoseconds>,
    places: StagePlaces,
    sizes: usize,
}

impl StagePeriods {
    /// The period of stages that can't run.
    pub(crate) const NEVER: Nanoseconds = Nanoseconds(u64::MAX);

    pub(crate) fn of(problem: &Problem, ways: &UsefulWays) -> Self {
        let (places, sizes) = (problem.stage_places(), problem.counts().len());
        let mut rates = SingleRates::new(problem);
        let mut periods = Vec::with_capacity(places.len() * sizes);
        for stage in places.all() {
            if !stage.is_possible() {
                periods.extend(std::iter::repeat_n(Self::NEVER, sizes));
                continue;
            }
            rates.compute(problem, stage.senders, stage.blocks);
            rates.add_teams(problem, ways, stage);
            let period = |&rate: &f64| if rate > 0.0 { period_of(rate) } else { Self::NEVER };
            periods.extend(rates.of_cores().iter().map(period));
        }
        Self { periods, places, sizes }
    }

    /// Those of one stage, by the numbers of cores.
    pub(crate) fn on(&self, senders: Senders, blocks: BlockRange) -> &[Nanoseconds] {
        let row = self.places.of(senders, blocks) * self.sizes;
        &self.periods[row..row + self.sizes]
    }

    /// The shortest period that is longer than a given one; `None` if there is none.
    pub(crate) fn next_after(&self, period: Nanoseconds) -> Option<Nanoseconds> {
        self.periods.iter().copied().filter(|&other| other > period && other != Self::NEVER).min()
    }
}

/// The numbers of cores, but for none at all, that keep to a period while no fewer cores do.
pub(crate) fn fewest_within<'a>(
    periods: &'a [Nanoseconds],
    period: Nanoseconds,
    fewer: &'a FewerCores,
) -> impl Iterator<Item = Cores> + 'a {
    let is_within = move |cores: Cores| periods[cores.index()] <= period;
    let is_one = move |cores: &Cores| is_within(*cores) && !fewer.than(*cores).iter().any(|fewer| is_within(*fewer));
    (1..periods.len()).map(Cores::at).filter(is_one)
}
