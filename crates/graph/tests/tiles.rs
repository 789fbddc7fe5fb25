//! Regions that can be divided into tiles, and what tiles of them take, worked out by hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::ops::Range;

use millstream_graph::{
    Along, DataType, GemmShape, Graph, GraphBuilder, Locality, Need, NewOperator, OperatorId, OperatorKind, Positions,
    Shape, Slab, Stretch, Tile, TileRegion, ValueId, Window, Work,
};
use millstream_test_support::{attention, attention_copying, attention_returning};
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
    assert_eq!(region(&graph).tile(0..3).made, [0..4, 0..3], "to the end of a copy");
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

/// What a tile of a region of attention makes of these operators.
fn made(graph: &Graph, operators: &[OperatorId], tile: &Tile, names: &[&str]) -> Vec<Range<usize>> {
    let place = |id: OperatorId| operators.iter().position(|&other| other == id).unwrap();
    ids(graph, names).into_iter().map(|id| tile.made[place(id)].clone()).collect()
}

/// Some tokens need the keys and values of all.
#[test]
fn tokens_need_all_keys_and_values() {
    let graph = attention(6, 3, 4);
    let region = region(&graph);
    assert_eq!((region.rows(), region.axis(), region.unit()), (6, 1, 1));
    let tile = region.tile(1..3);
    let own = ["queries", "queries turned", "scores", "shares", "weighted", "joined", "projection", "sum"];
    assert_eq!(made(&graph, graph.order(), &tile, &own), vec![1..3; 8]);
    // Queries need rows of it as well.
    assert_eq!(made(&graph, graph.order(), &tile, &["normal"]).first(), Some(&(0..6)));
    let keys_and_values = ["keys", "keys apart", "keys turned", "values", "values turned"];
    assert_eq!(made(&graph, graph.order(), &tile, &keys_and_values), vec![0..1; 5], "whole");
    assert_eq!(tile.read, [(graph.inputs()[0], Some(Slab { axis: 1, range: 0..6 }))]);

    let axes: Vec<Option<usize>> = region.axes_of_operators().collect();
    let axis = |name: &str| axes[graph.order().iter().position(|&id| graph.operator(id).name == name).unwrap()];
    assert_eq!(["queries", "queries turned", "scores", "back"].map(axis), [Some(1), Some(2), Some(2), Some(1)]);
    assert_eq!(["keys", "values turned"].map(axis), [None; 2]);
}

/// A head needs its own features of queries, keys and values, and all tokens.
#[test]
fn heads_need_their_own_columns_of_weights() {
    let graph = attention(6, 3, 4);
    let groups = graph.head_groups();
    let names = |group: &Vec<OperatorId>| group.iter().map(|&id| graph.operator(id).name.as_str()).collect::<Vec<_>>();
    let [group] = groups.as_slice() else { panic!("{:?}", groups.iter().map(names).collect::<Vec<_>>()) };
    let outside = ["normal", "projection", "sum"].map(|name| graph.find_operator(name).unwrap());
    assert_eq!(group.len(), graph.order().len() - outside.len());
    assert!(outside.iter().all(|id| !group.contains(id)), "{:?}", names(group));

    let region = TileRegion::new(&graph, group, Along::Heads).unwrap();
    assert_eq!((region.rows(), region.axis(), region.unit()), (3, 2, 4));
    let tile = region.tile(1..3);
    assert_eq!(made(&graph, group, &tile, &["queries", "keys", "values", "joined"]), vec![4..12; 4]);
    assert_eq!(made(&graph, group, &tile, &["keys turned", "scores", "weighted", "back"]), vec![1..3; 4]);
    assert_eq!(tile.read, [(graph.operator(outside[0]).outputs[0], None)], "the tokens are read whole");

    let in_rows = TileRegion::new(&graph, group, Along::Rows).unwrap();
    assert_eq!((in_rows.rows(), in_rows.unit()), (6, 1));
    assert!(TileRegion::new(&graph, graph.order(), Along::Heads).is_none(), "the projection mixes heads");
    assert!(TileRegion::new(&graph, group, Along::Columns).is_none(), "sequences have none");
    assert!(TileRegion::new(&graph, group, Along::Channels).is_none(), "channels are no tiles");
}

/// What others read of a head's values is made whole, with all that it comes from, and each head takes its part of it.
#[test]
fn what_others_read_is_not_divided_by_heads() {
    let copying = attention_copying(6, 3, 4, "keys turned", &[1, 3, 4, 6]);
    for graph in [attention_returning(6, 3, 4, "keys turned"), copying] {
        let group = graph.head_groups().remove(0);
        let are_inside = |names: &[&str]| names.iter().map(|name| group.contains(&ids(&graph, &[name])[0])).collect();
        let inside: Vec<bool> = are_inside(&["queries", "queries turned", "values", "scores", "weighted", "joined"]);
        assert_eq!(inside, [true; 6]);
        let outside: Vec<bool> = are_inside(&["keys", "keys apart", "keys turned"]);
        assert_eq!(outside, [false; 3]);

        let keys = graph.operator(ids(&graph, &["keys turned"])[0]).outputs[0];
        let tile = TileRegion::new(&graph, &group, Along::Heads).unwrap().tile(1..3);
        assert!(tile.read.contains(&(keys, Some(Slab { axis: 1, range: 1..3 }))), "{:?}", tile.read);
    }
}

/// A projection whose features fall apart and are put together again compares nothing with anything.
#[test]
fn a_single_product_has_no_heads() {
    let mut builder = GraphBuilder::new("projection");
    let value = |builder: &mut GraphBuilder, name: &str, sizes: &[usize]| {
        builder.value(name, Some(DataType::F32), Some(Shape::from(sizes.to_vec()))).unwrap()
    };
    let names = ["x", "projection", "apart", "joined"];
    let sizes: [&[usize]; 4] = [&[1, 6, 8], &[1, 6, 8], &[1, 6, 2, 4], &[1, 6, 8]];
    let values: Vec<ValueId> = names.iter().zip(sizes).map(|(name, sizes)| value(&mut builder, name, sizes)).collect();
    builder.input(values[0]);
    let along = |axis: usize, positions: Positions| Some(vec![Need::Some { axis, positions }]);
    let same = |axis: usize| along(axis, Positions::Same);
    let stretched = Positions::Stretched(Stretch { factor: 4, reach: 0 });
    let localities = [
        Locality::SamePosition { mixed: vec![2] },
        Locality::Moved(vec![same(0), same(1), along(2, Positions::Several(4)), None]),
        Locality::Moved(vec![same(0), same(1), along(2, stretched)]),
    ];
    for (index, locality) in localities.into_iter().enumerate() {
        let gemm = (index == 0).then_some(GemmShape { n: 6, k: 8, m: 8 });
        let kind = if index == 0 { OperatorKind::FullyConnected } else { OperatorKind::DataMovement };
        let operator = NewOperator::new(names[index + 1], "Any", kind).locality(locality);
        let operator = operator.work(Work { gemm, ..Work::default() });
        builder.operator(operator.reads([values[index]]).makes([values[index + 1]])).unwrap();
    }
    builder.output(values[3]);
    let graph = builder.build().unwrap();
    assert!(TileRegion::new(&graph, graph.order(), Along::Heads).is_some(), "its features could be divided");
    assert!(graph.head_groups().is_empty());
}

#[test]
fn one_head_alone_can_not_be_divided() {
    assert!(attention(6, 1, 4).head_groups().is_empty());
    assert_eq!(attention(2, 2, 4).head_groups().len(), 1);
}

/// Each of two tiles would make all of what mixes rows: that pays only where there is little of it.
#[test]
fn what_repeats_most_of_the_work_is_not_worthwhile() {
    let ways = |mixing_macs: u64| {
        let mut builder = GraphBuilder::new("mixing");
        let values = ["x", "a", "b"]
            .map(|name| builder.value(name, Some(DataType::F32), Some(Shape::from([1, 1, 8, 1]))).unwrap());
        builder.input(values[0]);
        for (index, (locality, macs)) in [(Locality::Global, mixing_macs), (same(), 1000)].into_iter().enumerate() {
            let work = Work { macs, ..Work::default() };
            let operator = NewOperator::new(format!("o{index}"), "Any", OperatorKind::Opaque);
            let operator = operator.locality(locality).work(work).reads([values[index]]).makes([values[index + 1]]);
            builder.operator(operator).unwrap();
        }
        builder.output(values[2]);
        let graph = builder.build().unwrap();
        TileRegion::worthwhile(&graph, graph.order()).len()
    };
    // Twice the first and once the second, beside once both.
    assert_eq!([100, 1000, 1001, 5000].map(ways), [1, 1, 0, 0]);

    let graph = attention(64, 4, 16);
    assert_eq!(TileRegion::worthwhile(&graph, graph.order()).len(), 1);
    let keys = ids(&graph, &["normal", "keys", "values", "keys apart", "values apart"]);
    assert!(TileRegion::worthwhile(&graph, &keys).is_empty(), "two values leave");
}

/// Where a map has more columns than rows, they are looked at as well.
#[test]
fn wide_maps_have_columns() {
    let map = |rows: usize, columns: usize| {
        let mut builder = GraphBuilder::new("wide");
        let shape = Shape::from([1, 2, rows, columns]);
        let [input, output] =
            ["x", "y"].map(|name| builder.value(name, Some(DataType::F32), Some(shape.clone())).unwrap());
        builder.input(input);
        let windows = vec![Window { span: 3, stride: 1, padding: 1 }, Window { span: 5, stride: 1, padding: 2 }];
        let operator = NewOperator::new("o", "Any", OperatorKind::Opaque).locality(Locality::Windows(windows));
        builder.operator(operator.reads([input]).makes([output])).unwrap();
        builder.output(output);
        builder.build().unwrap()
    };
    let graph = map(6, 20);
    let alongs = |graph: &Graph| -> Vec<(Along, usize)> {
        let ways = TileRegion::worthwhile(graph, graph.order());
        ways.into_iter().map(|(along, region)| (along, region.rows())).collect()
    };
    assert_eq!(alongs(&graph), [(Along::Rows, 6), (Along::Columns, 20)]);
    let columns = TileRegion::new(&graph, graph.order(), Along::Columns).unwrap();
    assert_eq!(columns.tile(3..8).read, [(graph.inputs()[0], Some(Slab { axis: 3, range: 1..10 }))]);
    assert_eq!(alongs(&map(20, 6)), [(Along::Rows, 20)]);
}

/// Sequences without a batch have their tokens first; enlarged maps have no heads.
#[test]
fn tokens_come_first_where_there_is_no_batch() {
    let mut builder = GraphBuilder::new("tokens");
    let [input, output] =
        ["x", "y"].map(|name| builder.value(name, Some(DataType::F32), Some(Shape::from([5, 8]))).unwrap());
    builder.input(input);
    let locality = Locality::SamePosition { mixed: vec![1] };
    let operator = NewOperator::new("o", "Any", OperatorKind::Opaque).locality(locality);
    builder.operator(operator.reads([input]).makes([output])).unwrap();
    builder.output(output);
    let graph = builder.build().unwrap();
    let region = region(&graph);
    assert_eq!((region.rows(), region.axis()), (5, 0));
    assert_eq!(region.tile(1..3).read, [(input, Some(Slab { axis: 0, range: 1..3 }))]);

    let stretched = Locality::Stretched(vec![Stretch { factor: 2, reach: 0 }; 2]);
    let graph = network(5, &[("twice", &["x"], 10, stretched)]);
    assert!(TileRegion::new(&graph, graph.order(), Along::Heads).is_none());
}

/// Where the one reader needs rows and the other columns, or one needs rows of what another reads whole.
#[test]
fn what_is_needed_along_two_dimensions_is_made_whole() {
    let mut builder = GraphBuilder::new("turned");
    let [input, first, turned, sum] = ["x", "first", "turned", "sum"]
        .map(|name| builder.value(name, Some(DataType::F32), Some(Shape::from([1, 1, 6, 6]))).unwrap());
    builder.input(input);
    let swapped = [0, 1, 3, 2].map(|axis| Some(vec![Need::Some { axis, positions: Positions::Same }]));
    let operators: [(&str, Vec<ValueId>, ValueId, Locality); 3] = [
        ("first", vec![input], first, same()),
        ("turned", vec![first], turned, Locality::Moved(swapped.to_vec())),
        ("sum", vec![first, turned], sum, same()),
    ];
    for (name, reads, made, locality) in operators {
        let operator = NewOperator::new(name, "Any", OperatorKind::Opaque).locality(locality);
        builder.operator(operator.reads(reads).makes([made])).unwrap();
    }
    builder.output(sum);
    let graph = builder.build().unwrap();
    let Tile { made, read } = region(&graph).tile(2..4);
    assert_eq!((made, read), (vec![0..1, 2..4, 2..4], vec![(input, None)]));
    // Without the first one, the input is read along both.
    let two = TileRegion::new(&graph, &ids(&graph, &["turned", "sum"]), Along::Rows).unwrap();
    assert_eq!(two.tile(2..4).read, [(first, None)]);
}

/// Enlarging between neighbours needs those on either side.
#[test]
fn stretching_reaches_its_neighbours() {
    let stretched = Locality::Stretched(vec![Stretch { factor: 2, reach: 1 }; 2]);
    let graph = network(5, &[("twice", &["x"], 10, stretched), ("after", &["twice"], 10, same())]);
    let region = region(&graph);
    let read = |range: Range<usize>| region.tile(range).read[0].1.clone();
    assert_eq!([read(0..3), read(4..5), read(8..10)], [0..3, 1..4, 3..5].map(|range| Some(rows(range))));
}
