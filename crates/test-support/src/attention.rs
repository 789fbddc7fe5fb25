//! Attention of a transformer.

use millstream_graph::{
    DataType, GemmShape, Graph, GraphBuilder, GraphError, Locality, Need, NewOperator, OperatorKind, Positions, Shape,
    Stretch, ValueId, Work,
};

/// The attention of a transformer's layer, from one frame's tokens to their sum with what it makes of them: `normal`
/// is projected to `queries`, `keys` and `values`, each of which falls apart into heads of `size` features (`apart`)
/// and is turned; then `scores`, `shares`, `weighted`, `back`, `joined`, `projection` and `sum`. What the projections
/// make is called `queries apart` and `queries turned`, and so on. Products count their multiply-accumulates.
///
/// # Panics
/// If one of the sizes is 0.
pub fn attention(tokens: usize, heads: usize, size: usize) -> Graph {
    built([tokens, heads, size], |_| Ok(()))
}

/// The same, which also returns one of its values.
///
/// # Panics
/// As [`attention()`], and if there is no such value.
pub fn attention_returning(tokens: usize, heads: usize, size: usize, value: &str) -> Graph {
    built([tokens, heads, size], |layer| {
        let returned = layer.found(value);
        layer.0.output(returned);
        Ok(())
    })
}

/// The same, of which a further operator `copy` reads one of the values and makes an output of the same sizes.
///
/// # Panics
/// As [`attention_returning()`].
pub fn attention_copying(tokens: usize, heads: usize, size: usize, value: &str, sizes: &[usize]) -> Graph {
    built([tokens, heads, size], |layer| {
        let read = layer.found(value);
        let locality = Locality::SamePosition { mixed: Vec::new() };
        let copy = layer.add(("copy", "Identity", OperatorKind::DataMovement), &[read], sizes, (locality, 0))?;
        layer.0.output(copy);
        Ok(())
    })
}

fn built(sizes: [usize; 3], more: impl FnOnce(&mut Layer) -> Result<(), GraphError>) -> Graph {
    build(sizes, more).unwrap_or_else(|error| panic!("there is no such attention: {error}"))
}

/// Adds operators one after the other.
struct Layer(GraphBuilder);

impl Layer {
    fn value(&mut self, name: &str, sizes: &[usize]) -> Result<ValueId, GraphError> {
        self.0.value(name, Some(DataType::F32), Some(Shape::from(sizes.to_vec())))
    }

    /// An operator that makes a value of its own name.
    fn add(
        &mut self,
        (name, op_type, kind): (&str, &str, OperatorKind),
        reads: &[ValueId],
        sizes: &[usize],
        (locality, k): (Locality, usize),
    ) -> Result<ValueId, GraphError> {
        let made = self.value(name, sizes)?;
        let elements = sizes.iter().product::<usize>() as u64;
        let m = *sizes.last().unwrap_or(&1) as u64;
        let gemm = (k > 0).then(|| GemmShape { n: elements / m, k: k as u64, m });
        let work = Work { macs: elements * k as u64, output_bytes: 4 * elements, gemm, ..Work::default() };
        let operator = NewOperator::new(name, op_type, kind).locality(locality).work(work);
        self.0.operator(operator.reads(reads.iter().copied()).makes([made]))?;
        Ok(made)
    }

    fn found(&self, value: &str) -> ValueId {
        self.0.find_value(value).unwrap_or_else(|| panic!("attention has no value '{value}'"))
    }
}

fn same(axis: usize) -> Need {
    Need::Some { axis, positions: Positions::Same }
}

/// Of each of the output's dimensions, the positions of which dimension of the only input.
fn moved<const RANK: usize>(origins: [Option<Need>; RANK]) -> Locality {
    Locality::Moved(origins.map(|need| need.map(|need| vec![need])).to_vec())
}

/// A product of two values of four dimensions.
fn product() -> Locality {
    let both = |axis: usize| Some(vec![same(axis), same(axis)]);
    Locality::Moved(vec![both(0), both(1), Some(vec![same(2), Need::Whole]), Some(vec![Need::Whole, same(3)])])
}

fn build(
    [tokens, heads, size]: [usize; 3],
    more: impl FnOnce(&mut Layer) -> Result<(), GraphError>,
) -> Result<Graph, GraphError> {
    let features = heads * size;
    let sequence = [1, tokens, features];
    let along_features = || Locality::SamePosition { mixed: vec![2] };
    let mut layer = Layer(GraphBuilder::new("attention"));
    let input = layer.value("tokens", &sequence)?;
    layer.0.input(input);

    let normalised = ("normal", "LayerNormalization", OperatorKind::Normalization);
    let normal = layer.add(normalised, &[input], &sequence, (along_features(), 0))?;
    let mut turned = Vec::with_capacity(3);
    for (name, order, sizes) in [
        ("queries", [0, 2, 1, 3], [1, heads, tokens, size]),
        ("keys", [0, 2, 3, 1], [1, heads, size, tokens]),
        ("values", [0, 2, 1, 3], [1, heads, tokens, size]),
    ] {
        let kind = (name, "MatMul", OperatorKind::FullyConnected);
        let made = layer.add(kind, &[normal], &sequence, (along_features(), features))?;
        let several = Need::Some { axis: 2, positions: Positions::Several(size) };
        let locality = moved([Some(same(0)), Some(same(1)), Some(several), None]);
        let apart = format!("{name} apart");
        let kind = (apart.as_str(), "Reshape", OperatorKind::DataMovement);
        let made = layer.add(kind, &[made], &[1, tokens, heads, size], (locality, 0))?;
        let turned_name = format!("{name} turned");
        let kind = (turned_name.as_str(), "Transpose", OperatorKind::DataMovement);
        turned.push(layer.add(kind, &[made], &sizes, (moved(order.map(|axis| Some(same(axis)))), 0))?);
    }

    let compared = [1, heads, tokens, tokens];
    let kind = |name: &'static str| (name, "MatMul", OperatorKind::MatrixMultiplication);
    let scores = layer.add(kind("scores"), &turned[..2], &compared, (product(), size))?;
    let locality = Locality::SamePosition { mixed: vec![3] };
    let shares = layer.add(("shares", "Softmax", OperatorKind::Softmax), &[scores], &compared, (locality, 0))?;
    let reads = [shares, turned[2]];
    let weighted = layer.add(kind("weighted"), &reads, &[1, heads, tokens, size], (product(), tokens))?;
    let locality = moved([0, 2, 1, 3].map(|axis| Some(same(axis))));
    let back = ("back", "Transpose", OperatorKind::DataMovement);
    let back = layer.add(back, &[weighted], &[1, tokens, heads, size], (locality, 0))?;
    let joined = Need::Some { axis: 2, positions: Positions::Stretched(Stretch { factor: size, reach: 0 }) };
    let locality = moved([Some(same(0)), Some(same(1)), Some(joined)]);
    let joined = layer.add(("joined", "Reshape", OperatorKind::DataMovement), &[back], &sequence, (locality, 0))?;

    let kind = ("projection", "MatMul", OperatorKind::FullyConnected);
    let projection = layer.add(kind, &[joined], &sequence, (along_features(), features))?;
    let locality = Locality::SamePosition { mixed: Vec::new() };
    let sum = layer.add(("sum", "Add", OperatorKind::Elementwise), &[projection, input], &sequence, (locality, 0))?;
    layer.0.output(sum);
    more(&mut layer)?;
    layer.0.build()
}
