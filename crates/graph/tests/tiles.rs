//! Regions that can be divided into tiles, and what tiles of them take, worked out by hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::ops::Range;

use millstream_graph::{
    Along, DataType, Graph, GraphBuilder, Locality, NewOperator, OperatorId, OperatorKind, Shape, Slab, Stretch, Tile,
    TileRegion, ValueId, Window,
};
use proptest::prelude::*;

/// Operators of one column: a name, what it reads, the rows that it makes, and what it needs.
type Row<'a> = (&'a str, &'a [&'a str], usize, Locality);

/// A network whose input `x` has so many rows. The last operator's value is returned.
fn network(rows: usize, operators: &[Row<'_>]) -> Graph {
    let mut builder = GraphBuilder::new("rows");
    let value = |builder: &mut GraphBuilder, name: &str, rows: usize| {
        builder.value(name, Some(DataType::F32), Some(Shape::from([1, 1, rows, 1]))).unwrap()
    };
    let input = value(&mut builder, "x", rows);
    builder.input(input);
    let mut last = input;
    for (name, reads, rows, locality) in operators {
        let reads: Vec<ValueId> = reads.iter().map(|read| builder.find_value(read).unwrap()).collect();
        last = value(&mut builder, name, *rows);
        let operator = NewOperator::new(*name, "Any", OperatorKind::Opaque).locality(locality.clone());
        builder.operator(operator.reads(reads).makes([last])).unwrap();
    }
    builder.output(last);
    builder.build().unwrap()
}

fn rows(range: Range<usize>) -> Slab {
    Slab { axis: 2, range }
}

fn same() -> Locality {
    Locality::SamePosition { mixed: Vec::new() }
}

fn window(span: usize, stride: usize, padding: usize) -> Locality {
    Locality::Windows(vec![Window { span, stride, padding }; 2])
}

fn ids(graph: &Graph, names: &[&str]) -> Vec<OperatorId> {
    names.iter().map(|name| graph.find_operator(name).unwrap()).collect()
}

fn region(graph: &Graph) -> TileRegion {
    TileRegion::new(graph, graph.order(), Along::Rows).unwrap()
}

/// Three rows around each, twice, and a branch that needs none: the halo is that of the deeper branch.
#[test]
fn halos_are_made_by_each_tile() {
    let graph = network(
        16,
        &[
            ("first", &["x"], 16, window(3, 1, 1)),
            ("deep", &["first"], 16, window(5, 1, 2)),
            ("flat", &["first"], 16, same()),
            ("sum", &["deep", "flat"], 16, same()),
        ],
    );
    let region = region(&graph);
    assert_eq!((region.rows(), region.axis()), (16, 2));
    let Tile { made, read } = region.tile(4..8);
    assert_eq!(made, [2..10, 4..8, 4..8, 4..8]);
    assert_eq!(read, [(graph.inputs()[0], Some(rows(1..11)))]);
    // At the border there is padding in place of rows.
    assert_eq!(region.tile(0..4).made, [0..6, 0..4, 0..4, 0..4]);
    assert_eq!(region.tile(12..16).read[0].1, Some(rows(9..16)));
}

/// A stride of 2 over 9 rows leaves the last one out, and a stride above the window one between any two: the tile
/// before makes them.
#[test]
fn rows_that_nobody_needs_are_made_once() {
    let graph = network(9, &[("first", &["x"], 9, same()), ("half", &["first"], 4, window(2, 2, 0))]);
    let region1 = region(&graph);
    assert_eq!(region1.tile(0..2).made[0], 0..4);
    assert_eq!(region1.tile(2..4).made[0], 4..9);
    let graph = network(9, &[("first", &["x"], 9, same()), ("third", &["first"], 3, window(1, 3, 0))]);
    let region2 = region(&graph);
    assert_eq!([0..1, 1..2, 2..3].map(|rows| region2.tile(rows).made[0].clone()), [0..3, 3..6, 6..9]);
    assert_eq!(region2.needed(1, 0, &(1..2), |_| 9), Some(rows(3..4)), "it reads one of them");
}

/// Copied rows come in whole groups.
#[test]
fn enlarged_maps_are_made_in_whole_copies() {
    let graph = network(
        3,
        &[
            ("twice", &["x"], 6, Locality::Stretched([2, 1].map(|factor| Stretch { factor, reach: 0 }).to_vec())),
            ("after", &["twice"], 6, same()),
        ],
    );
    let Tile { made, read } = region(&graph).tile(1..4);
    assert_eq!((made, read[0].1.clone()), (vec![0..4, 1..4], Some(rows(0..2))));
    assert_eq!(
        TileRegion::new(&graph, &ids(&graph, &["twice"]), Along::Rows),
        None,
        "a tile of it alone could not end anywhere"
    );
}

#[test]
fn what_mixes_rows_or_leaves_early_can_not_be_divided() {
    let is_region = |graph: &Graph, names: &[&str]| TileRegion::new(graph, &ids(graph, names), Along::Rows).is_some();
    let graph = network(
        8,
        &[
            ("a", &["x"], 8, same()),
            ("b", &["a"], 8, Locality::Global),
            ("c", &["a", "b"], 8, same()),
            ("d", &["c"], 8, Locality::SamePosition { mixed: vec![2] }),
        ],
    );
    assert!(is_region(&graph, &["a"]) && is_region(&graph, &["c"]));
    assert!(!is_region(&graph, &["b"]), "all of it is needed");
    assert!(!is_region(&graph, &["d"]), "it mixes rows");
    assert!(!is_region(&graph, &["a", "c"]), "what the first makes is read elsewhere");
    assert!(!is_region(&graph, &[]));
    // A value of one row serves all rows; one of some other number does not.
    let graph = network(1, &[("a", &["x"], 1, same()), ("b", &["a"], 6, same())]);
    assert!(!is_region(&graph, &["a"]), "one row can't be divided");
    assert!(is_region(&graph, &["b"]));
    let graph = network(3, &[("a", &["x"], 6, same())]);
    assert!(!is_region(&graph, &["a"]));
    // The first row sees nothing but padding.
    let graph = network(4, &[("a", &["x"], 8, window(2, 1, 3))]);
    assert!(!is_region(&graph, &["a"]));
}

/// A random chain with skips.
fn chain() -> impl Strategy<Value = Graph> {
    let step = (1_usize..6, 1_usize..4, 0_usize..3, any::<bool>());

    (12_usize..40, prop::collection::vec(step, 1..6)).prop_map(|(rows, steps)| {
        let mut made = rows;
        let mut operators: Vec<(String, Vec<String>, usize, Locality)> = Vec::new();
        let mut last = "x".to_owned();
        for (index, (span, stride, padding, has_skip)) in steps.into_iter().enumerate() {
            let padding = padding.min(span - 1);
            if made + 2 * padding < span + stride || (made + 2 * padding - span) / stride < 2 {
                continue;
            }
            let rows = (made + 2 * padding - span) / stride + 1;
            operators.push((format!("w{index}"), vec![last.clone()], rows, window(span, stride, padding)));
            let mut reads = vec![format!("w{index}")];
            if has_skip && rows == made && last != "x" {
                reads.push(last.clone());
            }
            operators.push((format!("s{index}"), reads, rows, same()));
            (made, last) = (rows, format!("s{index}"));
        }
        operators.push(("end".to_owned(), vec![last], made, same()));
        let names: Vec<Vec<&str>> =
            operators.iter().map(|(_, reads, ..)| reads.iter().map(String::as_str).collect()).collect();
        let rows_of: Vec<Row<'_>> = operators
            .iter()
            .zip(&names)
            .map(|((name, _, rows, locality), reads)| (name.as_str(), reads.as_slice(), *rows, locality.clone()))
            .collect();
        network(rows, &rows_of)
    })
}

proptest! {
    /// Tiles together make every row of every operator, so that none takes less than its share; more rows never need
    /// fewer.
    #[test]
    fn tiles_leave_nothing_out(graph in chain(), cuts in prop::collection::vec(1_usize..40, 0..4)) {
        let region = TileRegion::new(&graph, graph.order(), Along::Rows);
        prop_assume!(region.is_some());
        let region = region.unwrap();
        let rows = region.rows();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % rows).filter(|&cut| cut > 0).collect();
        cuts.extend([0, rows]);
        cuts.sort_unstable();
        cuts.dedup();
        let tiles: Vec<Tile> = cuts.windows(2).map(|pair| region.tile(pair[0]..pair[1])).collect();
        for (position, all) in region.rows_of_operators().enumerate() {
            let mut reached = 0;
            for tile in &tiles {
                let Range { start, end } = tile.made[position];
                prop_assert!(start <= reached && end >= reached, "{:?} of {}", tile.made[position], all);
                reached = end;
            }
            prop_assert_eq!(reached, all);
        }
        for pair in cuts.windows(3) {
            let (small, large) = (region.tile(pair[0]..pair[1]), region.tile(pair[0]..pair[2]));
            for (small, large) in small.made.iter().zip(&large.made) {
                prop_assert!(large.start <= small.start && large.end >= small.end);
            }
        }
    }
}
