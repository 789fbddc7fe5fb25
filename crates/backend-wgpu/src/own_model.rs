//! The model that a segment is planned from: the network's own, or that of a tile.

use std::collections::HashMap;
use std::sync::Arc;

use millstream_backend::Segment;
use millstream_graph::{Along, OperatorId, Portion};
use millstream_onnx::{Model, ReadOptions, WeightStorage};

/// A model, and all that a segment runs of it.
pub(crate) struct OwnModel {
    pub(crate) model: Arc<Model>,
    pub(crate) segment: Segment,
    /// The part of the network's weights that it has, if not all of those of its operators.
    pub(crate) weights_of: Option<Portion>,
    /// The network's operators by their names, where the model is a tile of some of them.
    of_network: Option<HashMap<String, OperatorId>>,
}

impl OwnModel {
    /// That of a segment of a network. A tile is a model of its own, in which slices and padding stand where they
    /// belong, so that everything else is as in a whole.
    pub(crate) fn of(model: &Arc<Model>, segment: &Segment) -> Result<Self, String> {
        let tile = segment.portion.as_ref().filter(|portion| portion.along.makes_tiles());
        let Some(portion) = tile else {
            let weights_of = segment.portion.clone();
            return Ok(Self { model: Arc::clone(model), segment: segment.clone(), weights_of, of_network: None });
        };
        let written = model.sub_model(&segment.operators, tile, WeightStorage::Inline);
        let written = written.map_err(|error| error.to_string())?;
        let tile = Model::from_bytes(written.bytes.into(), &ReadOptions::default());
        let tile = tile.map_err(|error| format!("the model of a tile: {error}"))?;

        let graph = tile.graph();
        let mut own = Segment::new(graph, graph.order().to_vec());
        own.boundary.inputs = graph.inputs().to_vec();
        own.boundary.outputs = graph.outputs().to_vec();
        let network = model.graph();
        let named = segment.operators.iter().map(|&id| (network.operator(id).name.clone(), id));
        // Rows and columns have the weights of the whole.
        let weights_of = Some(portion.clone()).filter(|portion| portion.along == Along::Heads);
        Ok(Self { model: Arc::new(tile), segment: own, weights_of, of_network: Some(named.collect()) })
    }

    /// These operators of the model as those of the network: without what only a tile has.
    pub(crate) fn of_network(&self, operators: Vec<OperatorId>) -> Vec<OperatorId> {
        let Some(named) = &self.of_network else { return operators };
        let graph = self.model.graph();
        operators.into_iter().filter_map(|id| named.get(&graph.operator(id).name).copied()).collect()
    }
}
