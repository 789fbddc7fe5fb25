//! Networks as a single stage whose operators are mapped on several processors.

use millstream_graph::OperatorId;
use millstream_mapping::{Cpop, Heft, LayerSwitched, Mapper, MapperLimits, MappingError, MappingProblem, TaskId};
use millstream_partition::{Subgraph, joined};
use millstream_schedule::{Assignment, Replica, Schedule, Stage};

use super::algorithm::{PublishedAlgorithm, SearchWork};
use super::ground::{Found, Ground};
use super::processors::names;
use crate::Error;

/// The whole network by a list scheduler, or layer by layer.
pub(super) fn whole(ground: &Ground<'_>, algorithm: PublishedAlgorithm) -> Result<Found, Error> {
    let mapper: &dyn Mapper = match algorithm {
        PublishedAlgorithm::Heft => &Heft,
        PublishedAlgorithm::Cpop => &Cpop,
        _ => &LayerSwitched,
    };
    let network = joined(ground.network.graph());
    let places = ground.places()?;
    let mapped = MappingProblem::of_subgraph(ground.network.graph(), &network, &ground.searched, &places)
        .and_then(|problem| mapper.map(&problem, &MapperLimits::default()));
    let mapping = mapped.map_err(|error| refused(ground, algorithm, &error))?;
    let work = SearchWork { count: network.nodes.len() as u64, unit: "operators" };
    Ok(Found { schedule: stage(ground, &[(&network, &mapping.order)]), work })
}

/// Why a mapper can't serve.
pub(super) fn refused(ground: &Ground<'_>, algorithm: PublishedAlgorithm, error: &MappingError) -> Error {
    let reason = format!("maps operators on {}: {error}", names(&ground.processors));
    Error::Algorithm { algorithm, reason }
}

/// The schedule of mapped subgraphs, one after the other: each with the nodes of every processor in order. Processors without operators are
/// left out.
pub(super) fn stage(ground: &Ground<'_>, mapped: &[(&Subgraph, &Vec<Vec<TaskId>>)]) -> Schedule {
    let assignment = |place: usize| {
        let nodes = mapped.iter().flat_map(|(subgraph, order)| {
            order.get(place).into_iter().flatten().filter_map(|node| subgraph.nodes.get(node.index()))
        });
        let operators: Vec<OperatorId> = nodes.flatten().copied().collect();
        let processor = ground.processors.get(place)?.clone();
        (!operators.is_empty()).then_some(Assignment { processor, operators })
    };
    let assignments = (0..ground.processors.len()).filter_map(assignment).collect();
    Schedule { stages: vec![Stage { replicas: vec![Replica::new(assignments)] }] }
}
