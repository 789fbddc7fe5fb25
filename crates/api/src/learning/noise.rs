//! How far trials of plans may be off, and which plans take turns for that.

use millstream_pipeline::{Objective, Plan, choose};

use crate::learning::candidate::Candidate;
use crate::learning::plan_model::PlanModel;
use crate::plans::unsteady::{TRIAL_NOISE, is_of_instances, is_unsteady, shares_frames};

/// A frame that several cores share may have been this much slower: how soon one core hears of another changes on
/// shared machines from minute to minute.
const SHARED_FRAME_NOISE: f64 = 1.15;
/// An unsteady frame may have been this much slower, and may be in the next trial: on two cores of a virtual machine, the
/// quantised MobileNet v2 takes 1.8 ms with ONNX Runtime and 1.5 ms with OpenVINO in some minutes, 2.5 ms and 1.9 ms in
/// others.
const UNSTEADY_NOISE: f64 = 1.4;
/// The best of many other plans was lucky: it may have been this much quicker than it is. Of instances there are few.
const LUCK: f64 = 1.1;

/// So many plans at the most take turns with what would be chosen, those that promise most.
const MOST_RIVALS: usize = 5;

impl PlanModel<'_> {
    /// What would be chosen of what was tried, and then what may be better: noise of the trials alone can be why it would
    /// not be.
    pub(super) fn in_doubt(&self) -> Vec<Candidate> {
        let Some(best) = self.best_tried() else { return Vec::new() };
        let others = self.plans.lessons.tried.iter().filter(|plan| !plan.is_same_pipeline(best));
        let mut rivals: Vec<&Plan> = others.filter(|plan| self.may_be_better(plan, best)).collect();
        rivals.sort_by(|one, other| self.distance(one).0.total_cmp(&self.distance(other).0));
        rivals.truncate(MOST_RIVALS);
        std::iter::once(best).chain(rivals).map(|plan| self.candidate(plan)).collect()
    }

    /// Whether a plan that is not the best of what was tried may be better. For latency, what may be quicker than it is
    /// known to be is given the wider noise. For throughput, where the best is unsteady, it may have been tried in a quick
    /// minute, and what is better than instances may have been lucky.
    fn may_be_better(&self, plan: &Plan, best: &Plan) -> bool {
        if self.is_within(TRIAL_NOISE, plan, best) {
            return true;
        }
        if self.objective == Objective::Throughput
            && is_of_instances(plan)
            && !is_of_instances(best)
            && self.is_within(LUCK, plan, best)
        {
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
    if is_unsteady(plan) { UNSTEADY_NOISE } else { SHARED_FRAME_NOISE }
}
