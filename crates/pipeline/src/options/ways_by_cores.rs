//! Ways to run stages by the cores that they take.

use crate::board::cores::{CoreCounts, Cores};
use crate::problem::Problem;
use crate::ways::way::WayId;

/// The ways to run stages by the cores that they take: what replicas are put together from.
pub(crate) struct WaysByCores {
    /// The ways that the board has the cores for.
    pub(crate) ways: Vec<SizedWay>,
    /// For each number of cores that a way may have, what it comes to with all that leave room for it, ascending.
    pub(crate) with_others: Vec<Vec<Cores>>,
    /// For each number of cores, those with one core less somewhere.
    pub(crate) fewer: FewerCores,
}

/// A way to run stages, and the cores that it takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SizedWay {
    pub(crate) id: WayId,
    pub(crate) cores: Cores,
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

    /// Those with one core less than these.
    #[inline]
    pub(crate) fn than(&self, cores: Cores) -> &[Cores] {
        &self.all[self.begins[cores.index()]..self.begins[cores.index() + 1]]
    }
}

impl WaysByCores {
    pub(crate) fn of(problem: &Problem) -> Self {
        let counts = problem.counts();
        let singles = problem.clusters().flat_map(|cluster| problem.classes_of(cluster));
        let sized = |id: WayId| SizedWay { id, cores: problem.cores(id) };
        let ways: Vec<SizedWay> = singles.chain(problem.team_ways()).map(sized).collect();
        let mut with_others = vec![Vec::new(); counts.len()];
        for &SizedWay { cores, .. } in &ways {
            let sums: &mut Vec<Cores> = &mut with_others[cores.index()];
            if sums.is_empty() {
                sums.extend(counts.with_room_for(cores).into_iter().map(|other| other + cores));
            }
        }
        Self { ways, with_others, fewer: FewerCores::of(counts) }
    }
}
