//! Cost models of boards that one does not have, from what others published.

mod accelerators;
mod factors;
mod fitted;
mod measurements;
mod scaling;

use std::collections::BTreeMap;

use millstream_board::{Board, DocumentError, ProcessorClass, Provenance};
use millstream_cost::{PowerOrigin, TransferModel};
use millstream_graph::Graph;
use millstream_partition::Chain;
use serde::Serialize;

use crate::error::PredictError;
use crate::model::{FamilyModel, ModelTerm, ProcessorModel};
use crate::models::{COST_FORMAT, COST_VERSION, CostModels};
use crate::power::{ClusterPower, PowerModel};
use crate::profile::records;
use crate::samples::OperatorRecord;
use crate::transfer::ClusterTransfer;
use fitted::{Fitted, Row, amounts};

pub use factors::NetworkFactor;

pub use accelerators::{AcceleratorCostModel, AcceleratorCosts, MeasuredOperators};
pub use measurements::{
    ActivePower, FamilyTerms, GranularityLine, MEASUREMENTS_FORMAT, MEASUREMENTS_VERSION, Measurements, StatedCosts,
    StatedTransfer, Statement, Throughput, Unsupported,
};
pub use scaling::CoreScaling;

/// A network that measurements name.
#[derive(Debug, Clone, Copy)]
pub struct MeasuredNetwork<'a> {
    /// Its name there.
    pub name: &'a str,
    /// Digest of its model.
    pub digest: &'a str,
    /// Its graph.
    pub graph: &'a Graph,
    /// The graph's blocks.
    pub chain: &'a Chain,
}

/// Models calibrated to published measurements, and how well they fit them.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// The models.
    pub models: CostModels,
    /// One row per measurement.
    pub rows: Vec<CalibrationRow>,
}

/// A measurement beside what the models make of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CalibrationRow {
    /// The network.
    pub model: String,
    /// The processor.
    pub processor: ProcessorClass,
    /// As published, at the board's clock.
    pub measured_seconds: f64,
    /// By the models, before the network's own factor.
    pub fitted_seconds: f64,
    /// By models that were fitted to the other networks; `None` if there are none.
    pub unseen_seconds: Option<f64>,
}

/// Cost models from published measurements:
///
/// 1. Times of whole networks on a cluster are taken apart into four amounts of work (multiply-accumulates, those of
///    1x1 kernels in addition, weight bytes, output bytes), each with a part that the cores share and one that they do
///    not: non-negative least squares on relative errors. Without two numbers of cores, everything is shared.
/// 2. A network that was measured gets a factor per number of cores, so that it takes what was measured: its
///    [`CoreScaling`] over the sum of what the models say. Where threads were seen to gain more than linearly, only the
///    measurement on the most cores is met.
/// 3. What was not measured is as stated.
///
/// # Errors
/// [`PredictError::Document`] if measurements name networks or processors that are not there, or leave a cluster
/// without any.
pub fn calibrate(
    board: &Board,
    measurements: &Measurements,
    networks: &[MeasuredNetwork<'_>],
    provenance: Provenance,
) -> Result<Calibration, PredictError> {
    let records: BTreeMap<&str, Vec<OperatorRecord>> =
        networks.iter().map(|network| (network.name, records(network.graph, network.chain).concat())).collect();
    let rows = rows(board, measurements, &records)?;
    let mut models = CostModels {
        format: COST_FORMAT.to_owned(),
        version: COST_VERSION,
        provenance,
        board: board.to_document(),
        board_fingerprint: board.fingerprint(),
        processors: Vec::new(),
        fusions: Vec::new(),
        transfers: measurements.transfers.iter().map(transfer).collect(),
        power: powers(board, measurements),
        accelerators: Vec::new(),
        convolutions: Vec::new(),
        networks: Vec::new(),
    };

    for cluster in board.clusters() {
        let cluster_rows: Vec<&Row<'_>> = rows.iter().filter(|row| row.label == cluster.label).collect();
        for count in 1..=cluster.cores.len() {
            let class = cluster.class(count);
            models.processors.push(cluster_model(class, &cluster_rows, measurements)?);
        }
    }

    resolve_likenesses(board, measurements, &mut models)?;
    for accelerator in board.accelerators() {
        let accelerator_rows: Vec<&Row<'_>> = rows.iter().filter(|row| row.label == accelerator.label).collect();
        let stated = measurements.stated.iter().find(|stated| stated.label == accelerator.label);
        let model = match stated.and_then(|stated| AcceleratorCostModel::of(&stated.costs)) {
            Some(model) => model,
            None if accelerator_rows.is_empty() => return Err(nothing_known(&accelerator.label)),
            None => AcceleratorCostModel::Terms(FamilyModel::stated(None, Fitted::to(&accelerator_rows).terms(1))),
        };
        let unsupported = measurements.unsupported.iter().filter(|entry| entry.label == accelerator.label);
        let unsupported = unsupported.flat_map(|entry| entry.op_types.iter().cloned()).collect();
        models.accelerators.push(AcceleratorCosts { label: accelerator.label.clone(), model, unsupported });
    }

    models.networks = factors(board, &rows, networks);
    let rows = rows.iter().map(|row| compared(row, &rows)).collect();
    Ok(Calibration { models, rows })
}

/// A measurement beside what the fit says of it, with it and without its network.
fn compared(row: &Row<'_>, all: &[Row<'_>]) -> CalibrationRow {
    let same: Vec<&Row<'_>> = all.iter().filter(|other| other.label == row.label).collect();
    let others: Vec<&Row<'_>> = same.iter().filter(|other| other.model != row.model).copied().collect();
    CalibrationRow {
        model: row.model.to_owned(),
        processor: ProcessorClass::new(row.label.to_owned(), row.cores),
        measured_seconds: row.seconds,
        fitted_seconds: Fitted::to(&same).seconds(row),
        unseen_seconds: (!others.is_empty()).then(|| Fitted::to(&others).seconds(row)),
    }
}

fn invalid(field: impl Into<String>, detail: String) -> PredictError {
    DocumentError::invalid::<Measurements>(field, detail).into()
}

fn nothing_known(label: &str) -> PredictError {
    invalid("throughputs", format!("say nothing of '{label}', and neither does 'stated'"))
}

fn rows<'a>(
    board: &'a Board,
    measurements: &'a Measurements,
    records: &BTreeMap<&str, Vec<OperatorRecord>>,
) -> Result<Vec<Row<'a>>, PredictError> {
    let classes: Vec<ProcessorClass> = board.processor_classes().collect();
    let row = |(index, throughput): (usize, &'a Throughput)| {
        let invalid = |field: &str, detail: String| invalid(format!("throughputs[{index}].{field}"), detail);
        let unknown = || invalid("model", format!("is '{}', which is no network of the zoo", throughput.model));
        let operators = records.get(throughput.model.as_str()).ok_or_else(unknown)?;
        if !classes.contains(&throughput.processor) {
            return Err(invalid(
                "processor",
                format!("is {}, which board '{}' does not have", throughput.processor, board.name()),
            ));
        }
        let clock = clock(board, &throughput.processor.cluster);
        let slower = throughput.hertz.zip(clock).map_or(1.0, |(measured, here)| measured as f64 / here as f64);
        Ok(Row {
            model: &throughput.model,
            label: &throughput.processor.cluster,
            cores: throughput.processor.count,
            seconds: slower / throughput.frames_per_second,
            amounts: amounts(operators),
        })
    };
    measurements.throughputs.iter().enumerate().map(row).collect()
}

/// The highest clock of a cluster or accelerator.
fn clock(board: &Board, label: &str) -> Option<u64> {
    match board.accelerator(label) {
        Some(accelerator) => accelerator.hertz,
        None => board.cluster(label).ok()?.operating_points.last().map(|point| point.hertz),
    }
}

/// The model of some cores of a cluster. Clusters that are like another one get theirs later, and an empty one until
/// then.
fn cluster_model(
    class: ProcessorClass,
    rows: &[&Row<'_>],
    measurements: &Measurements,
) -> Result<ProcessorModel, PredictError> {
    let stated = measurements.stated.iter().find(|stated| stated.label == class.cluster);
    let cores = class.count;
    match stated.map(|stated| &stated.costs) {
        Some(StatedCosts::Terms(families)) => {
            let of = |family: &FamilyTerms| {
                let term = |term: &ModelTerm| ModelTerm { seconds: term.seconds / cores as f64, ..term.clone() };
                FamilyModel::stated(family.family, family.terms.iter().map(term).collect())
            };
            let (pooled, families): (Vec<_>, Vec<_>) =
                families.iter().map(of).partition(|model| model.family.is_none());
            let pooled = pooled.into_iter().next().ok_or_else(|| nothing_known(&class.cluster))?;
            Ok(ProcessorModel::stated(class, families, pooled))
        }
        Some(_) => Ok(ProcessorModel::stated(class, Vec::new(), FamilyModel::stated(None, Vec::new()))),
        None if rows.is_empty() => Err(nothing_known(&class.cluster)),
        None => Ok(ProcessorModel::stated(class, Vec::new(), FamilyModel::stated(None, Fitted::to(rows).terms(cores)))),
    }
}

/// Gives clusters that are like others their models.
fn resolve_likenesses(board: &Board, measurements: &Measurements, models: &mut CostModels) -> Result<(), PredictError> {
    for (index, stated) in measurements.stated.iter().enumerate() {
        let StatedCosts::Like { label, slowness } = &stated.costs else { continue };
        let unknown = || {
            let detail = format!("is '{label}', which is no cluster of board '{}'", board.name());
            invalid(format!("stated[{index}].costs.like.label"), detail)
        };
        let like_cluster = board.cluster(label).map_err(|_| unknown())?;
        let most = like_cluster.cores.len();
        let own_cluster = board.cluster(&stated.label).map_err(|_| unknown())?;
        for count in 1..=own_cluster.cores.len() {
            let like = like_cluster.class(count.min(most));
            let factor = slowness * like.count as f64 / count as f64;
            let source = models.processors.iter().find(|model| model.processor == like).ok_or_else(unknown)?;
            let slower = |model: &FamilyModel| {
                let term = |term: &ModelTerm| ModelTerm { seconds: term.seconds * factor, ..term.clone() };
                FamilyModel { terms: model.terms.iter().map(term).collect(), ..model.clone() }
            };
            let (families, pooled) = (source.families.iter().map(slower).collect(), slower(&source.pooled));
            let class = own_cluster.class(count);
            if let Some(model) = models.processors.iter_mut().find(|model| model.processor == class) {
                (model.families, model.pooled) = (families, pooled);
            }
        }
    }
    Ok(())
}

/// A factor per measured network, cluster and number of cores.
fn factors(board: &Board, rows: &[Row<'_>], networks: &[MeasuredNetwork<'_>]) -> Vec<NetworkFactor> {
    let mut found = Vec::new();
    for class in board.processor_classes() {
        let of_label: Vec<&Row<'_>> = rows.iter().filter(|row| row.label == class.cluster).collect();
        let fitted = Fitted::to(&of_label);
        for network in networks {
            let network_rows: Vec<&&Row<'_>> = of_label.iter().filter(|row| row.model == network.name).collect();
            let seconds: Vec<(usize, f64)> = network_rows.iter().map(|row| (row.cores, row.seconds)).collect();
            let (Some(scaling), Some(row)) = (CoreScaling::through(&seconds), network_rows.first()) else { continue };
            let expected = fitted.seconds(&Row { cores: class.count, amounts: row.amounts.clone(), ..***row });
            found.push(NetworkFactor {
                model: network.name.to_owned(),
                digest: network.digest.to_owned(),
                processor: class.clone(),
                factor: scaling.seconds(class.count) / expected.max(1e-12),
            });
        }
    }
    found
}

fn transfer(stated: &StatedTransfer) -> ClusterTransfer {
    ClusterTransfer {
        from: stated.from.clone(),
        to: stated.to.clone(),
        model: TransferModel {
            latency_seconds: stated.latency_seconds,
            seconds_per_byte: 1.0 / stated.bytes_per_second,
            conversion_seconds_per_byte: 0.0,
            blocks: stated.blocks,
        },
    }
}

/// What clusters draw at work, as the mean over what was measured of all their cores; what the board file says goes
/// first.
fn powers(board: &Board, measurements: &Measurements) -> Vec<ClusterPower> {
    let mut known = crate::power::fit_power(board, &[]);
    let labels = board.clusters().iter().map(|cluster| {
        let point = cluster.operating_points.iter().rev().find_map(|point| Some((point.volts?, point.hertz)));
        (&cluster.label, cluster.cores.len(), point)
    });
    let accelerators = board
        .accelerators()
        .iter()
        .map(|accelerator| (&accelerator.label, 1, accelerator.volts.zip(accelerator.hertz)));
    for (label, count, point) in labels.chain(accelerators) {
        let powers = measurements.powers.iter().filter(|power| power.processor.cluster == *label);
        // A part of the cores is a part of the power.
        let watts: Vec<f64> =
            powers.map(|power| power.active_watts * count as f64 / power.processor.count as f64).collect();
        let Some((volts, hertz)) = point.filter(|_| !watts.is_empty()) else { continue };
        if known.iter().any(|power| power.cluster == *label) {
            continue;
        }
        let mean = watts.iter().sum::<f64>() / watts.len() as f64;
        let capacitance_farads = mean / (volts * volts * hertz as f64);
        let model = PowerModel { capacitance_farads, leakage_amperes: 0.0 };
        known.push(ClusterPower { cluster: label.clone(), model, origin: PowerOrigin::PublishedAtWork });
    }
    known
}
