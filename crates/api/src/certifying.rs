//! Certificates of schedules: written after a search, and checked without it.

use std::path::Path;

use millstream_board::{Board, ProcessorClass};
use millstream_certify::{
    CERTIFICATE_FORMAT, CERTIFICATE_VERSION, Certificate, PartsPerBillion, ReachedState, SearchedProof, SearchedTeams,
    SingleProcessorProof, TeamProof, ThroughputProof, check, check_prediction,
};
use millstream_cost::{CostTable, Nanoseconds};
use millstream_pipeline::{PeriodBound, PipelineError, Problem, SingleProcessorReach, TeamSpace, ThroughputBound};
use millstream_schedule::ScheduleDocument;
use millstream_sim::SteadyState;

use crate::error::InFile;
use crate::plans::with_timed_engines;
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
        let reach = SingleProcessorReach::of(&self.problem);
        // What is too much to be written down of single processors is so with teams; where only teams run the network, there is nothing to say
        // of the others.
        let is_writable = !matches!(reach, Ok(None));
        let reach = match reach {
            Err(PipelineError::Infeasible) => None,
            other => other?,
        };
        let certificate = written(document, evaluated, &self.bound);
        let searched = is_writable.then(|| self.searched_proof(network, board, &searched)).transpose()?;
        let unproven = document.predicted.searched.clone().filter(|_| searched.is_none());
        Ok(Certificate { single_processors: reach.map(proof), searched, unproven, ..certificate })
    }

    /// What proves the bound on all that was searched, which is by the costs alone.
    fn searched_proof(&self, network: &Network, board: &Board, table: &CostTable) -> Result<SearchedProof, Error> {
        let (PeriodBound(period), space) = self.searched;
        let board = &with_timed_engines(board, table);
        let ground = (&**network.graph(), network.chain(), board, table);
        let problem = Problem::with_teams_and_effort(ground, &space.teams(board), self.aim.effort)?;
        let mut worths: Vec<TeamProof> = problem.team_worths().map(|(team, own)| sorted(team, own)).collect();
        worths.sort_by(|one, other| one.processors.cmp(&other.processors));
        let TeamSpace { most_processors, spans_clusters, has_all_counts } = space;
        let teams = SearchedTeams { most_processors, spans_clusters, has_all_counts };
        Ok(SearchedProof { period_nanoseconds: period.0, teams, worths })
    }
}

/// What is proven of a team, with its processors in alphabetical order.
fn sorted(team: &[ProcessorClass], own: &millstream_pipeline::TeamWorths) -> TeamProof {
    let mut places: Vec<usize> = (0..team.len()).collect();
    places.sort_by_key(|&place| team[place].to_string());
    let parts = |parts: &Vec<u64>| match parts.is_empty() {
        true => Vec::new(),
        false => places.iter().map(|&place| parts[place]).collect(),
    };
    TeamProof {
        processors: places.iter().map(|&place| team[place].to_string()).collect(),
        subgraphs: own.subgraphs.iter().map(parts).collect(),
        tiles: parts(&own.tiles),
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
        is_measured: document.predicted.is_measured,
        evaluated_period_nanoseconds: evaluated.0,
        gap: predicted / bound.period.seconds().max(1e-12) - 1.0,
        throughput: ThroughputProof {
            period_nanoseconds: bound.period.0,
            shares: bound.shares.iter().map(parts).collect(),
        },
        single_processors: None,
        searched: None,
        unproven: None,
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
    if !document.predicted.is_measured {
        check_simulated(document, scheduled, board, &table).in_file(path)?;
    }
    Ok(certificate)
}

/// Whether all that was promised is what a simulation shows, where processors wait for memory or stages and replicas for the same link.
fn check_simulated(
    document: &ScheduleDocument,
    Scheduled { network, schedule, .. }: &Scheduled,
    board: &Board,
    table: &CostTable,
) -> Result<(), Error> {
    let (graph, rate) = (network.graph(), board.memory_bytes_per_second());
    let SteadyState { mut evaluation, energy } = SteadyState::of(schedule, graph, table, rate)?;
    // Of few frames, a simulation may show a little less than what is possible.
    let unhindered = schedule.evaluate(graph, &table.within_memory_of(board, graph))?.least_period();
    let bound = Nanoseconds::from_seconds(document.predicted.lower_bound_period_seconds);
    evaluation.period = evaluation.period.max(unhindered).max(bound);
    Ok(check_prediction(&document.predicted, &evaluation, energy)?)
}
