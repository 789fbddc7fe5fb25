//! The file of a way to share a board.

use millstream_pipeline::{Objective, Sharing, ThroughputBound};
use millstream_schedule::{
    Prediction, SCHEDULE_SET_FORMAT, SCHEDULE_SET_VERSION, Schedule, ScheduleDocument, ScheduleSetDocument,
    SharedSchedule,
};
use millstream_sim::SteadyState;

use super::Shared;
use super::search::Found;
use super::shared_board::{SharedBoard, SharedNetwork};
use super::together::BesideOthers;
use crate::error::Error;
use crate::schedules::document;

/// The search for a way to share: exact for divisions without teams, deadlines and memory limits only, so it is not
/// called so.
const SEARCH: &str = "best-of-divisions-and-turns";
/// The same where simulations of networks that hold each other up chose.
const SIMULATED_SEARCH: &str = "best-of-divisions-and-turns-then-simulated";

impl SharedBoard<'_> {
    /// What was found, with its file. Of each network that says what it does by itself where it takes turns, and beside
    /// the others where it has processors of its own.
    pub(super) fn shared(&self, Found { sharing, other_rounds_per_second }: Found) -> Result<Shared, Error> {
        self.check_memory(&sharing)?;
        let Sharing { takes_turns, rounds_per_second, ref schedules, .. } = sharing;
        let together = self.simulate(&sharing)?;
        let mut networks = Vec::with_capacity(self.networks.len());
        for (place, (shared, schedule)) in self.networks.iter().zip(schedules).enumerate() {
            let beside_others = together.as_ref().and_then(|together| together.networks.get(place));
            let document = self.network_document(shared, schedule, beside_others, takes_turns)?;
            networks.push(shared.in_set(document));
        }

        let document = ScheduleSetDocument {
            format: SCHEDULE_SET_FORMAT.to_owned(),
            version: SCHEDULE_SET_VERSION,
            rounds_per_second,
            takes_turns,
            networks,
        };
        let latencies = |all: Vec<BesideOthers>| all.into_iter().map(|beside| beside.latency).collect();
        let simulated_latencies = together.filter(|_| takes_turns).map(|together| latencies(together.networks));
        Ok(Shared { document, other_rounds_per_second, simulated_latencies })
    }

    fn network_document(
        &self,
        SharedNetwork { network, table, .. }: &SharedNetwork<'_>,
        schedule: &Schedule,
        beside_others: Option<&BesideOthers>,
        takes_turns: bool,
    ) -> Result<ScheduleDocument, Error> {
        let (board, graph) = (self.board, network.graph());
        let lower_bound = ThroughputBound::of(graph, board, table).period.seconds();
        let alone = SteadyState::of(schedule, graph, table, board.memory_bytes_per_second())?;
        let mut predicted = Prediction::new(&alone.evaluation, lower_bound).with_energy(alone.energy);
        if let Some(beside) = beside_others.filter(|_| !takes_turns) {
            predicted.period_seconds = beside.period_seconds;
            predicted.latency_seconds = beside.latency.as_secs_f64();
            predicted = predicted.with_energy(beside.energy);
        }
        let algorithm = if beside_others.is_some() { SIMULATED_SEARCH } else { SEARCH };
        Ok(document(schedule, predicted, algorithm, Objective::Throughput, network, board))
    }
}

impl SharedNetwork<'_> {
    /// Its schedule among those of the set, with what was wanted of it.
    fn in_set(&self, schedule: ScheduleDocument) -> SharedSchedule {
        let deadline_seconds = self.share.deadline.map(|deadline| deadline.as_secs_f64());
        let margin = deadline_seconds.and(Some(self.share.margin).filter(|margin| *margin > 0.0));
        SharedSchedule { weight: self.share.weight, deadline_seconds, margin, schedule }
    }
}
