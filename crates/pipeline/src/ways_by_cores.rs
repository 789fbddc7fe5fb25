use crate::Problem;
use crate::cores::{CoreCounts, Cores};
use crate::way::WayId;

/// The ways to run stages by the cores that they take: what replicas are put together from.
pub(crate) struct WaysByCores {
    /// The ways that the board has the cores for, and their cores.
    pub(crate) ways: Vec<(WayId, Cores)>,
    /// For each number of cores that a way may have, what it comes to with all that leave room for it, ascending.
    pub(crate) with_others: Vec<Vec<Cores>>,
    /// For each number of cores, those with one core less somewhere.
    pub(crate) fewer: FewerCores,
}

/// For each number of cores, those with one core less somewhere: one after the other, as they are asked for very often.
pub(crate) struct FewerCores {
    begins: Vec<usize>,
    all: Vec<Cores>,
}

impl FewerCores {
    fn of(counts: &CoreCounts) -> Self {
        let (mut begins, mut all) = (vec![0], Vec::new());
        for cores in counts.all() {
            all.extend(counts.one_fewer(cores));
            begins.push(all.len());
        }
        Self { begins, all }
    }

    /// Those with one core less than the number at this place.
    #[inline]
    pub(crate) fn than(&self, cores: usize) -> &[Cores] {
        &self.all[self.begins[cores]..self.begins[cores + 1]]
    }
}

impl WaysByCores {
    pub(crate) fn of(problem: &Problem) -> Self {
        let counts = &problem.counts;
        let singles = (0..problem.clusters()).flat_map(|cluster| problem.classes_of(cluster));
        let ways: Vec<(WayId, Cores)> =
            singles.chain(problem.team_ways()).map(|way| (way, problem.cores(way))).collect();
        let mut with_others = vec![Vec::new(); counts.len()];
        for &(_, cores) in &ways {
            let own: &mut Vec<Cores> = &mut with_others[cores.index()];
            if own.is_empty() {
                own.extend(counts.with_room_for(cores).into_iter().map(|other| other + cores));
            }
        }
        Self { ways, with_others, fewer: FewerCores::of(counts) }
    }
}
