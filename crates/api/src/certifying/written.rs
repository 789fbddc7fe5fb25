//! Certificates written after a search.

use millstream_board::{Board, ProcessorClass};
use millstream_certify::{
    CERTIFICATE_FORMAT, CERTIFICATE_VERSION, Certificate, PartsPerBillion, ReachedState, SearchedProof, SearchedTeams,
    SingleProcessorProof, TeamProof, ThroughputProof,
};
use millstream_cost::Nanoseconds;
use millstream_pipeline::{
    ClusterId, PeriodBound, PipelineError, ReachableState, ReachableStates, TeamSpace, ThroughputBound,
};
use millstream_schedule::ScheduleDocument;

use crate::error::Error;
use crate::network::Network;
use crate::plans::{Plans, ProvenSearch};
use crate::provenance;

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
        let reach = ReachableStates::of(&self.problem);
        // What is too much to be written down of single processors is so with teams; where only teams run the network,
        // there is nothing to say of the others.
        let is_writable = !matches!(reach, Ok(None));
        let reach = match reach {
            Err(PipelineError::Infeasible) => None,
            other => other?,
        };
        let certificate = written(document, evaluated, &self.bound);
        let searched = is_writable.then(|| self.searched_proof());
        let unproven = document.predicted.searched.clone().filter(|_| searched.is_none());
        Ok(Certificate { single_processors: reach.map(proof), searched, unproven, ..certificate })
    }

    /// What proves the bound on all that was searched, which is by the costs alone.
    fn searched_proof(&self) -> SearchedProof {
        let ProvenSearch { by_costs, bound: PeriodBound(period), teams: space } = &self.searched;
        let mut dual_prices: Vec<TeamProof> =
            by_costs.team_dual_prices().map(|(team, prices)| sorted(team, prices)).collect();
        dual_prices.sort_by(|one, other| one.processors.cmp(&other.processors));
        let TeamSpace { most_processors, spans_clusters, has_all_counts } = *space;
        let teams = SearchedTeams { most_processors, spans_clusters, has_all_counts };
        SearchedProof { period_nanoseconds: period.0, teams, dual_prices }
    }
}

/// What is proven of a team, with its processors in alphabetical order.
fn sorted(team: &[ProcessorClass], prices: &millstream_pipeline::DualPrices) -> TeamProof {
    let mut places: Vec<usize> = (0..team.len()).collect();
    places.sort_by_key(|&place| team[place].to_string());
    let parts = |parts: &Vec<u64>| {
        if parts.is_empty() { Vec::new() } else { places.iter().map(|&place| parts[place]).collect() }
    };
    TeamProof {
        processors: places.iter().map(|&place| team[place].to_string()).collect(),
        subgraphs: prices.subgraphs.iter().map(parts).collect(),
        tiles: parts(&prices.tiles),
    }
}

/// The certificate of a schedule with this period by its costs: what bounds every schedule, and nothing about single
/// processors.
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
        is_measured: document.predicted.is_measured,
        evaluated_period_nanoseconds: evaluated.0,
        gap: predicted / bound.period.seconds().max(1e-12) - 1.0,
        throughput: ThroughputProof {
            period_nanoseconds: bound.period.0,
            shares: bound.shares.iter().map(parts).collect(),
        },
        single_processors: None,
        searched: None,
        hosts: None,
        unproven: None,
    }
}

fn proof(reach: ReachableStates) -> SingleProcessorProof {
    let states = reach.states.into_iter();
    SingleProcessorProof {
        period_nanoseconds: reach.period.0,
        blocks: reach.blocks,
        reached: states.map(reached_state).collect(),
    }
}

fn reached_state(state: ReachableState) -> ReachedState {
    let ReachableState { cores_per_cluster, last_clusters, blocks_done } = state;
    let last = last_clusters.into_iter().map(ClusterId::index).collect();
    ReachedState { used: cores_per_cluster, last, ends: blocks_done }
}
