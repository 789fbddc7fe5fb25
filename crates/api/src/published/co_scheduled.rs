//! The co-scheduling paper's division of convolutions between a CPU and an accelerator.

use millstream_board::Processor;
use millstream_cosched::co_schedule;
use millstream_graph::OperatorId;
use millstream_schedule::{Assignment, Replica, Schedule, Stage};

use super::found_plan::SearchWork;
use super::instance::{Found, Instance};
use crate::error::Error;
use crate::published_algorithm::PublishedAlgorithm;

/// The pair of a CPU and an accelerator with the shortest period; the paper's boards have one of each.
pub(super) fn divide(instance: &Instance<'_>) -> Result<Found, Error> {
    let (accelerators, cpus): (Vec<&Processor>, Vec<&Processor>) =
        instance.processors.iter().partition(|processor| processor.is_accelerator());
    let refused = |reason: String| Err(Error::Algorithm { algorithm: PublishedAlgorithm::CoScheduling, reason });
    if accelerators.is_empty() {
        let board = instance.board.name();
        return refused(if instance.board.accelerators().is_empty() {
            format!(
                "divides convolutions between a CPU and an accelerator, and board '{board}' has no accelerator; add it to `accelerators` of \
                 the board file and fit its costs, or take another algorithm"
            )
        } else {
            "divides convolutions between a CPU and an accelerator: name one among the processors".to_owned()
        });
    }
    if cpus.is_empty() {
        return refused("needs cores for what is no convolution: name some among the processors".to_owned());
    }

    let chain = instance.network.chain();
    let order = chain.operators(0..chain.blocks().len());
    let mut best: Option<(f64, Found)> = None;
    let mut misfit = None;
    for (accelerator, cpu) in
        accelerators.iter().flat_map(|&accelerator| cpus.iter().map(move |&cpu| (accelerator, cpu)))
    {
        let Some(found) = divide_between(instance, &order, [accelerator, cpu]) else { continue };
        match instance.prediction(&found.schedule) {
            Ok(evaluated) if best.as_ref().is_none_or(|(period, _)| evaluated.period_seconds < *period) => {
                best = Some((evaluated.period_seconds, found));
            }
            Ok(_) => {}
            Err(error) => misfit = Some(error),
        }
    }

    match (best, misfit) {
        (Some((_, found)), _) if found.work.count == 0 => refused(
            "finds no convolution that both the CPU and the accelerator run, so there is nothing to divide".to_owned(),
        ),
        (Some((_, found)), _) => Ok(found),
        (None, Some(error)) => refused(format!("leaves what is no convolution to the CPU: {error}")),
        (None, None) => refused("finds no costs of a CPU and an accelerator".to_owned()),
    }
}

fn divide_between(instance: &Instance<'_>, order: &[OperatorId], pair: [&Processor; 2]) -> Option<Found> {
    let empty = |processor: &Processor| Assignment { processor: processor.clone(), operators: Vec::new() };
    let pair = Replica::new(pair.map(empty).to_vec());
    let mut divided = co_schedule(pair, order, instance.network.graph(), &instance.searched)?;
    // Where one of the two has nothing, no operator is divided.
    divided.replica.assignments.retain(|assignment| !assignment.operators.is_empty());
    let work = SearchWork { count: divided.divided as u64, unit: "convolutions" };
    Some(Found { schedule: Schedule { stages: vec![Stage { replicas: vec![divided.replica] }] }, work })
}
