//! The first core that runs a whole network.

use millstream_backend::Backend;
use millstream_board::{Board, Cluster, EngineName, Processor};
use millstream_graph::Graph;

use super::openvino;
use crate::error::Error;

/// The processor on which a network runs plainly: the board's first core, with the first of its engines that runs all
/// operators.
pub(crate) fn first_core(board: &Board, backend: &dyn Backend, graph: &Graph) -> Result<Processor, Error> {
    let cluster = board.clusters().first().ok_or(Error::Incomplete { what: "cluster" })?;
    let core = cluster.cores.first().ok_or(Error::Incomplete { what: "core" })?;
    with_able_engine(cluster, cluster.processor([core.id]), backend, graph)
}

/// The first core that computes with an engine, if any does.
pub(crate) fn first_core_with(board: &Board, engine: EngineName) -> Option<Processor> {
    let cluster = board.clusters().iter().find(|cluster| cluster.engines.contains(engine))?;
    Some(cluster.processor([cluster.cores.first()?.id]).with_engine(engine))
}

/// A processor with the first of its cluster's engines that runs all operators of a network.
pub(crate) fn with_able_engine(
    cluster: &Cluster,
    processor: Processor,
    backend: &dyn Backend,
    graph: &Graph,
) -> Result<Processor, Error> {
    let refused = |processor: &Processor| graph.order().iter().copied().find(|&id| !backend.supports(id, processor));
    let with_each = || cluster.engines.iter().map(|engine| processor.clone().with_engine(engine));
    if let Some(able) = with_each().find(|processor| refused(processor).is_none()) {
        return Ok(able);
    }
    let Some(operator) = refused(&processor) else { return Ok(processor) };
    let reason = backend.why_refused(operator, &processor);
    let is_only = cluster.engines.iter().len() == 1;
    if let Some(reason) = reason.as_ref().filter(|reason| is_only && openvino::is_lacking(processor.engine, reason)) {
        let (engine, plain, label) = (processor.engine, EngineName::OpenVino, &cluster.label);
        return Err(Error::Unfit(format!(
            "{engine} runs nothing on {label}: {reason}; {plain} computes as the model says"
        )));
    }

    let reason = reason.map_or(String::new(), |reason| format!(": {reason}"));
    let (engine, operator) = (processor.engine.title(), graph.operator(operator));
    // With whatever precision, OpenVINO refuses the same operators.
    let is_alike = |own: EngineName, other: EngineName| own == other || (own.is_openvino() && other.is_openvino());
    let is_new = |other: &EngineName| !cluster.engines.iter().any(|own| is_alike(own, *other));
    let other = EngineName::BUILT_IN.into_iter().find(is_new);
    let remedy = other
        .map_or(String::new(), |other| format!("; name another engine as well, as in {},{other}", cluster.engines));
    let named = format!("'{}' ({})", operator.name, operator.op_type);
    Err(Error::Unfit(format!("{engine} does not run the operator {named}{reason}{remedy}")))
}
