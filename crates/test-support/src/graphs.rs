//! Small graphs: from texts with an operator a line, chains, a diamond.

use std::collections::HashMap;

use millstream_graph::{
    Convolution, DataType, Graph, GraphBuilder, GraphError, NewOperator, OperatorId, OperatorKind, Shape, ValueId, Work,
};

/// A graph of opaque operators, one a line: `join: left right -> sum`.
///
/// Every value is a vector of so many elements of four bytes each. A value that no operator makes is an input, one that
/// none reads an output. Operators count the bytes that they read and write, and compute nothing.
///
/// # Panics
/// If a line is something else, or the operators are no graph.
pub fn graph(elements: usize, text: &str) -> Graph {
    let operators: Vec<Line<'_>> = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(read).collect();
    build(elements, &operators).unwrap_or_else(|error| panic!("there is no graph of '{text}': {error}"))
}

/// Operators `o0`, `o1` and so on in a row, which make `v0`, `v1` and so on of one element each from `input`.
pub fn chain(operators: usize) -> Graph {
    chain_of(operators, 1)
}

/// The same with values of so many elements.
pub fn chain_of(operators: usize, elements: usize) -> Graph {
    let reads = |index: usize| index.checked_sub(1).map_or("input".to_owned(), |before| format!("v{before}"));
    let lines: Vec<String> = (0..operators).map(|index| format!("o{index}: {} -> v{index}", reads(index))).collect();
    graph(elements, &lines.join("\n"))
}

/// A `stem`, the branches `left` and `right`, and a `join`; every value has 100 bytes.
pub fn diamond() -> Graph {
    graph(
        25,
        "stem: input -> a
         left: a -> b
         right: a -> c
         join: b c -> d",
    )
}

/// The operators of these names, in the names' order.
///
/// # Panics
/// If the graph has none of such a name.
pub fn find_operators(graph: &Graph, names: &[&str]) -> Vec<OperatorId> {
    let find = |name: &&str| graph.find_operator(name).unwrap_or_else(|| panic!("there is no operator '{name}'"));
    names.iter().map(find).collect()
}

/// A convolution of one element of each of so many channels: any of them can be made apart.
pub fn pointwise(channels: usize) -> Convolution {
    Convolution {
        input_channels: channels,
        output_channels: channels,
        kernel: vec![1, 1],
        strides: vec![1, 1],
        dilations: vec![1, 1],
        groups: 1,
    }
}

struct Line<'a> {
    name: &'a str,
    reads: Vec<&'a str>,
    makes: Vec<&'a str>,
}

fn read(line: &str) -> Line<'_> {
    let parts = line.split_once(':').and_then(|(name, rest)| Some((name, rest.split_once("->")?)));
    let Some((name, (reads, makes))) = parts else {
        panic!("'{line}' is not an operator, such as join: left right -> sum");
    };
    Line { name: name.trim(), reads: reads.split_whitespace().collect(), makes: makes.split_whitespace().collect() }
}

fn build(elements: usize, operators: &[Line<'_>]) -> Result<Graph, GraphError> {
    let mut builder = GraphBuilder::new("test");
    let mut values: HashMap<&str, ValueId> = HashMap::new();
    for &name in operators.iter().flat_map(|line| line.reads.iter().chain(&line.makes)) {
        if !values.contains_key(name) {
            let value = builder.value(name, Some(DataType::F32), Some(Shape::from([elements])))?;
            values.insert(name, value);
            if !operators.iter().any(|line| line.makes.contains(&name)) {
                builder.input(value);
            }
        }
    }

    let bytes = |names: &[&str]| 4 * (elements * names.len()) as u64;
    for line in operators {
        let work = Work { input_bytes: bytes(&line.reads), output_bytes: bytes(&line.makes), ..Work::default() };
        let reads: Vec<ValueId> = line.reads.iter().map(|name| values[name]).collect();
        let makes: Vec<ValueId> = line.makes.iter().map(|name| values[name]).collect();
        let operator = NewOperator::new(line.name, "Any", OperatorKind::Opaque);
        builder.operator(operator.work(work).reads(reads).makes(makes))?;
    }

    for &name in operators.iter().flat_map(|line| &line.makes) {
        if !operators.iter().any(|line| line.reads.contains(&name)) {
            builder.output(values[name]);
        }
    }
    builder.build()
}
