//! Operators that are one, and those that hand over what can't leave a processor.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use millstream_board::{Board, Processor};
use millstream_graph::{Along, DataType, Graph, GraphBuilder, NewOperator, OperatorId, OperatorKind, Shape, ValueId};
use millstream_schedule::{Assignment, OperatorSplit, Replica, Schedule, ScheduleError, Stage, StageId};
use millstream_test_support::pointwise;

fn board() -> Board {
    millstream_test_support::board("B2+G")
}

fn assignment(core: u32, operators: &[OperatorId]) -> Assignment {
    Assignment { processor: Processor::new("B", [core]), operators: operators.to_vec() }
}

/// `x -> quantize -> dequantize -> conv -> relu -> quantize`: from the dequantisation on, it is one operator.
fn quantised_chain() -> Graph {
    let mut builder = GraphBuilder::new("quantised");
    let value = |builder: &mut GraphBuilder, name: &str, data_type| {
        builder.value(name, Some(data_type), Some(Shape::from([1, 8, 1, 1]))).unwrap()
    };
    let types = [DataType::F32, DataType::U8, DataType::F32, DataType::F32, DataType::F32, DataType::U8];
    let names = ["x", "q", "d", "c", "r", "y"];
    let values: Vec<_> = names.into_iter().zip(types).map(|(name, data)| value(&mut builder, name, data)).collect();
    builder.input(values[0]);
    let convolution = OperatorKind::QuantizedConvolution(pointwise(8));
    let operators = [
        ("quantize", "QuantizeLinear", OperatorKind::Quantization),
        ("dequantize", "DequantizeLinear", OperatorKind::Quantization),
        ("conv", "Conv", convolution),
        ("relu", "Relu", OperatorKind::Activation),
        ("again", "QuantizeLinear", OperatorKind::Quantization),
    ];
    for (index, (name, op_type, kind)) in operators.into_iter().enumerate() {
        let operator = NewOperator::new(name, op_type, kind).reads([values[index]]).makes([values[index + 1]]);
        builder.operator(operator).unwrap();
    }

    builder.output(values[5]);
    builder.build().unwrap()
}

/// What an `If` returns may have no type that the file tells.
#[test]
fn values_of_unknown_type_are_not_handed_over() {
    let mut builder = GraphBuilder::new("untyped");
    let types = [Some(DataType::F32), None, Some(DataType::F32), Some(DataType::F32)];
    let value = |(index, data)| builder.value(format!("v{index}"), data, Some(Shape::from([1, 8]))).unwrap();
    let values: Vec<_> = types.into_iter().enumerate().map(value).collect();
    builder.input(values[0]);
    for pair in values.windows(2) {
        let name = format!("makes {:?}", pair[1]);
        let operator = NewOperator::new(&name, "If", OperatorKind::Opaque).reads([pair[0]]).makes([pair[1]]);
        builder.operator(operator).unwrap();
    }
    builder.output(values[3]);
    let graph = builder.build().unwrap();

    let ids = graph.order();
    let replica =
        |core: u32, operators: &[OperatorId]| Replica::single(Processor::new("B", [core]), operators.to_vec());
    let stage = |core: u32, operators: &[OperatorId]| Stage { replicas: vec![replica(core, operators)] };
    let stages = |cut: usize| Schedule { stages: vec![stage(0, &ids[..cut]), stage(1, &ids[cut..])] };
    let refused = stages(1).validate(&graph, &board()).unwrap_err();
    assert!(matches!(refused, ScheduleError::Untyped { stage, .. } if stage.number() == 2), "{refused}");
    assert!(stages(2).validate(&graph, &board()).is_ok());

    let assignment = |core: u32, places: &[usize]| Assignment {
        processor: Processor::new("B", [core]),
        operators: places.iter().map(|&place| ids[place]).collect(),
    };
    let team = |first: &[usize], second: &[usize]| {
        let replica = Replica::new(vec![assignment(0, first), assignment(1, second)]);
        Schedule { stages: vec![Stage { replicas: vec![replica] }] }.validate(&graph, &board())
    };
    assert!(team(&[0, 1], &[2]).is_ok());
    assert!(matches!(team(&[0, 2], &[1]), Err(ScheduleError::Untyped { stage, .. }) if stage.number() == 1));
    assert!(matches!(team(&[0], &[1, 2]), Err(ScheduleError::Untyped { stage, .. }) if stage.number() == 1));
}

/// A processor waits for nothing between who makes a value of unknown type and who reads it, but for all of it before:
/// so nothing between them may have somebody wait whom they need.
#[test]
fn nobody_waits_for_what_stands_between_inseparable_operators() {
    let mut builder = GraphBuilder::new("untyped");
    let mut value = |name: &str, data| builder.value(name, data, Some(Shape::from([1, 8]))).unwrap();
    let [x, between, elsewhere, y] = ["x", "between", "elsewhere", "y"].map(|name| value(name, Some(DataType::F32)));
    let untyped = value("untyped", None);
    builder.input(x);
    let mut operator = |name: &str, reads: &[ValueId], makes: ValueId| {
        let new = NewOperator::new(name, "If", OperatorKind::Opaque).reads(reads.iter().copied()).makes([makes]);
        builder.operator(new).unwrap()
    };
    let maker = operator("maker", &[x], untyped);
    let inner = operator("inner", &[x], between);
    let other = operator("other", &[between], elsewhere);
    let reader = operator("reader", &[untyped, elsewhere], y);
    builder.output(y);
    let graph = builder.build().unwrap();
    let checked = |operators: &[OperatorId]| {
        let replica = Replica::new(vec![assignment(0, operators), assignment(1, &[other])]);
        Schedule { stages: vec![Stage { replicas: vec![replica] }] }.validate(&graph, &board())
    };
    assert!(checked(&[inner, maker, reader]).is_ok());
    let refused = checked(&[maker, inner, reader]).unwrap_err();
    let expected = "operator 'reader' of stage 1 can never start: it needs the result of 'other', which runs later";
    assert_eq!(refused.to_string(), expected);
}

#[test]
fn quantised_operators_are_not_taken_apart() {
    let graph = quantised_chain();
    let ids: Vec<OperatorId> = graph.order().to_vec();
    let schedule = |first: &[OperatorId], second: &[OperatorId]| {
        let stage = |core: u32, operators: &[OperatorId]| Stage {
            replicas: vec![Replica::single(Processor::new("B", [core]), operators.to_vec())],
        };
        Schedule { stages: vec![stage(0, first), stage(1, second)] }
    };
    for cut in 1..5 {
        let checked = schedule(&ids[..cut], &ids[cut..]).validate(&graph, &board());
        match cut {
            // Between the quantisation and the dequantisation, integers cross.
            1 => assert!(checked.is_ok(), "{checked:?}"),
            _ => assert!(
                matches!(checked, Err(ScheduleError::Quantised { stage, .. }) if stage.number() == 2),
                "{cut}: {checked:?}"
            ),
        }
    }

    // It is divided as a whole: from the dequantisation to the quantisation.
    assert_eq!(graph.channel_units(ids[2]), None);
    assert_eq!(graph.channel_followers(ids[1]), ids[2..]);
    let split = |operators: &[OperatorId]| {
        let replica = Replica {
            assignments: vec![assignment(0, &ids), assignment(1, operators)],
            splits: vec![OperatorSplit { operators: operators.to_vec(), along: Along::Channels, shares: vec![5, 3] }],
        };
        Schedule { stages: vec![Stage { replicas: vec![replica] }] }.validate(&graph, &board())
    };
    assert!(split(&ids[1..]).is_ok(), "{:?}", split(&ids[1..]));
    for part in [&ids[1..3], &ids[1..4], &ids[2..]] {
        assert!(matches!(split(part), Err(ScheduleError::Split { .. })), "{part:?}");
    }
}

/// On one processor, whatever order operators could run in by themselves is one in which they can run, and no other.
#[test]
fn inseparable_operators_keep_their_order() {
    let graph = quantised_chain();
    let ids = graph.order();
    let mut orders = vec![Vec::new()];
    for _ in ids {
        let longer = |order: &Vec<OperatorId>| {
            let left = ids.iter().filter(|id| !order.contains(id)).map(|&id| [&order[..], &[id]].concat());
            left.collect::<Vec<_>>()
        };
        orders = orders.iter().flat_map(longer).collect();
    }
    assert_eq!(orders.len(), 120);

    for order in orders {
        let replica = Replica::single(Processor::new("B", [0]), order.clone());
        let checked = Schedule { stages: vec![Stage { replicas: vec![replica] }] }.validate(&graph, &board());
        assert_eq!(checked.is_ok(), order == ids, "{order:?}: {checked:?}");
    }
}

/// A part of an operator has others wait for it, which nobody does between operators that can't be apart.
#[test]
fn no_part_stands_between_inseparable_operators() {
    let mut builder = GraphBuilder::new("untyped");
    let shape = || Some(Shape::from([1, 8, 1, 1]));
    let mut value = |name: &str, data| builder.value(name, data, shape()).unwrap();
    let [x, convolved, y] = ["x", "convolved", "y"].map(|name| value(name, Some(DataType::F32)));
    let untyped = value("untyped", None);
    builder.input(x);
    let mut operator = |name: &str, kind: OperatorKind, reads: &[ValueId], makes: ValueId| {
        let op_type = if kind == OperatorKind::Opaque { "If" } else { "Conv" };
        let new = NewOperator::new(name, op_type, kind).reads(reads.iter().copied()).makes([makes]);
        builder.operator(new).unwrap()
    };
    let maker = operator("maker", OperatorKind::Opaque, &[x], untyped);
    let divided = operator("divided", OperatorKind::Convolution(pointwise(8)), &[x], convolved);
    let reader = operator("reader", OperatorKind::Opaque, &[untyped, convolved], y);
    builder.output(y);
    let graph = builder.build().unwrap();

    let checked = |operators: &[OperatorId]| {
        let split = OperatorSplit { operators: vec![divided], along: Along::Channels, shares: vec![4, 4] };
        let assignments = vec![assignment(0, operators), assignment(1, &[divided])];
        let replica = Replica { assignments, splits: vec![split] };
        Schedule { stages: vec![Stage { replicas: vec![replica] }] }.validate(&graph, &board())
    };
    assert!(checked(&[divided, maker, reader]).is_ok());
    let refused = checked(&[maker, divided, reader]).unwrap_err();
    let is_divided = |operator: &str| operator == "divided";
    assert!(
        matches!(&refused, ScheduleError::Interrupted { operator, stage: Some(StageId::FIRST) } if is_divided(operator)),
        "{refused}"
    );
    // What reads a value of unknown type is not divided itself.
    assert!(graph.channel_units(divided).is_some() && graph.channel_units(reader).is_none());
}
