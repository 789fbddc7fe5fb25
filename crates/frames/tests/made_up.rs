//! Integers that are made up are places that the network's tables have.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use millstream_frames::FrameMaker;
use millstream_graph::DataType;
use millstream_onnx::{Attributes, ModelBuilder, Weight};

/// The largest of the many integers that are made up for a network that looks them up in tables of these shapes, along
/// these axes.
fn largest(tables: &[([usize; 2], i64)]) -> i64 {
    let mut builder = ModelBuilder::new("tables");
    let ids = builder.typed_open_input("ids", DataType::I64, &["200"]);
    for &(shape, axis) in tables {
        let table = builder.weight("table", &Weight::from_f32(shape, vec![0.0; shape[0] * shape[1]]));
        let row = builder.node_with("Gather", &[&table, &ids], Attributes::new().int("axis", axis));
        builder.output(&row);
    }
    largest_made_up(builder)
}

fn largest_made_up(builder: ModelBuilder) -> i64 {
    let model = builder.build().unwrap();
    let made_up = FrameMaker::new(&model).frame(1).unwrap();
    let elements: Vec<i64> = bytemuck::pod_collect_to_vec(made_up[0].bytes().unwrap());
    assert!(elements.len() == 200 && elements.iter().all(|element| *element >= 0), "{elements:?}");
    elements.into_iter().max().unwrap()
}

/// What is looked up in a table of integers is another place: only the first table limits what is made up.
#[test]
fn made_up_integers_are_not_what_they_are_looked_up_as() {
    let mut builder = ModelBuilder::new("twice");
    let ids = builder.typed_open_input("ids", DataType::I64, &["200"]);
    let places = builder.weight("places", &Weight::from_i64([9], &[0; 9]));
    let found = builder.node("Gather", &[&places, &ids]);
    let table = builder.weight("table", &Weight::from_f32([5, 2], vec![0.0; 10]));
    let rows = builder.node("Gather", &[&table, &found]);
    builder.output(&rows);
    assert_eq!(largest_made_up(builder), 8);
}

#[test]
fn made_up_integers_are_rows_of_the_smallest_table() {
    assert_eq!(largest(&[([5, 2], 0)]), 4);
    assert_eq!(largest(&[([5, 2], 0), ([9, 2], 0)]), 4);
    assert_eq!(largest(&[([9, 2], 0), ([5, 2], 0)]), 4);
    // Axes count from behind where they are negative.
    assert_eq!(largest(&[([5, 3], 1)]), 2);
    assert_eq!(largest(&[([5, 3], -1)]), 2);
}
