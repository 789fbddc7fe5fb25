//! Certificates of schedules: written after a search, and checked without it.

use std::path::Path;

use millstream_board::Board;
use millstream_certify::{
    CERTIFICATE_FORMAT, CERTIFICATE_VERSION, Certificate, PartsPerBillion, ReachedState, SingleProcessorProof,
    ThroughputProof, check,
};
use millstream_cost::Nanoseconds;
use millstream_pipeline::{PipelineError, SingleProcessorReach, ThroughputBound};
use millstream_schedule::ScheduleDocument;

use crate::error::InFile;
use crate::{CostSource, Error, Machine, Network, Plans, Scheduled, files, provenance};

impl Plans {
    /// What is proven of a schedule that was made from these plans.
    ///
    /// # Errors
    /// [`Error::Schedule`] if the schedule is not one of the network and the board.
    pub fn certificate(
        &self,
        document: &ScheduleDocument,
        network: &Network,
        board: &Board,
    ) -> Result<Certificate, Error> {
        let schedule = document.resolve(network.graph(), network.digest(), board)?;
        let searched = self.table.within_memory_of(board, network.graph());
        let evaluated = schedule.evaluate(network.graph(), &searched)?.period;
        let reach = match SingleProcessorReach::of(&self.problem) {
            Err(PipelineError::Infeasible) => None,
            other => other?,
        };
        let certificate = written(document, evaluated, &self.bound);
        Ok(Certificate { single_processors: reach.map(proof), ..certificate })
    }
}

/// The certificate of a schedule with this period by its costs: what bounds every schedule, and nothing about single processors.
pub(crate) fn written(document: &ScheduleDocument, evaluated: Nanoseconds, bound: &ThroughputBound) -> Certificate {
    let predicted = document.predicted.period_seconds;
    let parts = |(label, parts): &(String, u64)| PartsPerBillion { label: label.clone(), parts: *parts };
    Certificate {
        format: CERTIFICATE_FORMAT.to_owned(),
        version: CERTIFICATE_VERSION,
        provenance: provenance(),
        model: document.model.clone(),
        board: document.board.clone(),
        clocks: document.clocks.clone(),
        configuration: document.configuration.clone(),
        predicted_period_seconds: predicted,
        evaluated_period_nanoseconds: evaluated.0,
        gap: predicted / bound.period.seconds().max(1e-12) - 1.0,
        throughput: ThroughputProof {
            period_nanoseconds: bound.period.0,
            shares: bound.shares.iter().map(parts).collect(),
        },
        single_processors: None,
    }
}

fn proof(reach: SingleProcessorReach) -> SingleProcessorProof {
    let states = reach.states.into_iter();
    SingleProcessorProof {
        period_nanoseconds: reach.period.0,
        blocks: reach.blocks,
        reached: states.map(|own| ReachedState { used: own.used, last: own.last, ends: own.ends }).collect(),
    }
}

/// Checks the certificate in a file against a schedule, by costs that are known. Nothing is searched.
///
/// # Errors
/// [`Error::Certificate`] with what is not so, [`Error::File`] if the file is no certificate.
pub fn certify(
    path: &Path,
    scheduled: &Scheduled,
    machine: &Machine,
    costs: CostSource<'_>,
) -> Result<Certificate, Error> {
    let certificate = Certificate::from_json(&files::read(path)?).in_file(path)?;
    let Scheduled { network, document, .. } = scheduled;
    let machine = &machine.as_planned(document);
    let board = machine.board();
    let table = costs.table(network, machine)?.at_clocks(board, &document.clocks);
    check(&certificate, document, (network.graph(), network.chain()), board, &table).in_file(path)?;
    Ok(certificate)
}
