//! A system as searches see it that have the teams of its hosts evaluated.

use std::sync::Arc;

use super::SystemProblem;
use super::host_search::HostStage;
use super::variant_table::{EntryKind, ExitKind};
use crate::board::senders::Senders;
use crate::lazy_evaluation::{LazyProblem, StageParts};
use crate::plan::{Plan, PlannedStage};
use crate::problem::Problem;
use crate::problem::search_settings::SearchSettings;
use crate::teams::context::TeamContext;
use crate::teams::effort::Effort;
use crate::teams::progress::SearchProgress;
use crate::ways::way::WayId;

impl LazyProblem for SystemProblem {
    type Stage = HostStage;

    fn effort(&self) -> Option<Effort> {
        self.hosts.iter().find_map(|host| host.within().effort())
    }

    fn spent(&self) -> u64 {
        let mut contexts: Vec<&Arc<TeamContext>> = Vec::new();
        for context in self.problems().filter_map(|problem| Some(&problem.teams.first()?.team.context)) {
            if !contexts.iter().any(|known| Arc::ptr_eq(known, context)) {
                contexts.push(context);
            }
        }
        contexts.into_iter().map(|context| context.spent()).sum()
    }

    fn should_continue(&self, _: &SearchProgress) -> bool {
        true
    }

    fn with_hoped_times(&self) -> Self {
        self.with(LazyProblem::with_hoped_times)
    }

    fn with_wide_steps(&self) -> Self {
        self.with(LazyProblem::with_wide_steps)
    }

    fn stages_of(&self, plan: &Plan) -> Option<Vec<HostStage>> {
        (0..plan.stages.len()).map(|place| self.host_stage(&plan.stages, place)).collect()
    }

    fn plan_of(&self, stages: &[HostStage]) -> Option<Plan> {
        self.plan(stages)
    }

    fn parts_of<'s>(&'s self, stages: &'s [HostStage], place: usize) -> StageParts<'s> {
        let HostStage { host, blocks, entry, exit, senders, ref ways } = stages[place];
        StageParts { problem: self.host(host).variant(entry, exit), senders, blocks, ways }
    }

    fn ways_mut(stage: &mut HostStage) -> &mut [WayId] {
        &mut stage.ways
    }
}

impl SystemProblem {
    /// What searches may choose from, on all hosts alike.
    pub(super) fn settings(&self) -> &SearchSettings {
        &self.hosts[0].within().settings
    }

    /// The problems of all hosts.
    fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.hosts.iter().flat_map(|host| host.variants().values())
    }

    /// The stage at a place among those of a plan; `None` if it is on no host, or its host has no such team.
    fn host_stage(&self, stages: &[PlannedStage], place: usize) -> Option<HostStage> {
        let stage = stages.get(place)?;
        let host = self.host_of(stage)?;
        let within = self.host(host).within();
        let (mut entry, mut senders) = (EntryKind::SAME_HOST, Senders::NETWORK);
        if let Some(before) = place.checked_sub(1).and_then(|before| stages.get(before)) {
            match self.host_of(before)? {
                other if other == host => senders = within.senders(&within.ways_of(before)?),
                other => entry = self.host(host).entry_by(self.links.between(other, host)?),
            }
        }
        let next = stages.get(place + 1).map(|next| self.host_of(next));
        let exit = match next {
            None => ExitKind::SAME_HOST,
            Some(next) if next? == host => ExitKind::SAME_HOST,
            Some(next) => self.host(host).exit_by(self.links.between(host, next?)?),
        };
        Some(HostStage { host, blocks: stage.blocks, entry, exit, senders, ways: within.ways_of(stage)? })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use millstream_board::{Board, BoardError, System, SystemDocument};
    use millstream_cost::{CostTable, FrameCost, HostCrossing};
    use millstream_partition::Chain;
    use millstream_test_support::{board, table};

    use super::*;
    use crate::hosts::HostDivision;
    use crate::hosts::host_search::HostSearch;
    use crate::teams::space::teams_of;

    /// SqueezeNet on two hosts, whose links, hand-overs and frames all cost something, and one of them more.
    fn problem() -> SystemProblem {
        let model = millstream_zoo::build("squeezenet").unwrap();
        let graph = model.graph();
        let text = r#"{"format": "millstream-system", "version": 1, "name": "t",
            "hosts": [{"id": "a", "board": "B2+s1", "cpu_seconds_per_frame": 1e-5},
                {"id": "b", "board": "B2", "cpu_seconds_per_frame": 7e-5}],
            "links": [{"hosts": ["a", "b"], "latency_seconds": 1e-5, "bytes_per_second": 1e10,
                "cpu_seconds_per_byte": {"a": 1e-10, "b": 3e-10}, "cpu_seconds_per_message": {"a": 1e-6, "b": 2e-6}}]}"#;
        let named = |name: &str| Ok::<_, BoardError>(board(name));
        let system = System::of(SystemDocument::from_json(text).unwrap(), named).unwrap();
        let costs = |board: &Board| {
            table(graph, board, |operator, class| {
                let slowness = if class.cluster == "B" { 1.0 } else { 2.0 };
                Some(((operator.work.macs as f64 / 20.0 + 500.0) * slowness / (class.count as f64).sqrt()) as u64)
            })
        };
        let tables = [costs(&board("B2+s1")), costs(&board("B2"))];
        let table = CostTable::of_hosts(&[("a", &tables[0]), ("b", &tables[1])], HostCrossing::all(&system));
        let table = table.with_frame_costs(FrameCost::all(&system));
        let teams: Vec<_> = system.hosts().iter().flat_map(|host| teams_of(&host.in_system())).collect();
        SystemProblem::with_teams(graph, &Chain::of(graph), &system, &table, (&teams, Effort::USUAL)).unwrap()
    }

    #[test]
    fn the_stages_of_a_plan_make_the_same_plan() {
        let problem = problem();
        let division = HostDivision::without(&problem, &[]);
        let hoped = LazyProblem::with_hoped_times(&problem);
        for (problem, plans) in
            [(&problem, HostSearch::front(&problem, &division)), (&hoped, HostSearch::front(&hoped, &division))]
        {
            assert!(plans.iter().any(|plan| plan.stages.len() > 1));
            for plan in plans {
                let again = problem.plan_of(&problem.stages_of(&plan).unwrap()).unwrap();
                assert_eq!((again.period, again.latency), (plan.period, plan.latency), "{}", plan.configuration());
            }
        }
    }
}
