use anyhow::{Result, bail};
use millstream_board::Board;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_pipeline::{Objective, Problem, Tenant, best_period, divide_processors, share, take_turns};
use millstream_report::{Align, Table, milliseconds};
use millstream_schedule::{Prediction, SCHEDULE_SET_FORMAT, SCHEDULE_SET_VERSION, ScheduleSetDocument, SharedSchedule};

use crate::arguments::ScheduleCommand;
use crate::model::Network;
use crate::{files, machine, output, planning, profiling};

/// Divides the board among the networks of a command.
pub(crate) fn schedule(command: &ScheduleCommand, board: &Board) -> Result<()> {
    let wants = command.aim();
    if command.objective != Objective::Throughput || command.clocks || wants.constraints != Default::default() {
        bail!(
            "several networks are scheduled for their common throughput: use --weight and --deadline instead of other objectives and limits"
        );
    }
    let networks: Vec<Network> =
        command.models.iter().map(|source| Network::load(source, &command.dimensions)).collect::<Result<_>>()?;
    check_names(command, &networks)?;
    let tables: Vec<CostTable> =
        networks.iter().map(|network| costs(command, network, board)).collect::<Result<_>>()?;
    let problems: Vec<Problem> = networks
        .iter()
        .zip(&tables)
        .map(|(network, table)| Problem::new(network.model.graph(), &network.chain, board, table))
        .collect::<Result<_, _>>()?;
    let is_of = |name: &str, network: &Network| name == network.name() || name == network.source;
    let wish = |network: &Network| -> (f64, Option<Nanoseconds>) {
        let weight = command.weights.iter().find(|(name, _)| is_of(name, network)).map_or(1.0, |(_, weight)| *weight);
        let deadline = command.deadlines.iter().find(|(name, _)| is_of(name, network));
        (weight, deadline.map(|(_, time)| Nanoseconds::from(time.0)))
    };
    let wishes: Vec<(f64, Option<Nanoseconds>)> = networks.iter().map(wish).collect();
    let tenants: Vec<Tenant<'_>> = networks
        .iter()
        .zip(&problems)
        .zip(&wishes)
        .map(|((network, problem), &(weight, deadline))| Tenant { name: network.name(), problem, weight, deadline })
        .collect();
    let sharing = share(&tenants)?;
    let alone = problems.iter().map(best_period).collect::<Result<Vec<_>, _>>()?;
    let other = if sharing.takes_turns { divide_processors(&tenants) } else { take_turns(&tenants) };
    let other = other.ok().map(|other| other.rounds_per_second);
    let mut shared = Vec::new();
    for (index, network) in networks.iter().enumerate() {
        let (plan, schedule, table) = (&sharing.plans[index], &sharing.schedules[index], &tables[index]);
        let graph = network.model.graph();
        let lower_bound = alone[index].period.min(plan.period).seconds();
        let predicted =
            Prediction::new(&schedule.evaluate(graph, table)?, lower_bound).with_energy(schedule.energy(graph, table)?);
        let document = planning::document(schedule, predicted, "exact", Objective::Throughput, network, board);
        let (weight, deadline) = wishes[index];
        shared.push(SharedSchedule {
            weight,
            deadline_seconds: deadline.map(Nanoseconds::seconds),
            schedule: document,
        });
    }
    let document = ScheduleSetDocument {
        format: SCHEDULE_SET_FORMAT.to_owned(),
        version: SCHEDULE_SET_VERSION,
        rounds_per_second: sharing.rounds_per_second,
        takes_turns: sharing.takes_turns,
        networks: shared,
    };
    files::write(&command.output, &serde_json::to_string_pretty(&document)?)?;
    if command.json {
        output::json(&document)?;
    } else {
        print_shared(&document, board, other);
    }
    output::remark(format!("wrote {}; run it with: cargo xtask run --schedule {0}", command.output.display()));
    Ok(())
}

fn check_names(command: &ScheduleCommand, networks: &[Network]) -> Result<()> {
    let names = command.weights.iter().map(|(name, _)| name).chain(command.deadlines.iter().map(|(name, _)| name));
    for name in names {
        if !networks.iter().any(|network| name == network.name() || *name == network.source) {
            let known: Vec<&str> = networks.iter().map(Network::name).collect();
            bail!("no network is called '{name}'; there are {}", known.join(", "));
        }
    }
    Ok(())
}

/// Costs from files, or from a cached or new profile.
fn costs(command: &ScheduleCommand, network: &Network, board: &Board) -> Result<CostTable> {
    if command.cost.is_some() || command.profile.is_some() {
        return profiling::costs(command.cost.as_deref(), command.profile.as_deref(), network, board);
    }
    machine::check_usable(board)?;
    Ok(profiling::measured_costs(network, board, command.fresh)?.0)
}

fn print_shared(document: &ScheduleSetDocument, board: &Board, other: Option<f64>) {
    let how = if document.takes_turns { "in turn on the same processors" } else { "each on processors of its own" };
    output::line(format!("{} networks on {}, {how}\n", document.networks.len(), board.name()));
    let mut table = Table::new([
        ("network", Align::Left),
        ("stages", Align::Left),
        ("weight", Align::Right),
        ("frames/s", Align::Right),
        ("latency ms alone", Align::Right),
        ("deadline ms", Align::Right),
    ]);
    for own in &document.networks {
        let predicted = &own.schedule.predicted;
        table.row([
            own.schedule.model.name.clone(),
            own.schedule.configuration.clone(),
            own.weight.to_string(),
            format!(
                "{:.1}",
                if document.takes_turns {
                    own.weight * document.rounds_per_second
                } else {
                    1.0 / predicted.period_seconds
                }
            ),
            milliseconds(predicted.latency_seconds),
            own.deadline_seconds.map_or("-".to_owned(), milliseconds),
        ]);
    }
    output::line(table);
    let rounds = document.rounds_per_second;
    output::line(format!("\nPredicted: {rounds:.2} rounds of frames a second."));
    if let Some(other) = other {
        let how = if document.takes_turns { "With processors of their own" } else { "In turn on the whole board" };
        output::line(format!("{how} there would be {other:.2}: this is {:.2} times as many.", rounds / other));
    }
}
