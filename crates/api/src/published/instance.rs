//! The instance that all published algorithms are given: a network, a board and its costs; and what their schedules are
//! worth on it.

use std::cell::OnceCell;

use millstream_board::{Board, Processor, ProcessorClass};
use millstream_cost::{ClassId, CostTable};
use millstream_pipeline::{Effort, PipelineError, Problem, ThroughputBound};
use millstream_schedule::{Prediction, Schedule, ScheduleError};
use millstream_sim::SteadyState;

use super::found_plan::SearchWork;
use super::processors::processors;
use crate::control::Control;
use crate::error::Error;
use crate::network::Network;
use crate::plans::timed::with_what_has_times;
use crate::published::PublishedPlan;
use crate::published_algorithm::PublishedAlgorithm;
use crate::schedules::document;

/// A network on a board with its costs, and the processors to share out to.
pub(super) struct Instance<'a> {
    pub(super) network: &'a Network,
    pub(super) board: &'a Board,
    table: CostTable,
    /// The same where everybody has the memory alone: what searches count with.
    pub(super) searched: CostTable,
    /// What is shared out to.
    pub(super) processors: Vec<Processor>,
    pub(super) effort: Effort,
    pub(super) control: &'a Control,
    bound: ThroughputBound,
    /// What Para-Pipe's strategies choose from, once one of them has asked.
    pub(super) para_pipe: OnceCell<Problem>,
}

/// What an algorithm found.
pub(super) struct Found {
    pub(super) schedule: Schedule,
    pub(super) work: SearchWork,
}

impl<'a> Instance<'a> {
    pub(super) fn new(
        network: &'a Network,
        board: &'a Board,
        table: CostTable,
        chosen: Option<&str>,
        effort: Effort,
        control: &'a Control,
    ) -> Result<Self, Error> {
        let processors = processors(&with_what_has_times(board, &table), chosen)?;
        let searched = table.within_memory_of(board, network.graph());
        let bound = ThroughputBound::of(network.graph(), board, &table);
        let para_pipe = OnceCell::new();
        Ok(Self { network, board, table, searched, processors, effort, control, bound, para_pipe })
    }

    /// The processors' classes.
    pub(super) fn classes(&self) -> Vec<ProcessorClass> {
        self.processors.iter().map(Processor::class).collect()
    }

    /// The processors' places in the table.
    pub(super) fn places(&self) -> Result<Vec<ClassId>, Error> {
        let find = |class| self.searched.find(&class).ok_or(PipelineError::MissingProcessor { class });
        Ok(self.classes().into_iter().map(find).collect::<Result<_, _>>()?)
    }

    /// What a schedule takes: by the costs, and simulated where processors compete for memory.
    pub(super) fn prediction(&self, schedule: &Schedule) -> Result<Prediction, Error> {
        let rate = self.board.memory_bytes_per_second();
        let seen = SteadyState::of(schedule, self.network.graph(), &self.table, rate)?;
        let prediction = Prediction::new(&seen.evaluation, self.bound.period.seconds());
        Ok(prediction.with_energy(seen.energy))
    }

    /// The plan that a schedule is, if it can run.
    pub(super) fn plan(&self, algorithm: PublishedAlgorithm, found: Found) -> Result<PublishedPlan, Error> {
        let Found { schedule, work } = found;
        let (network, board) = (self.network, self.board);
        schedule.validate(network.graph(), board).map_err(|error| refused(algorithm, error))?;
        let predicted = self.prediction(&schedule)?;
        let document = document(&schedule, predicted, algorithm.name(), algorithm.objective(), network, board);
        let (table, bound) = (self.table.clone(), self.bound.period);
        Ok(PublishedPlan { algorithm, schedule, document, table, bound, work })
    }
}

/// Of accelerators' memories no published algorithm knows.
fn refused(algorithm: PublishedAlgorithm, error: ScheduleError) -> Error {
    match error {
        ScheduleError::AcceleratorMemory { accelerator, needed_bytes, most_bytes } => {
            let reason = format!(
                "puts operators on {accelerator} that hold {needed_bytes} bytes there, and it has {most_bytes}; choose other processors for it"
            );
            Error::Algorithm { algorithm, reason }
        }
        other => other.into(),
    }
}
