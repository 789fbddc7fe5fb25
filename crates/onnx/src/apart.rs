//! Sub-models for compilers that can't return a value which the model reads as well.

use std::collections::HashSet;

use prost::Message;

use crate::names::operands;
use crate::proto::{ModelProto, NodeProto};
use crate::segment::SubModel;

impl SubModel {
    /// The same with every output that its own nodes read as well handed out by a node that does nothing else: some
    /// compilers can't give a value away and go on with it. `None` if there is no such output.
    #[must_use]
    pub fn with_outputs_apart(&self) -> Option<Self> {
        let mut proto = ModelProto::decode(self.bytes.as_slice()).ok()?;
        let graph = proto.graph.as_mut()?;
        let read: HashSet<String> = graph.node.iter().flat_map(operands).map(str::to_owned).collect();
        let made = graph.node.iter().flat_map(|node| node.output.clone());
        let mut taken: HashSet<String> = made.chain(read.iter().cloned()).collect();

        let mut is_changed = false;
        for output in &mut graph.output {
            let Some(name) = output.name.clone().filter(|name| read.contains(name)) else { continue };
            let mut apart = format!("{name}_apart");
            while !taken.insert(apart.clone()) {
                apart.push('_');
            }
            graph.node.push(NodeProto {
                op_type: Some("Identity".to_owned()),
                name: Some(apart.clone()),
                input: vec![name],
                output: vec![apart.clone()],
                ..NodeProto::default()
            });
            output.name = Some(apart);
            is_changed = true;
        }
        is_changed.then(|| Self { bytes: proto.encode_to_vec(), ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use crate::builder::{Attributes, ModelBuilder};
    use crate::model::Model;
    use crate::options::ReadOptions;
    use crate::segment::WeightStorage;

    /// Two operators in a row, of which both results are wanted if `both`.
    fn model(both: bool) -> Model {
        let mut builder = ModelBuilder::new("row");
        let input = builder.input("image", [1, 4]);
        builder.named_node("first", "Relu", &[&input], &["a"], Attributes::new());
        builder.named_node("second", "Tanh", &["a"], &["a_apart"], Attributes::new());
        if both {
            builder.output("a");
        }
        builder.output("a_apart");
        builder.build().unwrap()
    }

    #[test]
    fn outputs_that_are_read_inside_are_handed_out_apart() {
        let model = model(true);
        let whole = model.segment(model.graph().order(), WeightStorage::Inline).unwrap();
        let apart = whole.with_outputs_apart().unwrap();
        assert_eq!((&apart.inputs, &apart.outputs), (&whole.inputs, &whole.outputs));
        let graph = ModelProto::decode(apart.bytes.as_slice()).unwrap().graph.unwrap();
        let outputs: Vec<&str> = graph.output.iter().map(|output| output.name()).collect();
        assert_eq!(outputs, ["a_apart_", "a_apart"], "in their order, by names that nothing has");
        let last = graph.node.last().unwrap();
        assert_eq!((last.op_type(), last.input.as_slice()), ("Identity", ["a".to_owned()].as_slice()));
        assert!(Model::from_bytes(apart.bytes.clone().into(), &ReadOptions::default()).is_ok());
        assert!(apart.with_outputs_apart().is_none(), "it is done");
    }

    #[test]
    fn models_without_such_outputs_stay_as_they_are() {
        let model = model(false);
        let whole = model.segment(model.graph().order(), WeightStorage::Inline).unwrap();
        assert!(whole.with_outputs_apart().is_none());
    }
}
