//! The least latency of what is left of a pipeline.

use crate::Problem;
use crate::bounded_stages::BoundedStages;
use crate::cores::Cores;
use crate::senders::Senders;

/// For each number of blocks done, senders and number of cores, the least latency that the blocks from there on take on so many cores or fewer
/// under some bound on the period. Under a lower bound they take no less.
pub(crate) struct LatencyRemainders {
    /// In nanoseconds; infinite where there is no way.
    least: Vec<f64>,
    kinds: usize,
    sizes: usize,
    /// Sums that finding them takes.
    steps: u64,
    /// Per number of cores, those of other clusters than the first that leave room for it, and how many of the first do.
    rooms: Vec<(Vec<usize>, usize)>,
}

impl LatencyRemainders {
    pub(crate) fn new(problem: &Problem) -> Self {
        let (kinds, sizes) = (problem.all_senders().count(), problem.counts.len());
        let first = problem.clusters.first().map_or(1, |first| first.count + 1);
        let room = |cores: Cores| {
            let all = problem.counts.with_room_for(cores);
            let begins: Vec<usize> = all.iter().map(|own| own.index()).filter(|own| own % first == 0).collect();
            let length = all.len() / begins.len().max(1);
            (begins, length)
        };
        let rooms = problem.counts.all().map(room).collect();
        Self { least: vec![0.0; (problem.blocks() + 1) * kinds * sizes], kinds, sizes, steps: 0, rooms }
    }

    /// The least latency from here on.
    #[inline]
    pub(crate) fn at(&self, done: usize, senders: Senders, cores: usize) -> f64 {
        self.least[(done * self.kinds + senders.index()) * self.sizes + cores]
    }

    /// Sums that finding them took.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// Finds them under the present bound, from the last block on.
    pub(crate) fn find(&mut self, stages: &BoundedStages<'_>, blocks: usize) {
        self.steps = 0;
        for start in (0..blocks).rev() {
            let (here, after) = self.least.split_at_mut((start + 1) * self.kinds * self.sizes);
            for (senders, own) in
                Senders::all(self.kinds).zip(here[start * self.kinds * self.sizes..].chunks_mut(self.sizes))
            {
                own.fill(f64::INFINITY);
                for row in stages.rows_from(start, senders).map(|place| stages.row(place)) {
                    let later = row.blocks.end().index() - start - 1;
                    for stage in &row.stages {
                        let from = &after[(later * self.kinds + stage.next.index()) * self.sizes..][..self.sizes];
                        let (begins, length) = &self.rooms[stage.cores.index()];
                        let latency = stage.latency as f64;
                        for &begin in begins {
                            let own = &mut own[begin + stage.cores.index()..][..*length];
                            own.iter_mut().zip(&from[begin..]).for_each(|(own, left)| *own = own.min(left + latency));
                        }
                        self.steps += (begins.len() * length) as u64;
                    }
                }
            }
        }
    }
}
