//! Pipe-it's heuristic search (section VI).

use millstream_board::ProcessorClass;
use millstream_cost::Nanoseconds;
use millstream_partition::{BlockId, BlockRange};

use crate::board::cluster_id::ClusterId;
use crate::board::senders::Senders;
use crate::error::PipelineError;
use crate::plan::Plan;
use crate::problem::Problem;
use crate::search::Search;
use crate::ways::way::{StageWays, WayId};

/// Pipe-it's `merge_stage` (algorithm 3), with `work_flow` and `find_split` (algorithms 1 and 2) inside: one stage per
/// core, the fastest cluster first; layers flow from stage to stage until neighbours are balanced; neighbours of one
/// cluster are merged where that relieves the slower of the two (equation 12).
///
/// The printed loop stops at the first merger that does not help. The paper's own results (`s2-s2` beside `B4`) need it
/// to go on with the next pair, so this does, and begins again until no merger helps. Stages that are left without
/// layers are dropped.
#[derive(Debug, Clone, Copy, Default)]
pub struct PipeIt;

/// A point of the search: the processors of all stages, in order, with their layers (none for a stage that is left
/// out).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipeItStep {
    /// Whether it is the state after one pass over neighbouring stages, of which more follow, or the one in which
    /// nothing moves any more.
    pub is_settled: bool,
    /// The stages.
    pub stages: Vec<(ProcessorClass, BlockRange)>,
}

/// A pipeline in the making: the class of each stage, and where its layers start.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Flow {
    classes: Vec<WayId>,
    /// One more than stages; stage `i` has the layers `starts[i]..starts[i + 1]`.
    starts: Vec<BlockId>,
}

/// How long a stage takes. One that can't run is slower than all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Pace {
    Takes(Nanoseconds),
    CannotRun,
}

impl Flow {
    fn layers(&self, stage: usize) -> BlockRange {
        BlockRange::new(self.starts[stage], self.starts[stage + 1])
    }

    fn pace(&self, stage: usize, problem: &Problem) -> Pace {
        pace(problem, (self.classes[stage], self.senders(stage, problem)), self.layers(stage))
    }

    /// The senders to a stage: the last stage before it that has layers.
    fn senders(&self, stage: usize, problem: &Problem) -> Senders {
        let before = (0..stage).rev().find(|&before| !self.layers(before).is_empty());
        before.map_or(Senders::NETWORK, |before| problem.senders(&[self.classes[before]]))
    }
}

impl Search for PipeIt {
    fn name(&self) -> &'static str {
        "pipe-it"
    }

    fn search(&self, problem: &Problem) -> Result<Plan, PipelineError> {
        let classes = singles(problem);
        let flow = merge_stages(problem, classes, &mut |_, _| {});
        let stages: Vec<StageWays> = (0..flow.classes.len())
            .filter(|&stage| !flow.layers(stage).is_empty())
            .map(|stage| StageWays::single(flow.layers(stage), flow.classes[stage]))
            .collect();
        problem.linked_plan(stages).ok_or(PipelineError::Infeasible)
    }
}

impl PipeIt {
    /// The steps of the search, as section VI-D walks through them: layers after the first pass and when they have
    /// settled, at first and after every merger.
    pub fn steps(problem: &Problem) -> Vec<PipeItStep> {
        let mut steps = Vec::new();
        merge_stages(problem, singles(problem), &mut |flow, is_settled| {
            let class = |stage: usize| problem.processors(flow.classes[stage])[0].clone();
            let stages = (0..flow.classes.len()).map(|stage| (class(stage), flow.layers(stage))).collect();
            steps.push(PipeItStep { is_settled, stages });
        });
        steps
    }
}

/// One stage per core, cluster by cluster.
fn singles(problem: &Problem) -> Vec<WayId> {
    let of_cluster = |cluster: ClusterId| {
        let cores = problem.classes_of(cluster).len();
        std::iter::repeat_n(problem.class_with(cluster, 1), cores)
    };
    problem.clusters().flat_map(of_cluster).collect()
}

/// Algorithm 3 from stages of these classes; `tell` hears of each state that algorithm 2 passes or ends with.
fn merge_stages(problem: &Problem, classes: Vec<WayId>, tell: &mut dyn FnMut(&Flow, bool)) -> Flow {
    let mut flow = work_flow(problem, classes, tell);
    for cluster in problem.clusters() {
        while let Some(merged) = first_merger(problem, &flow, cluster) {
            flow = work_flow(problem, merged, tell);
        }
    }
    flow
}

/// How long some layers take on a class that takes frames over from these senders; nothing for none.
fn pace(problem: &Problem, (class, senders): (WayId, Senders), layers: BlockRange) -> Pace {
    if layers.is_empty() {
        return Pace::Takes(Nanoseconds::ZERO);
    }
    problem.time(class, senders, layers).map_or(Pace::CannotRun, Pace::Takes)
}

/// Algorithm 1: of layers that all are on the first of two stages, the last ones move to the second one as long as the
/// first stays the slower. Returns where the second one starts.
fn find_split(problem: &Problem, layers: BlockRange, first: (WayId, Senders), second: (WayId, Senders)) -> BlockId {
    let mut split = layers.end();
    for moved in layers.indices().rev().map(BlockId::new) {
        let stays = pace(problem, first, BlockRange::new(layers.start(), moved));
        if stays <= pace(problem, second, BlockRange::new(moved, layers.end())) {
            break;
        }
        split = moved;
    }
    split
}

/// Algorithm 2: all layers start in the first stage and flow on, neighbours by neighbours, until nothing moves any
/// more.
fn work_flow(problem: &Problem, classes: Vec<WayId>, tell: &mut dyn FnMut(&Flow, bool)) -> Flow {
    let mut starts = vec![BlockId::new(problem.blocks()); classes.len() + 1];
    starts[0] = BlockId::new(0);
    let mut flow = Flow { classes, starts };
    // Layers only ever flow on where stages are ordered by speed. Where they are not, they may come back, and a state
    // that was there before would be there again and again.
    let mut seen = Vec::new();
    while !seen.contains(&flow) {
        seen.push(flow.clone());
        for stage in 0..flow.classes.len().saturating_sub(1) {
            let both = BlockRange::new(flow.starts[stage], flow.starts[stage + 2]);
            let first = (flow.classes[stage], flow.senders(stage, problem));
            let second = (flow.classes[stage + 1], problem.senders(&[flow.classes[stage]]));
            flow.starts[stage + 1] = find_split(problem, both, first, second);
        }
        if seen.len() == 1 {
            tell(&flow, false);
        }
    }
    tell(&flow, true);
    flow
}

/// Algorithm 3, one step: the classes with the first pair of neighbours of a cluster merged whose merger is faster than
/// the slower of them (equation 12).
fn first_merger(problem: &Problem, flow: &Flow, cluster: ClusterId) -> Option<Vec<WayId>> {
    let cores = |class: WayId| {
        let class = problem.cluster_of(class)?;
        (class.cluster == cluster).then_some(class.cores)
    };
    (0..flow.classes.len().saturating_sub(1)).find_map(|stage| {
        let merged = problem.class_with(cluster, cores(flow.classes[stage])? + cores(flow.classes[stage + 1])?);
        let both = BlockRange::new(flow.starts[stage], flow.starts[stage + 2]);
        let together = pace(problem, (merged, flow.senders(stage, problem)), both);
        if together >= flow.pace(stage, problem).max(flow.pace(stage + 1, problem)) {
            return None;
        }
        let mut classes = flow.classes.clone();
        classes.splice(stage..stage + 2, [merged]);
        Some(classes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::raised_remainders::tests::linked_problem;

    #[test]
    fn senders_are_those_of_the_last_stage_that_has_layers() {
        let mut differing = 0;
        // On three clusters.
        for problem in (1..60).step_by(3).map(linked_problem) {
            let classes: Vec<WayId> = problem.clusters().map(|cluster| problem.class_with(cluster, 1)).collect();
            let starts = [0, 2, 2, 5].map(BlockId::new).to_vec();
            let flow = Flow { classes, starts };
            let [first, second] = [0, 1].map(|stage| problem.senders(&[flow.classes[stage]]));
            assert_eq!(flow.senders(0, &problem), Senders::NETWORK);
            assert_eq!([1, 2].map(|stage| flow.senders(stage, &problem)), [first, first]);
            differing += usize::from(first != second);
        }
        assert!(differing > 5, "{differing}");
    }
}
