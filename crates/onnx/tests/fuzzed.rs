//! Models that fuzzing found, reduced to what matters: each ended the process once.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_graph::DataType;
use millstream_onnx::proto::{AttributeProto, TensorProto};
use millstream_onnx::{Attributes, Model, ModelBuilder, ReadOptions, Weight, WeightStorage};
use prost::Message;

/// A network of one operator on a vector of 2^31 - 1 integers that nobody knows.
fn on_a_long_vector(op_type: &str, has_data: bool) -> Model {
    let mut builder = ModelBuilder::new("long");
    let data = builder.input("data", [2, 3]);
    let vector = builder.typed_open_input("vector", DataType::I64, &["2147483647"]);
    let inputs: &[&str] = if has_data { &[&data, &vector] } else { &[&vector] };
    let made = builder.node(op_type, inputs);
    builder.output(&made);
    builder.build().unwrap()
}

/// Each of the vector's elements would be a dimension of the result: 48 GB of them.
#[test]
fn vectors_of_sizes_are_only_followed_where_they_are_short() {
    for op_type in ["Reshape", "Expand", "Tile", "Squeeze", "Unsqueeze", "Pad", "Slice", "Split", "Upsample"] {
        let model = on_a_long_vector(op_type, true);
        assert_eq!(model.graph().values().last().unwrap().shape, None, "{op_type}");
    }
    assert_eq!(on_a_long_vector("ConstantOfShape", false).graph().values().last().unwrap().shape, None);
}

/// A node of a few bytes that makes a vector of so many integers.
fn filled(builder: &mut ModelBuilder, length: i64) -> String {
    let shape = builder.weight("shape", &Weight::from_i64([1], &[length]));
    let made = builder.node("ConstantOfShape", &[&shape]);
    builder.output(&made);
    made
}

#[test]
fn long_vectors_of_equal_integers_are_not_written_out() {
    // More than 32 bits hold is not a size that the rules know.
    for (length, shape) in [(1_111_638_722, Some([1_111_638_722].into())), (1 << 40, None)] {
        let mut builder = ModelBuilder::new("filled");
        let _ = filled(&mut builder, length);
        let mut proto = builder.into_proto();
        let value = TensorProto { dims: vec![1], data_type: Some(7), int64_data: vec![3], ..TensorProto::default() };
        let node = &mut proto.graph.as_mut().unwrap().node[0];
        node.attribute.push(AttributeProto { name: Some("value".to_owned()), t: Some(value), ..Default::default() });
        let model = Model::from_bytes(proto.encode_to_vec().into(), &ReadOptions::default()).unwrap();
        assert_eq!(model.graph().values().last().unwrap().shape, shape);
    }
}

/// Joined to itself forty times, a vector of one element has 2^40.
#[test]
fn doubling_a_vector_again_and_again_ends() {
    for op_type in ["Concat", "Add", "Mul"] {
        let mut builder = ModelBuilder::new("doubled");
        let mut value = builder.typed_open_input("vector", DataType::I64, &["2", "3"]);
        value = builder.node("NonZero", &[&value]);
        value = builder.node("Shape", &[&value]);
        for _ in 0..40 {
            value = builder.node_with(op_type, &[&value, &value], Attributes::new().int("axis", 0));
        }
        builder.output(&value);
        let model = builder.build();
        assert!(model.is_ok_and(|model| model.graph().operators().len() >= 2), "{op_type}");
    }
}

/// A bias that is shorter than the filters are many can't be divided with them.
#[test]
fn constants_of_too_few_channels_are_not_divided() {
    let mut builder = ModelBuilder::new("short");
    let image = builder.input("image", [1, 2, 4, 4]);
    let filter = builder.weight("filter", &Weight::from_f32([5, 2, 1, 1], vec![0.5; 10]));
    let bias = builder.weight("bias", &Weight::from_f32([3], vec![0.1; 3]));
    let made = builder.node("Conv", &[&image, &filter, &bias]);
    builder.output(&made);
    let model = builder.build().unwrap();
    let part = model.segment_part(model.graph().order(), &(1..5), WeightStorage::Inline);
    let message = part.unwrap_err().to_string();
    assert!(message.contains("bias") && message.contains("[3]"), "{message}");
}
