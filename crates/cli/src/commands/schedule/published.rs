//! Schedules by published algorithms.

use anyhow::{Result, bail};
use millstream::{
    Machine, Network, PublishedAlgorithm, PublishedComparison, PublishedPlan, SearchWork, compare_published,
    plan_published,
};
use millstream_pipeline::Objective;
use millstream_report::{
    AlgorithmOutcome, AlgorithmRow, Part, ReportSection, algorithm_table, algorithm_tables, bound_text, split_table,
    stage_rows, stage_table,
};
use millstream_schedule::ScheduleDocument;

use super::page::Told;
use super::printing::{network_line, prediction_facts, print};
use crate::arguments::{Algorithm, ScheduleCommand};
use crate::commands::schedule::one_plan::{
    AlgorithmPoint, FoundPoint, OnePlan, Point, bound, front_rows, warn_of_unpredictable,
};
use crate::control::control;
use crate::output;

/// Refuses what published algorithms have no part in.
pub(super) fn check(command: &ScheduleCommand) -> Result<()> {
    if command.algorithm == Algorithm::Exact {
        if command.processors.is_some() {
            bail!(
                "--processors is for published algorithms, and the exact search uses all: leave it out, or name an --algorithm"
            );
        }
        return Ok(());
    }
    if command.models.len() > 1 {
        bail!("published algorithms schedule one network: give one --model, or leave --algorithm out");
    }
    if command.clocks {
        bail!("published algorithms know no clocks: leave --clocks or --algorithm out");
    }
    let is_all = command.algorithm == Algorithm::All;
    if command.certificate.is_some() && !is_all {
        bail!("a certificate is of the exact search: leave --certificate or --algorithm out");
    }
    if let Some(algorithm) = command.algorithm.published()
        && command.objective != Objective::Throughput
    {
        bail!("{algorithm} has an objective of its own, {}: leave --objective out", algorithm.objective());
    }
    Ok(())
}

/// A plan by a published algorithm, shown.
pub(super) fn plan_one(
    command: &ScheduleCommand,
    algorithm: PublishedAlgorithm,
    network: &Network,
    machine: &Machine,
) -> Result<OnePlan> {
    let processors = command.processors.as_deref();
    if command.cost.is_some() {
        warn_of_unpredictable(network);
    }

    let plan = plan_published(machine, network, algorithm, &command.aim(), command.on(), processors, &control())?;
    let competes = machine.board().memory_bytes_per_second().is_some();
    let bound = bound_text(&plan.document, None, None, competes);
    if !command.json {
        show(&plan, network, machine, &bound);
    }

    let told = Told {
        network,
        board: machine.board(),
        schedule: &plan.schedule,
        document: &plan.document,
        front: &[],
        costs: Some(&plan.table),
        bound: &bound,
    };
    let chapter = command.html.is_some().then(|| told.chapter(Vec::new()));
    let point = AlgorithmPoint {
        algorithm: algorithm.name().to_owned(),
        source: Some(algorithm.source()),
        reason: None,
        found: Some(FoundPoint::new(&plan.document, plan.work, None)),
    };
    Ok(OnePlan {
        document: plan.document,
        front: Vec::new(),
        clocked_front: Vec::new(),
        algorithms: vec![point],
        chapter,
    })
}

/// The exact plan, with all published algorithms beside it.
pub(super) fn plan_all(command: &ScheduleCommand, network: &Network, machine: &Machine) -> Result<OnePlan> {
    let processors = command.processors.as_deref();
    if command.cost.is_some() {
        warn_of_unpredictable(network);
    }

    let compared = compare_published(machine, network, &command.aim(), command.on(), processors, &control())?;
    let exact = &compared.exact;
    let front = front_rows(&exact.plans, &exact.plan, command.objective);
    let schedule = exact.plans.problem.schedule(&exact.plan);
    let heading = format!("Published algorithms by the same costs\n(gap: {}):", gap_of(command.objective));
    if !command.json {
        print(network, machine.board(), &front, &schedule, &exact.document, &exact.plans);
        output::line(format!("\n{heading}\n"));
        output::line(algorithm_tables(&table_rows(&compared)));
    }

    let bound = bound(&exact.document, &exact.plans);
    let told = Told {
        network,
        board: machine.board(),
        schedule: &schedule,
        document: &exact.document,
        front: &front,
        costs: Some(&exact.plans.table),
        bound: &bound,
    };
    let chapter = command.html.is_some().then(|| {
        let parts = vec![Part::Text(heading), Part::Table(algorithm_table(&table_rows(&compared)))];
        told.chapter(vec![ReportSection::new("Published algorithms", parts)])
    });
    Ok(OnePlan {
        document: exact.document.clone(),
        front: front.into_iter().map(Point::of).collect(),
        clocked_front: Vec::new(),
        algorithms: points(&compared),
        chapter,
    })
}

fn gap_of(objective: Objective) -> &'static str {
    match objective {
        Objective::Throughput | Objective::Balanced => "period beside the shortest that 'exact' found",
        Objective::Latency => "latency beside the lowest that 'exact' found",
        Objective::Energy => "energy of a frame beside the lowest that 'exact' found",
    }
}

fn show(plan: &PublishedPlan, network: &Network, machine: &Machine, bound: &str) {
    let PublishedPlan { algorithm, schedule, document, table, work, .. } = plan;
    output::line(network_line(network, machine.board()));
    output::prose(format!("\n{algorithm} ({}), after {}: {}\n", algorithm.source(), work, document.configuration));
    output::table(&stage_table(&stage_rows(schedule, document, network.graph())));
    if let Some(table) = split_table(schedule, network.graph(), table) {
        output::line("\nOperators that processors share:\n");
        output::table(&table);
    }
    output::line("");
    output::facts(&prediction_facts(&document.predicted, bound));
}

/// The exact search and every published algorithm.
fn points(compared: &PublishedComparison) -> Vec<AlgorithmPoint> {
    let found = |document: &ScheduleDocument, work| FoundPoint::new(document, work, compared.gap(&document.predicted));
    let exact = AlgorithmPoint {
        algorithm: "exact".to_owned(),
        source: None,
        reason: None,
        found: Some(found(&compared.exact.document, compared.work)),
    };
    let published = compared.rows.iter().map(|row| AlgorithmPoint {
        algorithm: row.algorithm.name().to_owned(),
        source: Some(row.algorithm.source()),
        reason: row.outcome.as_ref().err().map(ToString::to_string),
        found: row.outcome.as_ref().ok().map(|plan| found(&plan.document, plan.work)),
    });
    std::iter::once(exact).chain(published).collect()
}

fn table_rows(compared: &PublishedComparison) -> Vec<AlgorithmRow> {
    let row = |point: AlgorithmPoint| {
        let reason = point.reason.unwrap_or_default();
        let outcome = point.found.map(|own| AlgorithmOutcome {
            configuration: own.configuration,
            period_seconds: own.period_seconds,
            latency_seconds: own.latency_seconds,
            joules_per_frame: own.joules_per_frame,
            gap: own.gap,
            searched: SearchWork { count: own.looked_at, unit: own.looked_at_unit }.to_string(),
        });
        AlgorithmRow { name: point.algorithm, outcome: outcome.ok_or(reason) }
    };
    points(compared).into_iter().map(row).collect()
}
