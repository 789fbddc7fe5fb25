//! Where the dimensions of what operators move or multiply come from, as networks are read.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_graph::{Along, Locality, Need, OperatorId, Portion, Positions, Stretch, TileRegion};
use millstream_onnx::{Attributes, Model, ModelBuilder, ReadOptions, Weight, WeightStorage};

/// What the last operator of a model needs, where it only moves elements or multiplies values.
fn last(builder: ModelBuilder) -> Locality {
    let model = builder.build().unwrap();
    let graph = model.graph();
    graph.operator(*graph.order().last().unwrap()).locality.clone()
}

fn same(axis: usize) -> Need {
    Need::Some { axis, positions: Positions::Same }
}

/// By dimension of the output, what is needed of the only input.
fn of_one<const RANK: usize>(needs: [Option<Need>; RANK]) -> Locality {
    Locality::Moved(needs.map(|need| need.map(|need| vec![need])).to_vec())
}

/// An operator of one input of these sizes and of constants, whose result is the model's.
fn moved<const RANK: usize>(op: &str, sizes: [usize; RANK], constants: &[&[i64]], attributes: Attributes) -> Locality {
    let mut builder = ModelBuilder::new("moved");
    let input = builder.input("x", sizes);
    let constants: Vec<String> = constants
        .iter()
        .enumerate()
        .map(|(index, values)| builder.weight(&format!("c{index}"), &Weight::from_i64([values.len()], values)))
        .collect();
    let mut inputs = vec![input.as_str()];
    inputs.extend(constants.iter().map(String::as_str));
    let output = builder.node_with(op, &inputs, attributes);
    builder.output(&output);
    last(builder)
}

#[test]
fn what_moves_elements_says_where_from() {
    let none = Attributes::new;
    assert_eq!(
        moved("Transpose", [2, 3, 4], &[], none().ints("perm", &[2, 0, 1])),
        of_one([2, 0, 1].map(|axis| Some(same(axis))))
    );
    assert_eq!(moved("Transpose", [2, 3], &[], none()), of_one([Some(same(1)), Some(same(0))]));
    let several = Need::Some { axis: 1, positions: Positions::Several(4) };
    assert_eq!(moved("Reshape", [2, 12], &[&[2, 3, 4]], none()), of_one([Some(same(0)), Some(several), None]));
    let stretched = Need::Some { axis: 1, positions: Positions::Stretched(Stretch { factor: 4, reach: 0 }) };
    assert_eq!(moved("Reshape", [2, 3, 4], &[&[2, 12]], none()), of_one([Some(same(0)), Some(stretched)]));
    assert_eq!(moved("Unsqueeze", [2, 3], &[&[1]], none()), of_one([Some(same(0)), None, Some(same(1))]));
    assert_eq!(moved("Squeeze", [2, 1, 3], &[&[1]], none()), of_one([Some(same(0)), Some(same(2))]));
    assert_eq!(moved("Squeeze", [2, 1, 3], &[], none()), Locality::Global, "a tile may have a dimension of size 1");
    // The gathered dimension becomes those of the indices.
    assert_eq!(
        moved("Gather", [2, 3, 4], &[&[0, 2]], none().int("axis", 1)),
        of_one([Some(same(0)), None, Some(same(2))])
    );
    assert_eq!(
        moved("Slice", [2, 6, 4], &[&[1], &[5], &[-2]], none()),
        of_one([Some(same(0)), None, Some(same(2))]),
        "not along what is cut"
    );
}

#[test]
fn reductions_mix_what_they_reduce() {
    let reduced =
        |keeps: i64| moved("ReduceMean", [2, 3, 4], &[], Attributes::new().ints("axes", &[-1]).int("keepdims", keeps));
    assert_eq!(reduced(1), Locality::SamePosition { mixed: vec![2] });
    assert_eq!(reduced(0), Locality::Global);
}

fn product<const RANK: usize>(left: [usize; RANK], right: [usize; RANK]) -> Locality {
    let mut builder = ModelBuilder::new("product");
    let (left, right) = (builder.input("a", left), builder.input("b", right));
    let output = builder.node("MatMul", &[&left, &right]);
    builder.output(&output);
    last(builder)
}

#[test]
fn products_need_rows_of_the_first_and_columns_of_the_second() {
    let batch = |axis: usize| Some(vec![same(axis), same(axis)]);
    assert_eq!(
        product([2, 5, 7, 3], [2, 5, 3, 4]),
        Locality::Moved(vec![batch(0), batch(1), Some(vec![same(2), Need::Whole]), Some(vec![Need::Whole, same(3)])])
    );
    // Where one matrix serves all, it is needed whole.
    assert_eq!(
        product([5, 7, 3], [1, 3, 4]),
        Locality::Moved(vec![
            Some(vec![same(0), Need::Whole]),
            Some(vec![same(1), Need::Whole]),
            Some(vec![Need::Whole, same(2)])
        ])
    );
    let mut builder = ModelBuilder::new("square");
    let value = builder.input("a", [5, 3, 3]);
    let output = builder.node("MatMul", &[&value, &value]);
    builder.output(&output);
    assert_eq!(last(builder), Locality::Global, "it reads one value in two ways");
}

fn attention_of(builder: &mut ModelBuilder, is_quantised: bool) -> String {
    let input = builder.input("x", [1, 6, 8]);
    let apart = builder.weight("apart", &Weight::from_i64([4], &[1, 6, 2, 4]));
    let together = builder.weight("together", &Weight::from_i64([3], &[1, 6, 8]));
    let scale = builder.weight("scale", &Weight::from_f32([0_usize; 0], vec![0.1]));
    let turned = [("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])];
    let [queries, keys, values] = turned.map(|(name, order)| {
        let elements = (0..64).map(|value| value as f32).collect();
        let matrix = builder.weight(name, &Weight::from_f32([8, 8], elements));
        let mut made = builder.node("MatMul", &[&input, &matrix]);
        if is_quantised {
            made = builder.node("QuantizeLinear", &[&made, &scale]);
            made = builder.node("DequantizeLinear", &[&made, &scale]);
        }
        let made = builder.node("Reshape", &[&made, &apart]);
        builder.node_with("Transpose", &[&made], Attributes::new().ints("perm", &order))
    });
    let scores = builder.node("MatMul", &[&queries, &keys]);
    let made = builder.node("MatMul", &[&scores, &values]);
    let made = builder.node_with("Transpose", &[&made], Attributes::new().ints("perm", &[0, 2, 1, 3]));
    builder.node("Reshape", &[&made, &together])
}

/// What can be divided by heads can be written, each head.
#[test]
fn every_head_of_what_can_be_divided_is_written() {
    for is_quantised in [false, true] {
        let mut builder = ModelBuilder::new("heads");
        let output = attention_of(&mut builder, is_quantised);
        builder.output(&output);
        let model: Model = builder.build().unwrap();
        let groups: Vec<Vec<OperatorId>> = model.graph().head_groups();
        assert!(is_quantised || groups.len() == 1);
        for group in groups {
            let heads = TileRegion::new(model.graph(), &group, Along::Heads).unwrap().rows();
            for head in 0..heads {
                let portion = Portion { along: Along::Heads, range: head..head + 1 };
                let storage = WeightStorage::Inline;
                let written = model.segment_tile(&group, &portion, storage).unwrap();
                let read = Model::from_bytes(written.bytes.into(), &ReadOptions::default()).unwrap();
                let made = read.graph().value(read.graph().outputs()[0]).shape.clone().unwrap();
                assert_eq!(made.dimensions(), [1, 6, 4]);
            }
        }
    }
}
