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
