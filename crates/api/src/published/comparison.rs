//! All published algorithms beside our own search.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use millstream_cost::Clocks;
use millstream_pipeline::Nanojoules;
use millstream_schedule::{Objective, Prediction};

use super::found_plan::SearchWork;
use super::instance::Instance;
use super::plan::{costs, planned};
use crate::control::{Control, Event};
use crate::error::Error;
use crate::machine::Machine;
use crate::network::Network;
use crate::planning::{PlanOn, Planned, chosen};
use crate::plans::{Aim, Plans};
use crate::published::found_plan::PublishedPlan;
use crate::published_algorithm::PublishedAlgorithm;

/// Schedules of a network on a board by our own search and all published algorithms, by the same costs.
pub struct PublishedComparison {
    /// Our search's front, and what it chose.
    pub ours: Planned,
    /// Rounds of its search for teams.
    pub work: SearchWork,
    /// The others, in the order of [`PublishedAlgorithm::ALL`].
    pub rows: Vec<PublishedRow>,
}

/// The outcome of one algorithm.
pub struct PublishedRow {
    /// The algorithm.
    pub algorithm: PublishedAlgorithm,
    /// Its schedule, or why there is none.
    pub outcome: Result<PublishedPlan, Error>,
}

impl PublishedComparison {
    /// By what part a schedule is worse than the best point of our front in what the aim's objective counts: the
    /// period for throughput and balanced, the latency, or the energy of a frame. Negative if it is better, which the
    /// searched kinds of stages do not rule out. `None` if an energy is not known.
    pub fn beside_ours(&self, predicted: &Prediction) -> Option<f64> {
        let Plans { front, aim, .. } = &self.ours.plans;
        let least = |of: &dyn Fn(&millstream_pipeline::Plan) -> Option<f64>| {
            front.iter().filter_map(of).min_by(f64::total_cmp).filter(|least| *least > 0.0)
        };
        let (theirs, best) = match aim.objective {
            Objective::Throughput | Objective::Balanced => {
                (predicted.period_seconds, least(&|plan| Some(plan.period.seconds())))
            }
            Objective::Latency => (predicted.latency_seconds, least(&|plan| Some(plan.latency.seconds()))),
            Objective::Energy => (predicted.joules_per_frame?, least(&|plan| plan.energy.map(Nanojoules::joules))),
        };
        Some(theirs / best? - 1.0)
    }
}

/// Plans a network on a board by our own search and every published algorithm, all by the same costs and the same
/// rules, none tried out. An algorithm that can't serve the network or the board has the reason in its row.
///
/// # Errors
/// As [`plan`](crate::plan()) for our search, [`Error::Unfit`] if the aim has limits, [`Error::Interrupted`] if
/// the caller ended it.
pub fn compare_published(
    machine: &Machine,
    network: &Network,
    aim: &Aim,
    on: PlanOn<'_>,
    processors: Option<&str>,
    control: &Control,
) -> Result<PublishedComparison, Error> {
    if aim.constraints != crate::Constraints::default() {
        return Err(Error::Unfit(
            "published algorithms know no limits of latency, throughput or power; leave them out, or take our own search alone".to_owned(),
        ));
    }
    let board = machine.board();
    let table = costs(machine, network, on, control)?;
    let instance = Instance::new(network, board, table.clone(), processors, aim.effort, control)?;
    let (counting, rounds) = counting(control);
    let plans = Plans::search(network, board, &table, *aim, &counting)?;
    let ours = chosen(machine, network, plans, aim, Clocks::new(), None)?;
    let work = SearchWork { count: rounds.load(Ordering::Relaxed), unit: "rounds" };

    let mut steps = control.steps(format!("published algorithms on {}", network.name()), PublishedAlgorithm::ALL.len());
    let mut rows = Vec::new();
    for algorithm in PublishedAlgorithm::ALL {
        let outcome = planned(&instance, algorithm);
        if control.is_cancelled() || matches!(outcome, Err(Error::Interrupted)) {
            return Err(Error::Interrupted);
        }
        rows.push(PublishedRow { algorithm, outcome });
        steps.set(rows.len(), PublishedAlgorithm::ALL.len());
    }
    Ok(PublishedComparison { ours, work, rows })
}

/// A control that reports to the caller's, and notes the most rounds of a search.
fn counting(control: &Control) -> (Control, Arc<AtomicU64>) {
    let rounds = Arc::new(AtomicU64::new(0));
    let (counter, told, asked) = (Arc::clone(&rounds), control.clone(), control.clone());
    let counting = Control::new().cancelled_by(move || asked.is_cancelled()).observed_by(move |event| {
        if let Event::Progress(progress) = event {
            counter.fetch_max(progress.done as u64, Ordering::Relaxed);
        }
        told.emit(event);
    });
    (counting, rounds)
}
