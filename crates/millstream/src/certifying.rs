//! Certificates of schedules: written after a search, and checked without it.

use std::path::Path;

use millstream_board::Board;
use millstream_certify::{
    CERTIFICATE_FORMAT, CERTIFICATE_VERSION, Certificate, PartsPerBillion, ReachedState, SingleProcessorProof,
    ThroughputProof, check,
};
use millstream_pipeline::{PipelineError, SingleProcessorReach};
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
        let predicted = document.predicted.period_seconds;
        let bound = self.bound.period;
        let searched = self.table.within_memory_of(board, network.graph());
        let parts = |(label, parts): &(String, u64)| PartsPerBillion { label: label.clone(), parts: *parts };
        let reach = match SingleProcessorReach::of(&self.problem) {
            Err(PipelineError::Infeasible) => None,
            other => other?,
        };
        Ok(Certificate {
            format: CERTIFICATE_FORMAT.to_owned(),
            version: CERTIFICATE_VERSION,
            provenance: provenance(),
            model: document.model.clone(),
            board: document.board.clone(),
            clocks: document.clocks.clone(),
            configuration: document.configuration.clone(),
            predicted_period_seconds: predicted,
            evaluated_period_nanoseconds: schedule.evaluate(network.graph(), &searched)?.period.0,
            gap: predicted / bound.seconds().max(1e-12) - 1.0,
            throughput: ThroughputProof {
                period_nanoseconds: bound.0,
                shares: self.bound.shares.iter().map(parts).collect(),
            },
            single_processors: reach.map(proof),
        })
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
