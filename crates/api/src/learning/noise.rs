//! How far trials of plans may be off, and which plans take turns for that.

use millstream_pipeline::{Objective, Plan, choose};

use crate::learning::candidate::Candidate;
use crate::learning::plan_model::PlanModel;
use crate::plans::unsteady::{TRIAL_NOISE, is_unsteady, shares_frames};

/// A frame that several cores share may have been this much slower: how soon one core hears of another changes on
/// shared machines from minute to minute.
const SHARED_FRAME_NOISE: f64 = 1.15;
/// An unsteady frame may have been this much slower, and may be in the next trial: on two cores of a virtual machine,
/// frames of MobileNet v2 took 3.2 ms in some seconds, 4.1 in others, and 6.3 in others again.
const UNSTEADY_NOISE: f64 = 2.0;
/// An unsteady frame that was not tried may be this much quicker than its costs say.
const UNSTEADY_COSTS: f64 = 1.4;
/// So many plans at the most take turns with what would be chosen, those that promise most.
const MOST_RIVALS: usize = 5;

impl PlanModel<'_> {
    /// What would be chosen of what was tried, followed by what may be better than it, as far as the noise of trials tells.
    pub(super) fn in_doubt(&self) -> Vec<Candidate> {
        let Some(best) = self.best_tried() else { return Vec::new() };
        let others = self.plans.lessons.tried.iter().filter(|plan| !plan.is_same_pipeline(best));
        let mut rivals: Vec<&Plan> = others.filter(|plan| self.may_be_better(plan, best)).collect();
        rivals.sort_by(|one, other| self.distance(one).0.total_cmp(&self.distance(other).0));
        rivals.truncate(MOST_RIVALS);
        if self.objective == Objective::Throughput {
            // There are few kinds of instances, and the best of many other plans is often one that was lucky.
            let is_new = |plan: &Plan| ![best].iter().chain(&rivals).any(|other| other.is_same_pipeline(plan));
            let instances = self.plans.best_instances(|_| true).filter(|plan| is_new(plan));
            rivals.extend(instances);
        }
        std::iter::once(best).chain(rivals).map(|plan| self.candidate(plan)).collect()
    }

    /// Whether a plan that is not the best of what was tried may be better. For latency, what may be quicker than it is
    /// known to be is given the wider noise. For throughput, where the best is unsteady, it may have been tried in a quick
    /// minute.
    fn may_be_better(&self, plan: &Plan, best: &Plan) -> bool {
        if self.is_within(TRIAL_NOISE, plan, best) {
            return true;
        }
        let (in_doubt, is_shared) = match self.objective {
            Objective::Latency => (plan, shares_frames(plan) || shares_frames(best)),
            Objective::Throughput => (best, false),
            Objective::Balanced | Objective::Energy => return false,
        };
        is_unsteady(in_doubt) && self.is_within(UNSTEADY_NOISE, plan, best)
            || is_shared && self.is_within(SHARED_FRAME_NOISE, plan, best)
    }

    /// Whether a plan would be chosen over the best one if it took so many times less.
    fn is_within(&self, noise: f64, plan: &Plan, best: &Plan) -> bool {
        let allowed = !self.plans.allowed(std::slice::from_ref(plan)).is_empty();
        allowed && choose(&[best, &plan.clone().divided_by(noise)], self.objective) == Some(1)
    }
}

/// How many times less the latency of a plan may be than it is known to be, in which one processor of several cores has the
/// whole network.
pub(super) fn whole_frame_noise(plan: &Plan) -> f64 {
    if is_unsteady(plan) { UNSTEADY_COSTS } else { SHARED_FRAME_NOISE }
}
