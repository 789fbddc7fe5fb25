//! A schedule by a published algorithm.

use millstream_cost::CostTable;
use millstream_mapping::{Cpop, Heft, LayerSwitched};

use super::instance::Instance;
use super::{co_scheduled, mapped, pipelines, programs};
use crate::control::Control;
use crate::error::Error;
use crate::machine::Machine;
use crate::measuring::opening::measured_costs;
use crate::network::Network;
use crate::planning::PlanOn;
use crate::plans::Aim;
use crate::published::found_plan::PublishedPlan;
use crate::published_algorithm::PublishedAlgorithm;
use millstream_pipeline::Constraints;

/// The schedule that a published algorithm makes for a network on a board, predicted by the costs and not tried out.
///
/// `processors` names what the algorithm may use, such as `B4-s2-G1`: all but Pipe-it deal whole processors out.
/// Without it, these are every cluster with all its cores and every accelerator, or each core of a board that has just
/// one cluster. Of the aim, only the effort counts, for mapping within Para-Pipe's stages.
///
/// ```
/// use millstream_api::{Aim, Control, CostSource, Machine, Network, PlanOn, PublishedAlgorithm, ReadOptions, plan_published};
/// use millstream_api::{board::Board, cost::{CostTable, Nanoseconds}};
///
/// let board = Board::from_json(r#"{"format": "millstream-board", "version": 1, "name": "pair", "clusters": [
///     {"label": "B", "capacity": 1024, "cores": [{"id": 0}]}, {"label": "s", "capacity": 341, "cores": [{"id": 1}]}]}"#)?;
/// let network = Network::open("zoo:googlenet", ReadOptions::default())?;
/// let mut table = CostTable::new(network.graph().operators().len(), board.processor_classes());
/// for processor in table.class_ids() {
///     for operator in table.operator_ids() {
///         table.set_time(processor, operator, Nanoseconds(1000 * (1 + 2 * processor.index() as u64)));
///     }
/// }
/// let (machine, on) = (Machine::of_board(board), PlanOn::Costs(CostSource::Table(&table)));
/// let plan = plan_published(&machine, &network, PublishedAlgorithm::Heft, &Aim::default(), on, None, &Control::new())?;
/// assert_eq!(plan.document.configuration, "B1+s1");
/// assert!(plan.document.predicted.period_seconds >= plan.bound.seconds());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Algorithm`] if the algorithm can't serve the network on the board, [`Error::MissingFeature`] for integer
/// programs without a solver, [`Error::Unfit`] if the aim has limits, of which no published algorithm knows, and as
/// [`plan`](crate::plan()).
pub fn plan_published(
    machine: &Machine,
    network: &Network,
    algorithm: PublishedAlgorithm,
    aim: &Aim,
    on: PlanOn<'_>,
    processors: Option<&str>,
    control: &Control,
) -> Result<PublishedPlan, Error> {
    if aim.constraints != Constraints::default() {
        return Err(Error::Unfit(format!(
            "{algorithm} knows no limits of latency, throughput or power; leave them out, or take our own search"
        )));
    }
    let table = costs(machine, network, on, control)?;
    let instance = Instance::new(network, machine.board(), table, processors, aim.effort, control)?;
    planned(&instance, algorithm)
}

/// The costs of a network, measured if need be.
pub(super) fn costs(
    machine: &Machine,
    network: &Network,
    on: PlanOn<'_>,
    control: &Control,
) -> Result<CostTable, Error> {
    let table = match on {
        PlanOn::Costs(costs) => costs.table(network, machine)?,
        PlanOn::ThisMachine => measured_costs(machine, network, None, control)?.0,
        PlanOn::ThisMachineAnew(budget) => measured_costs(machine, network, Some(budget), control)?.0,
    };
    Ok(table.with_one_driver_of_each_device(machine.board(), &[]))
}

pub(super) fn planned(instance: &Instance<'_>, algorithm: PublishedAlgorithm) -> Result<PublishedPlan, Error> {
    if instance.control.is_cancelled() {
        return Err(Error::Interrupted);
    }
    let found = match algorithm {
        PublishedAlgorithm::PipeIt => pipelines::pipe_it(instance),
        PublishedAlgorithm::ParaPipe(strategy) => pipelines::para_pipe(instance, strategy),
        PublishedAlgorithm::CoarseIlp | PublishedAlgorithm::FineIlp => programs::map(instance, algorithm),
        PublishedAlgorithm::Heft => mapped::whole(instance, algorithm, &Heft),
        PublishedAlgorithm::Cpop => mapped::whole(instance, algorithm, &Cpop),
        PublishedAlgorithm::LayerSwitched => mapped::whole(instance, algorithm, &LayerSwitched),
        PublishedAlgorithm::CoScheduling => co_scheduled::divide(instance),
    }?;
    instance.plan(algorithm, found)
}
