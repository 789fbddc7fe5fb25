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

use super::page::PlanPage;
use super::printing::{network_line, prediction_facts, print};
use crate::arguments::{Algorithm, ScheduleCommand};
use crate::commands::schedule::one_plan::{
    AlgorithmPoint, FoundPoint, OnePlan, Point, bound, front_rows, warn_of_unpredictable,
};
use crate::control::control;
use crate::output;

/// Refuses what published algorithms have no part in.
pub(super) fn check(command: &ScheduleCommand) -> Result<()> {
    if command.algorithm == Algorithm::Millstream {
        if command.processors.is_some() {
            bail!(
                "--processors is for published algorithms, and Millstream's own search uses all: leave it out, or name an --algorithm"
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
        bail!("a certificate is of Millstream's own search: leave --certificate or --algorithm out");
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

    let page = PlanPage {
        network,
        board: machine.board(),
        schedule: &plan.schedule,
        document: &plan.document,
        front: &[],
        costs: Some(&plan.table),
        bound: &bound,
        left_out_engines: &[],
    };
    let chapter = command.html.is_some().then(|| page.chapter(Vec::new()));
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
        left_out_engines: Vec::new(),
        chapter,
    })
}

/// The plan of our own search, with all published algorithms beside it.
pub(super) fn plan_all(command: &ScheduleCommand, network: &Network, machine: &Machine) -> Result<OnePlan> {
    let processors = command.processors.as_deref();
    if command.cost.is_some() {
        warn_of_unpredictable(network);
    }

    let heading =
        format!("Published algorithms by the same costs\n(vs ours: {}):", compared_with_ours(command.objective));
    let compared = compare_published(machine, network, &command.aim(), command.on(), processors, &control())?;
    let ours = &compared.ours;
    let front = front_rows(&ours.plans, &ours.plan, command.objective);
    if !command.json {
        print(network, machine.board(), &front, &ours.schedule, &ours.document, &ours.plans);
        output::line(format!("\n{heading}\n"));
        output::line(algorithm_tables(&table_rows(&compared)));
    }

    let bound = bound(&ours.document, &ours.plans);
    let page = PlanPage {
        network,
        board: machine.board(),
        schedule: &ours.schedule,
        document: &ours.document,
        front: &front,
        costs: Some(&ours.plans.table),
        bound: &bound,
        left_out_engines: &[],
    };
    let chapter = command.html.is_some().then(|| {
        let parts = vec![Part::Text(heading), Part::Table(algorithm_table(&table_rows(&compared)))];
        page.chapter(vec![ReportSection::new("Published algorithms", parts)])
    });
    Ok(OnePlan {
        document: ours.document.clone(),
        front: front.into_iter().map(Point::of).collect(),
        clocked_front: Vec::new(),
        algorithms: points(&compared),
        left_out_engines: Vec::new(),
        chapter,
    })
}

fn compared_with_ours(objective: Objective) -> &'static str {
    match objective {
        Objective::Throughput | Objective::Balanced => "period beside the shortest that Millstream's own search found",
        Objective::Latency => "latency beside the lowest that Millstream's own search found",
        Objective::Energy => "energy of a frame beside the lowest that Millstream's own search found",
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

/// Our own search and every published algorithm.
fn points(compared: &PublishedComparison) -> Vec<AlgorithmPoint> {
    let found =
        |document: &ScheduleDocument, work| FoundPoint::new(document, work, compared.beside_ours(&document.predicted));
    let ours = AlgorithmPoint {
        algorithm: "millstream".to_owned(),
        source: None,
        reason: None,
        found: Some(found(&compared.ours.document, compared.work)),
    };
    let published = compared.rows.iter().map(|row| AlgorithmPoint {
        algorithm: row.algorithm.name().to_owned(),
        source: Some(row.algorithm.source()),
        reason: row.outcome.as_ref().err().map(ToString::to_string),
        found: row.outcome.as_ref().ok().map(|plan| found(&plan.document, plan.work)),
    });
    std::iter::once(ours).chain(published).collect()
}

fn table_rows(compared: &PublishedComparison) -> Vec<AlgorithmRow> {
    let row = |point: AlgorithmPoint| {
        let reason = point.reason.unwrap_or_default();
        let outcome = point.found.map(|found| AlgorithmOutcome {
            configuration: found.configuration,
            period_seconds: found.period_seconds,
            latency_seconds: found.latency_seconds,
            joules_per_frame: found.joules_per_frame,
            beside_ours: found.beside_ours,
            searched: SearchWork { count: found.looked_at, unit: found.looked_at_unit }.to_string(),
        });
        AlgorithmRow { name: point.algorithm, outcome: outcome.ok_or(reason) }
    };
    points(compared).into_iter().map(row).collect()
}
