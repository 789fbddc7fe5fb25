//! Of all ways to run stages, those that a search has a use for.

use millstream_cost::Nanoseconds;
use millstream_partition::BlockRange;

use crate::board::cores::Cores;
use crate::board::senders::Senders;
use crate::options::ways_by_cores::{SizedWay, WaysByCores};
use crate::problem::Problem;
use crate::times::stage_places::StagePlaces;
use crate::ways::stage_blocks::StageBlocks;
use crate::ways::timed_way::TimedWay;
use crate::ways::way::WayId;

/// For all senders and every range of blocks, the ways that are quicker than all that need fewer cores, by rising
/// times.
pub(crate) struct UsefulWays {
    pub(crate) by_cores: WaysByCores,
    /// By the places of stages.
    of_stages: Vec<Vec<TimedWay>>,
    places: StagePlaces,
}

impl UsefulWays {
    pub(crate) fn of(problem: &Problem) -> Self {
        let by_cores = WaysByCores::of(problem);
        let places = problem.stage_places();
        let useful = |stage: StageBlocks| {
            if stage.is_possible() { by_cores.useful(problem, stage.senders, stage.blocks) } else { Vec::new() }
        };
        Self { of_stages: places.all().map(useful).collect(), by_cores, places }
    }

    /// Those of one stage.
    pub(crate) fn on(&self, senders: Senders, blocks: BlockRange) -> &[TimedWay] {
        &self.of_stages[self.places.of(senders, blocks)]
    }
}

impl WaysByCores {
    /// The ways that run the blocks and are of use, by rising times.
    fn useful(&self, problem: &Problem, senders: Senders, blocks: BlockRange) -> Vec<TimedWay> {
        let able =
            |&SizedWay { id, cores }: &SizedWay| Some(TimedWay { id, cores, time: problem.time(id, senders, blocks)? });
        let able: Vec<TimedWay> = self.ways.iter().filter_map(able).collect();
        let occupied = problem.occupied_links(senders, blocks);
        let mut useful = if occupied.is_empty() {
            self.quicker_than_smaller(able)
        } else {
            // A team that can't have replicas beside it displaces none.
            let (alone, others) = able.into_iter().partition(|way| problem.is_alone(way.id, &occupied));
            [self.quicker_than_smaller(others), self.quicker_than_smaller(alone)].concat()
        };
        useful.sort_unstable_by_key(|way| (way.time, way.id));
        useful
    }

    /// The ways that are quicker than all that need fewer cores, and the first of those that need as many.
    fn quicker_than_smaller(&self, mut ways: Vec<TimedWay>) -> Vec<TimedWay> {
        let mut fastest: Vec<Option<(Nanoseconds, WayId)>> = vec![None; self.with_others.len()];
        for way in &ways {
            let fastest = &mut fastest[way.cores.index()];
            *fastest = Some(fastest.map_or((way.time, way.id), |known| known.min((way.time, way.id))));
        }
        // With so many cores or fewer.
        let mut reached: Vec<Option<Nanoseconds>> = Vec::with_capacity(fastest.len());
        for (cores, quickest) in fastest.iter_mut().enumerate() {
            let before = self.fewer.than(Cores::at(cores)).iter().filter_map(|fewer| reached[fewer.index()]).min();
            *quickest = quickest.filter(|(time, _)| before.is_none_or(|before| *time < before));
            reached.push(quickest.map(|(time, _)| time).or(before));
        }
        ways.retain(|way| fastest[way.cores.index()] == Some((way.time, way.id)));
        ways
    }
}
