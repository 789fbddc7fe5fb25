//! What the command reports of one network's plan.

use millstream::{Network, Plans, SearchWork};
use millstream_cost::{Clocks, Nanoseconds};
use millstream_pipeline::{ClockedPlan, Nanojoules, Objective, Plan};
use millstream_predict::LeftOutEngine;
use millstream_report::{FrontRow, ReportChapter, bound_text};
use millstream_schedule::{Prediction, ScheduleDocument};
use serde::Serialize;

use crate::output;

/// What was planned for a network at one size.
pub(super) struct OnePlan {
    pub(super) document: ScheduleDocument,
    pub(super) front: Vec<Point>,
    pub(super) clocked_front: Vec<ClockedPoint>,
    /// What other algorithms made, if they were asked.
    pub(super) algorithms: Vec<AlgorithmPoint>,
    /// Engines that were not measured further.
    pub(super) left_out_engines: Vec<LeftOutEngine>,
    /// Its part of the page, if one is wanted.
    pub(super) chapter: Option<ReportChapter>,
}

#[derive(Serialize)]
pub(super) struct Point {
    configuration: String,
    period_seconds: f64,
    latency_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    joules_per_frame: Option<f64>,
    /// Whether a trial showed these numbers.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_measured: bool,
    best_for: Vec<String>,
}

impl Point {
    pub(super) fn of(row: FrontRow) -> Self {
        Self {
            configuration: row.configuration,
            period_seconds: row.period_seconds,
            latency_seconds: row.latency_seconds,
            joules_per_frame: row.joules_per_frame,
            is_measured: row.is_measured,
            best_for: row.chosen_for,
        }
    }
}

/// Says which operators the models can't predict.
pub(super) fn warn_of_unpredictable(network: &Network) {
    let unknown = network.unpredictable();
    if let Some(first) = unknown.first() {
        output::remark(format!(
            "warning: the shape of what {} of {} operators make is unknown, '{first}' the first of them, so their times count as next to \
             nothing; a profile of the network would know them",
            unknown.len(),
            network.graph().operators().len()
        ));
    }
}

/// The front with what is best for each objective.
pub(super) fn front_rows(plans: &Plans, chosen: &Plan, objective: Objective) -> Vec<FrontRow> {
    let row = |(plan, best_for): (&Plan, Vec<Objective>)| FrontRow {
        configuration: plans.schedule(plan).to_string(),
        period_seconds: plan.period.seconds(),
        latency_seconds: plan.latency.seconds(),
        joules_per_frame: plan.energy.map(Nanojoules::joules),
        is_measured: plans.is_measured(plan),
        chosen_for: best_for.iter().map(ToString::to_string).collect(),
    };
    plans.front_with_best(chosen, objective).into_iter().map(row).collect()
}

/// What is proven of a schedule that a search found.
pub(super) fn bound(document: &ScheduleDocument, plans: &Plans) -> String {
    let single = plans.best_on_single_processors.map(Nanoseconds::seconds);
    bound_text(document, single, document.predicted.searched.as_ref(), plans.competes_for_memory)
}

/// A point at some clocks.
#[derive(Serialize)]
pub(super) struct ClockedPoint {
    clocks: Clocks,
    configuration: String,
    period_seconds: f64,
    latency_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    joules_per_frame: Option<f64>,
}

impl ClockedPoint {
    pub(super) fn of(found: ClockedPlan) -> Self {
        Self {
            configuration: found.plan.configuration(),
            clocks: found.clocks,
            period_seconds: found.plan.period.seconds(),
            latency_seconds: found.plan.latency.seconds(),
            joules_per_frame: found.plan.energy.map(Nanojoules::joules),
        }
    }
}

/// What an algorithm made, in JSON.
#[derive(Serialize)]
pub(super) struct AlgorithmPoint {
    pub(super) algorithm: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    #[serde(flatten)]
    pub(super) found: Option<FoundPoint>,
}

#[derive(Serialize)]
pub(super) struct FoundPoint {
    pub(super) configuration: String,
    pub(super) period_seconds: f64,
    pub(super) latency_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) joules_per_frame: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) beside_ours: Option<f64>,
    pub(super) looked_at: u64,
    pub(super) looked_at_unit: &'static str,
}

impl FoundPoint {
    pub(super) fn new(document: &ScheduleDocument, work: SearchWork, beside_ours: Option<f64>) -> Self {
        let Prediction { period_seconds, latency_seconds, joules_per_frame, .. } = document.predicted;
        Self {
            configuration: document.configuration.clone(),
            period_seconds,
            latency_seconds,
            joules_per_frame,
            beside_ours,
            looked_at: work.count,
            looked_at_unit: work.unit,
        }
    }
}
