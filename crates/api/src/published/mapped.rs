//! Networks as a single stage whose operators are mapped on several processors.

use millstream_graph::OperatorId;
use millstream_mapping::{Mapper, MapperLimits, MappingError, MappingProblem, TaskId};
use millstream_partition::{Subgraph, joined};
use millstream_schedule::{Assignment, Replica, Schedule, Stage};

use super::found_plan::SearchWork;
use super::instance::{Found, Instance};
use super::processors::names;
use crate::error::Error;
use crate::published_algorithm::PublishedAlgorithm;

/// The whole network by a list scheduler, or layer by layer.
pub(super) fn whole(
    instance: &Instance<'_>,
    algorithm: PublishedAlgorithm,
    mapper: &dyn Mapper,
) -> Result<Found, Error> {
    let network = joined(instance.network.graph());
    let places = instance.places()?;
    let mapped = MappingProblem::of_subgraph(instance.network.graph(), &network, &instance.searched, &places)
        .and_then(|problem| mapper.map(&problem, &MapperLimits::default()));
    let mapping = mapped.map_err(|error| refused(instance, algorithm, &error))?;
    let work = SearchWork { count: network.nodes.len() as u64, unit: "operators" };
    Ok(Found { schedule: stage(instance, &[(&network, &mapping.order)]), work })
}

/// Why a mapper can't serve.
pub(super) fn refused(instance: &Instance<'_>, algorithm: PublishedAlgorithm, error: &MappingError) -> Error {
    let reason = format!("maps operators on {}: {error}", names(&instance.processors));
    Error::Algorithm { algorithm, reason }
}

/// The schedule of mapped subgraphs, one after the other: each with the nodes of every processor in order. Processors
/// without operators are left out.
pub(super) fn stage(instance: &Instance<'_>, mapped: &[(&Subgraph, &Vec<Vec<TaskId>>)]) -> Schedule {
    let assignment = |place: usize| {
        let nodes = mapped.iter().flat_map(|(subgraph, order)| {
            order.get(place).into_iter().flatten().filter_map(|node| subgraph.nodes.get(node.index()))
        });
        let operators: Vec<OperatorId> = nodes.flatten().copied().collect();
        let processor = instance.processors.get(place)?.clone();
        (!operators.is_empty()).then_some(Assignment { processor, operators })
    };
    let assignments = (0..instance.processors.len()).filter_map(assignment).collect();
    Schedule { stages: vec![Stage { replicas: vec![Replica::new(assignments)] }] }
}
