//! The bytes of sub-models, which workers that prepare the same segment share while they do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use millstream_backend::Segment;
use millstream_graph::{OperatorId, Portion};
use millstream_onnx::{Model, WeightStorage};

use crate::lock::lock;

/// Sub-models that are in use.
#[derive(Default)]
pub(crate) struct SharedModels(Mutex<HashMap<Key, Weak<Vec<u8>>>>);

/// What a sub-model is made of.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    operators: Vec<OperatorId>,
    portion: Option<Portion>,
}

impl SharedModels {
    /// The sub-model of a segment with its weights, made if nobody has it.
    ///
    /// # Errors
    /// What the model says of a segment that can't be one, as of one of more than 2 GiB.
    pub(crate) fn share(&self, model: &Model, segment: &Segment) -> Result<Arc<Vec<u8>>, String> {
        let key = Key { operators: segment.operators.clone(), portion: segment.portion.clone() };
        let mut shared = lock(&self.0);
        if let Some(bytes) = shared.get(&key).and_then(Weak::upgrade) {
            return Ok(bytes);
        }
        let made = model.sub_model(&segment.operators, segment.portion.as_ref(), WeightStorage::Inline);
        let bytes = Arc::new(made.map_err(|error| error.to_string())?.bytes);
        shared.retain(|_, bytes| bytes.strong_count() > 0);
        shared.insert(key, Arc::downgrade(&bytes));
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::ops::Range;

    use super::*;

    #[test]
    fn a_sub_model_is_shared_while_somebody_has_it() {
        let model = millstream_zoo::build("squeezenet").unwrap();
        let graph = model.graph();
        let shared = SharedModels::default();
        let segment = |range: Range<usize>| Segment::new(graph, graph.order()[range].to_vec());
        let first = shared.share(&model, &segment(0..4)).unwrap();
        assert!(Arc::ptr_eq(&first, &shared.share(&model, &segment(0..4)).unwrap()));
        let part = Segment::part(graph, graph.order()[..1].to_vec(), 0..8);
        let others = [shared.share(&model, &segment(0..5)).unwrap(), shared.share(&model, &part).unwrap()];
        assert!(others.iter().all(|other| **other != *first));
        drop((first, others));
        shared.share(&model, &segment(4..5)).unwrap();
        assert_eq!(shared.0.lock().unwrap().len(), 1, "what nobody has is forgotten");
    }
}
