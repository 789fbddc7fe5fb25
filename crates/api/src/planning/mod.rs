//! Plans for networks: measured and tried on this computer, or searched on costs that are known.

mod sharing;

use std::time::Duration;

use millstream_cost::Clocks;
use millstream_pipeline::{ClockedPlan, Plan};
use millstream_schedule::{Schedule, ScheduleDocument};

use crate::control::Control;
use crate::error::{Error, InFile};
use crate::learning::measured::Measured;
use crate::machine::Machine;
use crate::measuring::CostSource;
use crate::measuring::profiling::{PROFILE_BUDGET, cached};
use crate::network::Network;
use crate::plans::{Aim, Plans, choose_clocks};
use crate::schedules::Scheduled;

pub use sharing::{NetworkShare, Shared, plan_shared};

/// The source of a plan's costs.
#[derive(Debug, Clone, Copy, Default)]
pub enum PlanOn<'a> {
    /// This computer: the network's cached profile or a new one, and trials of what the search finds.
    #[default]
    ThisMachine,
    /// The same with a new profile in any case, for which there is so much time; [`PROFILE_BUDGET`] is usual.
    ThisMachineAnew(Duration),
    /// Costs that are known already. Nothing runs.
    Costs(CostSource<'a>),
}

/// A network's plans, and the one that was chosen.
pub struct Planned {
    /// The search's results.
    pub plans: Plans,
    /// The plan that suits the aim.
    pub plan: Plan,
    /// Its stages and the cores that run them.
    pub schedule: Schedule,
    /// The schedule's file.
    pub document: ScheduleDocument,
    /// The front over the clocks that were looked at ([`choose_clocks`]), if clocks were chosen.
    pub clocked_front: Option<Vec<ClockedPlan>>,
}

impl Machine {
    /// Plans a network on this machine: measures it if it was not measured before, searches for a schedule that suits
    /// the aim, and tries out what it finds.
    ///
    /// # Errors
    /// [`Error::NotHere`] if the board is not this computer, [`Error::Pipeline`] if nothing keeps to the constraints.
    pub fn plan(&self, network: Network, aim: &Aim, control: &Control) -> Result<Scheduled, Error> {
        let planned = plan(self, &network, aim, PlanOn::ThisMachine, control)?;
        Scheduled::alone(network, planned.document, self.board())
    }
}

/// Searches for a schedule of a network on a board that suits the aim, with a bound on how much shorter any period
/// could be.
///
/// # Errors
/// As [`Machine::plan`], and [`Error::File`] if costs can't be read.
pub fn plan(
    machine: &Machine,
    network: &Network,
    aim: &Aim,
    on: PlanOn<'_>,
    control: &Control,
) -> Result<Planned, Error> {
    let board = machine.board();
    if let PlanOn::Costs(costs) = on {
        costs.report_limits(network, machine, control)?;
    }
    let plans = match on {
        PlanOn::ThisMachine => tried(machine, network, None, aim, control)?,
        PlanOn::ThisMachineAnew(budget) => tried(machine, network, Some(budget), aim, control)?,
        PlanOn::Costs(CostSource::Profile(path)) => {
            let table = CostSource::Profile(path).table(network, machine)?;
            Plans::search(network, board, &table, *aim, control).in_file(path)?
        }
        PlanOn::Costs(costs) => Plans::search(network, board, &costs.table(network, machine)?, *aim, control)?,
    };
    chosen(machine, network, plans, aim, Clocks::new(), None)
}

/// The same on costs that are known, choosing the clocks of clusters as well.
///
/// # Errors
/// As [`plan`].
pub fn plan_with_clocks(
    machine: &Machine,
    network: &Network,
    aim: &Aim,
    costs: CostSource<'_>,
    control: &Control,
) -> Result<Planned, Error> {
    let board = machine.board();
    let aim = &Aim { wants_energy: true, ..*aim };
    let table = costs.table(network, machine)?.with_one_driver_of_each_device(board, &[]);
    let (clocks, front) = choose_clocks(network, board, &table, aim)?;
    let plans = Plans::search(network, board, &table.at_clocks(board, &clocks), *aim, control)?;
    chosen(machine, network, plans, aim, clocks, Some(front))
}

pub(crate) fn chosen(
    machine: &Machine,
    network: &Network,
    plans: Plans,
    aim: &Aim,
    clocks: Clocks,
    clocked_front: Option<Vec<ClockedPlan>>,
) -> Result<Planned, Error> {
    let plan = plans.chosen(aim.objective)?.clone();
    let (schedule, document) = plans.document(&plan, aim.objective, network, machine.board())?;
    let document = ScheduleDocument { clocks, ..document };
    Ok(Planned { plans, plan, schedule, document, clocked_front })
}

/// Plans from a cached profile, tried out on this machine. `anew`: from a new one in any case, which takes so long.
fn tried(
    machine: &Machine,
    network: &Network,
    anew: Option<Duration>,
    aim: &Aim,
    control: &Control,
) -> Result<Plans, Error> {
    machine.check_usable()?;
    let known = cached(machine, network, anew.is_some(), control);
    let budget = anew.unwrap_or(PROFILE_BUDGET);
    let mut measured = Measured::known_or_new(machine, network, known, budget, control)?;
    measured.refine(&[aim.objective], *aim, control)
}
