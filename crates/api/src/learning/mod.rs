//! Plans that are tried out on this computer, each of which teaches the next search.

pub(crate) mod measured;
mod plan_model;
mod rivals;
pub(crate) mod trial;

use std::sync::Arc;

use millstream_backend::Backend;
use millstream_board::Board;
use millstream_cost::CostTable;
use millstream_pipeline::Objective;
use millstream_predict::Profile;
use millstream_tune::{ModelGuided, Oracle, TuneError};

use crate::control::{Activity, Control};
use crate::error::Error;
use crate::measuring::disturbance::{self, DISTURBED};
use crate::network::Network;
use crate::plans::{Aim, Plans};
use plan_model::{Candidate, PlanModel};
use trial::PlanTrial;

/// A trial that takes so many times as long as was expected is repeated: a host that is busy for some seconds shows in
/// no counter.
const SLOWER: f64 = 1.15;

/// What is known of a network before plans are tried out.
pub(crate) struct Known<'a> {
    /// Its profile, to which trials add.
    pub(crate) profile: &'a mut Profile,
    /// The costs that the profile gives.
    pub(crate) table: CostTable,
    /// Whether that was there before.
    pub(crate) is_old: bool,
}

/// The outcome of trying plans out.
pub(crate) enum Refined {
    /// Plans, with what the trials showed.
    Plans(Box<Plans>),
    /// A trial says something against the profile, which is not new: text for people.
    Contradicted(String),
}

/// Searches, tries out what the search would choose, learns from it and searches again, for one objective after the
/// other, until nothing promises to be better than what was tried, or ten were. The best plan that leaves the network
/// whole is among these where it may be better. The best of what was tried is tried once more: the best of many single
/// trials is often the one that was luckiest. What was measured is added to the profile. The first trial ends the
/// search if it contradicts an old profile.
pub(crate) fn refine(
    network: &Network,
    board: &Board,
    backend: &Arc<dyn Backend>,
    known: Known<'_>,
    objectives: &[Objective],
    aim: Aim,
    control: &Control,
) -> Result<Refined, Error> {
    let Known { profile, table, is_old } = known;
    let plans = Plans::search(network, board, &table, aim, control)?;

    let search = ModelGuided::default();
    let most = search.trials * objectives.len();
    let activity = format!("trying out schedules of {}", network.name());
    let steps = control.steps(activity.clone(), most);
    let mut trials = Trials { network, board, backend, control, steps, done: 0, most };
    let mut model = PlanModel {
        network,
        board,
        profile,
        is_old,
        plans,
        objective: aim.objective,
        others: 0.0,
        confirmed: Vec::new(),
        failure: None,
        contradiction: None,
    };

    let mut tried: Vec<Candidate> = Vec::new();
    for &objective in objectives {
        model.objective = objective;
        let explored = search.explore(&mut tried, &mut model, &mut trials);
        if let Some(contradiction) = model.contradiction {
            return Ok(Refined::Contradicted(contradiction));
        }
        match (explored, model.failure.take()) {
            (Err(_), _) if control.is_cancelled() => return Err(Error::Interrupted),
            (_, Some(error)) => return Err(error),
            (Err(error), None) => return Err(error.into()),
            (Ok(()), None) => confirm(&mut model, &mut trials)?,
        }
    }

    disturbance::report(&activity, model.others, control);
    Ok(Refined::Plans(Box::new(model.plans)))
}

/// Runs the best of what was tried once more, and what is the best then, until that was run twice.
fn confirm(model: &mut PlanModel<'_>, trials: &mut Trials<'_>) -> Result<(), Error> {
    while let Some(candidate) = model.best_tried_once() {
        let seen = trials.measure(&candidate)?;
        model.confirm(&candidate, &seen)?;
    }
    Ok(())
}

/// Runs plans on this computer.
struct Trials<'a> {
    network: &'a Network,
    board: &'a Board,
    backend: &'a Arc<dyn Backend>,
    control: &'a Control,
    steps: Activity<'a>,
    done: usize,
    most: usize,
}

impl Oracle<Candidate, PlanTrial> for Trials<'_> {
    fn measure(&mut self, candidate: &Candidate) -> Result<PlanTrial, TuneError> {
        let Candidate { plan, schedule } = candidate;
        let run = || {
            let seen = trial::run(self.network, self.board, self.backend, schedule, plan, self.control);
            seen.map_err(|error| TuneError::Oracle { configuration: schedule.to_string(), source: Box::new(error) })
        };
        let mut seen = run()?;
        if seen.others > DISTURBED || seen.measured.period.seconds() > SLOWER * plan.period.seconds() {
            let again = run()?;
            let is_better = match (seen.others > DISTURBED, again.others > DISTURBED) {
                (false, false) => again.measured.period < seen.measured.period,
                _ => again.others < seen.others,
            };
            seen = if is_better { again } else { seen };
        }
        self.done += 1;
        self.steps.set(self.done.min(self.most), self.most);
        Ok(seen)
    }
}
