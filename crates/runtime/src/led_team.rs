//! The threads of a replica: starting them, and starting others in their place.

use std::sync::Arc;

use millstream_backend::Tensor;
use millstream_graph::ValueId;

use crate::error::RuntimeError;
use crate::packet::StepSpan;
use crate::sync::channel::{Sender, bounded};
use crate::team::{Failure, LEADER, Prepared, Ready, Team};
use crate::team_factory::TeamFactory;
use crate::threads::Threads;

/// A team with the segments of its leader. The other threads end with it.
pub(crate) struct LedTeam {
    // First, so that they are gone when the team is.
    prepared: Prepared,
    team: Arc<Team>,
}

impl LedTeam {
    pub(crate) fn team(&self) -> Arc<Team> {
        Arc::clone(&self.team)
    }

    /// Whether it is this team.
    pub(crate) fn is(&self, team: &Arc<Team>) -> bool {
        Arc::ptr_eq(&self.team, team)
    }

    /// As [`Team::run`].
    pub(crate) fn run(
        &mut self,
        inputs: impl Iterator<Item = (ValueId, Tensor)>,
        outputs: &[ValueId],
    ) -> Result<Vec<Tensor>, Failure> {
        self.team.run(&mut self.prepared, inputs, outputs)
    }

    pub(crate) fn take_steps(&self) -> Vec<StepSpan> {
        self.team.take_steps()
    }
}

impl Drop for LedTeam {
    fn drop(&mut self) {
        self.team.end();
    }
}

impl TeamFactory {
    /// A team without threads.
    pub(crate) fn team(&self) -> Result<Arc<Team>, RuntimeError> {
        let team = Team::new(self);
        if team.is_complete() { Ok(Arc::new(team)) } else { Err(RuntimeError::UnknownSize { stage: self.id.stage }) }
    }

    /// A team in place of one that was lost, led by the calling thread, once all of it is ready.
    pub(crate) fn again(&self, threads: &Threads, name: &str) -> Result<LedTeam, RuntimeError> {
        let team = self.team()?;
        let (ready, are_ready) = bounded::<Ready>(team.size());
        follow(&team, threads, name, &ready)?;
        let led = lead(&team, &ready);
        drop(ready);
        for _ in 0..team.size() {
            are_ready.recv().map_err(|_| RuntimeError::Stopped)??;
        }
        led.ok_or(RuntimeError::Stopped)
    }
}

/// Prepares what the calling thread needs to lead a team. On an error, which goes to `ready`, the others end.
pub(crate) fn lead(team: &Arc<Team>, ready: &Sender<Ready>) -> Option<LedTeam> {
    let prepared = team.prepare(LEADER, ready);
    if prepared.is_none() {
        team.end();
    }
    prepared.map(|prepared| LedTeam { team: Arc::clone(team), prepared })
}

/// Starts the threads of a team but for its leader's. If not all can be started, the others end.
pub(crate) fn follow(
    team: &Arc<Team>,
    threads: &Threads,
    name: &str,
    ready: &Sender<Ready>,
) -> Result<(), RuntimeError> {
    for processor in team.followers() {
        let (followed, ready) = (Arc::clone(team), ready.clone());
        let work = move || {
            if let Some(prepared) = followed.prepare(processor, &ready) {
                drop(ready);
                followed.follow(processor, prepared);
            }
        };
        if let Err(error) = threads.spawn(&format!("{name}.{}", processor.index() + 1), work) {
            team.end();
            return Err(error.into());
        }
    }
    Ok(())
}
