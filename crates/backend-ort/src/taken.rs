//! Which operators of a model a provider's device takes, by the partition that ONNX Runtime makes of a session.

use std::collections::{HashMap, HashSet};

use millstream_backend::Segment;
use millstream_graph::OperatorId;
use ort::session::builder::GraphOptimizationLevel;

use crate::backend::OrtBackend;
use crate::partition;
use crate::place::Device;

impl OrtBackend {
    /// Whether a device takes an operator.
    pub(crate) fn takes(&self, device: &Device, operator: OperatorId) -> bool {
        device.taken.get_or_init(|| self.taken(device)).contains(&operator)
    }

    /// Asks once about the whole model. A provider that takes nothing of it, as where one operator keeps it from
    /// compiling the others, is asked about each operator alone.
    fn taken(&self, device: &Device) -> HashSet<OperatorId> {
        let order = self.model.graph().order();
        let engine = device.provider.name();
        let refusal = match self.taken_of(device, order) {
            Ok(taken) if !taken.is_empty() => return taken,
            Ok(_) => "it takes nothing of the whole network".to_owned(),
            Err(said) => said,
        };
        let alone = |&id: &OperatorId| self.taken_of(device, &[id]).is_ok_and(|taken| !taken.is_empty());
        let taken: HashSet<OperatorId> = order.iter().copied().filter(alone).collect();
        if taken.is_empty() {
            tracing::warn!("{engine} computes nothing of this network: {refusal}");
        }
        taken
    }

    /// Those of some operators that the device takes in a session of them, each computed as its definition says: what
    /// ONNX Runtime fuses has other names.
    fn taken_of(&self, device: &Device, operators: &[OperatorId]) -> Result<HashSet<OperatorId>, String> {
        let graph = self.model.graph();
        let sub_model = self.sub_model(&Segment::new(graph, operators.to_vec()))?;
        let sub_model = sub_model.with_outputs_apart().unwrap_or(sub_model);
        let packed = self.weights.packed();
        let text = |error: ort::Error<_>| error.to_string();
        let builder = self.environment.session_builder()?;
        let builder = builder.with_optimization_level(GraphOptimizationLevel::Disable).map_err(text)?;
        let builder = builder.with_intra_threads(1).map_err(text)?;
        let builder = builder.with_config_entry(partition::RECORD.0, partition::RECORD.1).map_err(text)?;
        let builder = device.provider.add_to(builder, 1)?;
        let mut session = self.commit(builder, &sub_model, &packed)?;
        let nodes = partition::nodes_of(session.get(), device.provider.provider())?;
        let names: HashMap<&str, OperatorId> =
            operators.iter().map(|&id| (graph.operator(id).name.as_str(), id)).collect();
        Ok(nodes.iter().filter_map(|node| names.get(node.as_str()).copied()).collect())
    }
}
