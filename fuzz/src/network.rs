//! One small network on one board, for what needs both.

use std::sync::LazyLock;

use millstream_board::Board;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_onnx::{Attributes, Model, ModelBuilder, Weight};
use millstream_partition::Chain;

/// A network with two branches, its blocks, and a board of two clusters and an accelerator.
pub(crate) struct Setting {
    pub(crate) model: Model,
    pub(crate) chain: Chain,
    pub(crate) board: Board,
    /// Every operator takes some time everywhere.
    pub(crate) table: CostTable,
}

/// The setting, made once. It is sound; where it is not, every target that uses it says so.
pub(crate) static SETTING: LazyLock<Setting> = LazyLock::new(|| {
    let model = builder().build().unwrap_or_else(|error| unreachable!("{error}"));
    let text = include_str!("../../fixtures/boards/khadas-vim3.json");
    let board = Board::from_json(text).unwrap_or_else(|error| unreachable!("{error}"));
    let chain = Chain::of(model.graph());
    let mut table = CostTable::new(model.graph().operators().len(), board.processor_classes());
    for processor in table.class_ids() {
        for operator in table.operator_ids() {
            let nanoseconds = 100 * (1 + processor.index() as u64) + 37 * operator.index() as u64;
            table.set_time(processor, operator, Nanoseconds(nanoseconds));
        }
    }
    Setting { model, chain, board, table }
});

/// The network, still open to be written.
fn builder() -> ModelBuilder {
    let mut builder = ModelBuilder::new("small");
    let image = builder.input("image", [1, 3, 8, 8]);
    let filter = |builder: &mut ModelBuilder, from: usize, to: usize| {
        builder.weight("filter", &Weight::from_f32([to, from, 1, 1], vec![0.5; from * to]))
    };
    let first = filter(&mut builder, 3, 4);
    let wide = builder.node("Conv", &[&image, &first]);
    let wide = builder.node("Relu", &[&wide]);
    let window = Attributes::new().ints("kernel_shape", &[2, 2]).ints("strides", &[2, 2]);
    let pooled = builder.node_with("MaxPool", &[&wide], window);
    let (left, right) = (filter(&mut builder, 4, 2), filter(&mut builder, 4, 6));
    let left = builder.node("Conv", &[&pooled, &left]);
    let right = builder.node("Conv", &[&pooled, &right]);
    let right = builder.node("Relu", &[&right]);
    let both = builder.node_with("Concat", &[&left, &right], Attributes::new().int("axis", 1));
    let mean = builder.node("GlobalAveragePool", &[&both]);
    let flat = builder.node("Flatten", &[&mean]);
    let matrix = builder.weight("matrix", &Weight::from_f32([8, 5], vec![0.1; 40]));
    let result = builder.node("MatMul", &[&flat, &matrix]);
    builder.output(&result);
    builder
}
