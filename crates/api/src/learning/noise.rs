//! How far trials of plans may be off, and how often plans are tried again for that.

use millstream_pipeline::{Objective, Plan, choose};

use crate::learning::plan_model::{Candidate, PlanModel};
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
/// Where several plans are as good but for noise, each is tried so often at the most: medians of four trials have about
/// half the noise of one.
const MOST_TRIALS: u64 = 4;
/// How often what is chosen is tried at least, and others at the most that may be better but for a machine that changed
/// in between.
const CONFIRMED: u64 = 2;
/// How often unsteady plans are tried, and what may have been lucky: a median of three frame times does not change with one
/// in another minute, and the longest of three periods is seldom that of a quick minute.
const DOUBTFUL_TRIALS: u64 = 3;

impl PlanModel<'_> {
    /// The plan that was tried least often, of that which would be chosen of what was tried and those that may be by noise
    /// of the trials alone; if none of these should be tried again, `None`.
    pub(super) fn unconfirmed(&self) -> Option<Candidate> {
        let best = self.best_tried()?;
        let others = self.plans.lessons.tried.iter().filter(|plan| !plan.is_same_pipeline(best));
        let rivals: Vec<(&Plan, u64)> = others.map(|plan| (plan, self.most_trials(plan, best))).collect();
        let most = rivals.iter().map(|(_, most)| *most).fold(CONFIRMED, u64::max);

        let trials = |plan: &Plan| self.plans.lessons.trials_of(plan);
        let unconfirmed = std::iter::once((best, most)).chain(rivals).filter(|&(plan, most)| trials(plan) < most);
        unconfirmed.min_by_key(|(plan, _)| trials(plan)).map(|(plan, _)| self.candidate(plan))
    }

    /// How often a plan should be tried that is not the best of what was tried. For latency, what may be quicker than it is
    /// known to be is given the wider noise. For throughput, an unsteady plan counts with its slowest trial: where it is the
    /// best so far, those that may be better once it was slow are tried with it. Instances are tried with what may have
    /// been quicker than they are by luck.
    fn most_trials(&self, plan: &Plan, best: &Plan) -> u64 {
        if self.is_within(TRIAL_NOISE, plan, best) {
            return MOST_TRIALS;
        }
        if self.objective == Objective::Throughput
            && is_of_instances(plan)
            && !is_of_instances(best)
            && self.is_within(LUCK, plan, best)
        {
            return DOUBTFUL_TRIALS;
        }

        let (in_doubt, is_shared) = match self.objective {
            Objective::Latency => (plan, shares_frames(plan) || shares_frames(best)),
            Objective::Throughput => (best, false),
            Objective::Balanced | Objective::Energy => return 0,
        };

        if is_unsteady(in_doubt) && self.is_within(UNSTEADY_NOISE, plan, best) {
            return DOUBTFUL_TRIALS;
        }
        if is_shared && self.is_within(SHARED_FRAME_NOISE, plan, best) { CONFIRMED } else { 0 }
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
