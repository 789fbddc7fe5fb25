//! Links that several stages of a plan take their frames over.

use millstream_cost::Nanoseconds;

use crate::plan::Plan;
use crate::problem::Problem;
use crate::teams::team_way::TeamTimeKind;
use crate::ways::way::StageWays;

impl Problem {
    /// Plans of which none has a shorter period than its links.
    pub(crate) fn with_link_periods(&self, mut plans: Vec<Plan>) -> Vec<Plan> {
        for plan in &mut plans {
            let links = self.link_period(plan);
            if links > plan.period {
                plan.period = links;
                plan.energy = self.energy(plan);
            }
        }
        plans
    }

    /// A plan of these stages whose period is no shorter than its links'; `None` if one of them can't run.
    pub(crate) fn linked_plan(&self, stages: Vec<StageWays>) -> Option<Plan> {
        self.with_link_periods(vec![self.plan(stages)?]).pop()
    }

    /// The longest that a frame occupies a link; nothing for what is only hoped for, as it is not known then which
    /// processor does what.
    fn link_period(&self, plan: &Plan) -> Nanoseconds {
        let evaluator =
            self.costs.link_evaluator.as_ref().filter(|_| self.settings.team_time_kind == TeamTimeKind::Found);
        let evaluation = evaluator.and_then(|evaluator| evaluator.evaluate(&self.schedule(plan)));
        evaluation.map_or(Nanoseconds::ZERO, |evaluation| evaluation.board_link_period())
    }

    /// Whether several stages of a plan take frames over the same link, or replicas that take unlike times, so that
    /// what they wait for each other depends on when they do.
    pub fn shares_links(&self, plan: &Plan) -> bool {
        let evaluation =
            self.costs.link_evaluator.as_ref().and_then(|evaluator| evaluator.evaluate(&self.schedule(plan)));
        evaluation.is_some_and(|evaluation| evaluation.shares_board_links())
    }
}
