//! Schedules with what can be proven of them, and numbers of both that can be claimed to be others.

use std::rc::Rc;

use millstream_board::Provenance;
use millstream_certify::{
    CERTIFICATE_FORMAT, CERTIFICATE_VERSION, Certificate, CertifyError, NetworkBlocks, ReachedState, SearchedProof,
    SearchedTeams, SingleProcessorProof, check,
};
use millstream_cost::{CostTable, Nanoseconds};
use millstream_schedule::{
    BoardReference, ModelReference, Objective, Prediction, SCHEDULE_FORMAT, SCHEDULE_VERSION, Schedule,
    ScheduleDocument, SearchedBound, SearchedSpace, StatedConstraints,
};
use rand_chacha::ChaCha8Rng;

use crate::brute_force::Pipelines;
use crate::proofs::{searched_proof, throughput_proof};
use crate::random_problem::Instance;

/// A schedule, and what is certified of it. Numbers that stand in both are changed in both, so that none is refused for
/// contradicting itself.
#[derive(Clone)]
pub(crate) struct Claims {
    pub(crate) certificate: Certificate,
    pub(crate) schedule: ScheduleDocument,
    /// What pipelines on single processors really reach below a period.
    reached_below: Rc<dyn Fn(u64) -> Vec<ReachedState>>,
}

impl Claims {
    pub(crate) fn check(&self, instance: &Instance) -> Result<(), CertifyError> {
        check(&self.certificate, &self.schedule, blocks(instance), &instance.board, &instance.table)
    }

    /// Claims another period of all schedules' bound.
    pub(crate) fn claim_bound(&mut self, period_nanoseconds: u64) {
        self.certificate.throughput.period_nanoseconds = period_nanoseconds;
        self.schedule.predicted.lower_bound_period_seconds = Nanoseconds(period_nanoseconds).seconds();
        self.close_gap();
    }

    /// Claims another bound on all that was searched.
    pub(crate) fn claim_searched(&mut self, period_nanoseconds: u64) {
        self.certificate.searched.as_mut().unwrap().period_nanoseconds = period_nanoseconds;
        let seconds = Nanoseconds(period_nanoseconds).seconds();
        self.schedule.predicted.searched.as_mut().unwrap().period_seconds = seconds;
    }

    /// Claims another shortest period on single processors, with what is reached below it.
    pub(crate) fn claim_single_processors(&mut self, period_nanoseconds: u64) {
        let proof = self.certificate.single_processors.as_mut().unwrap();
        *proof = SingleProcessorProof {
            period_nanoseconds,
            blocks: proof.blocks,
            reached: (self.reached_below)(period_nanoseconds),
        };
    }

    /// Promises another period.
    pub(crate) fn promise_period(&mut self, seconds: f64) {
        self.certificate.predicted_period_seconds = seconds;
        let predicted = &mut self.schedule.predicted;
        predicted.watts = predicted.joules_per_frame.map(|joules| joules / seconds);
        predicted.period_seconds = seconds;
        self.close_gap();
    }

    /// Says the gap that the period and the bound amount to.
    pub(crate) fn close_gap(&mut self) {
        let predicted = &self.schedule.predicted;
        self.certificate.gap = predicted.period_seconds / predicted.lower_bound_period_seconds.max(1e-12) - 1.0;
    }
}

pub(crate) fn blocks(instance: &Instance) -> NetworkBlocks<'_> {
    NetworkBlocks { graph: &instance.graph, chain: &instance.chain }
}

/// When and of which network something is said to be made.
fn origin(network: &str) -> (Provenance, ModelReference) {
    let provenance = Provenance { tool_version: "0.1.0".to_owned(), created: "2026-01-01T00:00:00Z".to_owned() };
    let (name, source) = (network.to_owned(), "test".to_owned());
    (provenance, ModelReference { name, source, digest: "0".into(), dimensions: Vec::new(), batch: 1 })
}

/// Whether some cluster or accelerator has a link to another one.
fn do_senders_matter(table: &CostTable) -> bool {
    let mut all = table.class_ids();
    all.any(|from| table.class_ids().any(|to| table.link(from, to).is_some()))
}

/// What can be proven of a schedule.
pub(crate) fn claims(instance: &Instance, schedule: &Schedule, random: &mut ChaCha8Rng) -> Claims {
    let Instance { graph, chain, board, table } = instance;
    let evaluation = schedule.evaluate(graph, table).unwrap();
    let throughput = throughput_proof(instance, random);
    let bound = Nanoseconds(throughput.period_nanoseconds).seconds();
    let pipelines = Pipelines::of(instance);
    let shortest = pipelines.shortest();
    let do_senders_matter = do_senders_matter(table);
    let reached_below = move |period: u64| pipelines.reached_below(period, do_senders_matter);
    let single_processors = shortest.map(|period_nanoseconds| SingleProcessorProof {
        period_nanoseconds,
        blocks: chain.blocks().len(),
        reached: reached_below(period_nanoseconds),
    });
    let searched = searched_proof(instance, random);

    let period = |proof: &SearchedProof| Nanoseconds(proof.period_nanoseconds).seconds();
    let promised = searched
        .as_ref()
        .map(|proof| SearchedBound { period_seconds: period(proof), space: SearchedSpace::SingleProcessors });
    let predicted = Prediction { searched: promised, ..Prediction::new(&evaluation, bound) };
    let predicted = predicted.with_energy(schedule.energy(graph, table).unwrap());
    let (provenance, model) = origin(graph.name());
    let schedule = ScheduleDocument {
        format: SCHEDULE_FORMAT.to_owned(),
        version: SCHEDULE_VERSION,
        provenance: provenance.clone(),
        model: model.clone(),
        board: BoardReference::of(board),
        algorithm: "test".to_owned(),
        objective: Objective::Throughput,
        configuration: schedule.to_string(),
        constraints: StatedConstraints::default(),
        predicted,
        clocks: millstream_cost::Clocks::default(),
        stages: schedule.to_stages(graph),
    };
    let certificate = Certificate {
        format: CERTIFICATE_FORMAT.to_owned(),
        version: CERTIFICATE_VERSION,
        provenance,
        model,
        board: BoardReference::of(board),
        clocks: millstream_cost::Clocks::default(),
        configuration: schedule.configuration.clone(),
        predicted_period_seconds: schedule.predicted.period_seconds,
        is_measured: false,
        evaluated_period_nanoseconds: evaluation.period.0,
        gap: 0.0,
        throughput,
        single_processors,
        searched,
        hosts: None,
        unproven: None,
    };
    let mut claims = Claims { certificate, schedule, reached_below: Rc::new(reached_below) };
    claims.close_gap();
    claims.name_space(instance);
    claims
}

impl Claims {
    /// Names the searched space as the checker does.
    fn name_space(&mut self, instance: &Instance) {
        let Some(proof) = &self.certificate.searched else { return };
        let SearchedTeams { most_processors, spans_clusters, has_all_counts } = proof.teams;
        if most_processors == 0 {
            return;
        }
        for has_links in [false, true] {
            let space = SearchedSpace::Teams { most_processors, spans_clusters, has_all_counts, has_links };
            self.schedule.predicted.searched.as_mut().unwrap().space = space;
            if !matches!(self.check(instance), Err(CertifyError::OtherSchedule { what: "searched space", .. })) {
                return;
            }
        }
    }
}
