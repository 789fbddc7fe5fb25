//! Pipe-it's board, with costs calibrated to what its clusters reach alone.

use millstream_board::Board;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::{DataType, Graph, GraphBuilder, NewOperator, OperatorKind, Shape};
use millstream_partition::Chain;
use millstream_pipeline::Problem;
use millstream_predict::calibration::CoreScaling;

use crate::paper::ReproduceError;

/// What is known of a network on the board.
#[derive(Debug, Clone, Copy)]
pub(super) struct Network {
    pub(super) name: &'static str,
    pub(super) model: &'static str,
    /// Four big cores, three big cores.
    pub(super) big: [f64; 2],
    /// Four small cores, two small cores.
    pub(super) small: [f64; 2],
}

/// Tables IV and VII.
pub(super) const NETWORKS: [Network; 5] = [
    network("AlexNet", "alexnet", [8.1, 5.7], [1.5, 0.7]),
    network("GoogLeNet", "googlenet", [7.8, 6.2], [3.3, 0.7]),
    network("MobileNet", "mobilenet-v1", [17.4, 14.2], [6.6, 3.7]),
    network("ResNet50", "resnet50", [3.1, 2.8], [1.5, 1.0]),
    network("SqueezeNet", "squeezenet", [15.6, 11.4], [6.9, 3.6]),
];

const fn network(name: &'static str, model: &'static str, big: [f64; 2], small: [f64; 2]) -> Network {
    Network { name, model, big, small }
}

/// The board with so many big and small cores.
pub(super) struct HiKey {
    board: Board,
    big: usize,
}

impl HiKey {
    pub(super) fn new(big: usize, small: usize) -> Result<Self, ReproduceError> {
        let cores =
            |range: std::ops::Range<usize>| range.map(|id| format!(r#"{{"id": {id}}}"#)).collect::<Vec<_>>().join(", ");
        let board = Board::from_json(&format!(
            r#"{{"format": "millstream-board", "version": 1, "name": "HiKey 970", "clusters": [
                {{"label": "B", "capacity": 1024, "cores": [{}]}}, {{"label": "s", "capacity": 400, "cores": [{}]}}]}}"#,
            cores(0..big),
            cores(big..big + small)
        ))?;
        Ok(Self { board, big })
    }

    /// Where the scaling of a network's clusters is anchored: at the measurement of as many cores as the board has.
    pub(super) fn scaling(&self, network: &Network) -> [CoreScaling; 2] {
        let anchored = |[four, fewer]: [(usize, f64); 2]| {
            let seconds = [four, fewer].map(|(cores, frames_per_second)| (cores, 1.0 / frames_per_second));
            let [_, (cores, part)] = seconds;
            let Some(scaling) = CoreScaling::through(&seconds) else { unreachable!("there are two measurements") };
            // The smaller board is met exactly, and keeps the shape of the line.
            if self.big == 4 { scaling } else { scaling.scaled(part / scaling.seconds(cores)) }
        };
        let [big, small] = [network.big, network.small];
        [anchored([(4, big[0]), (3, big[1])]), anchored([(4, small[0]), (2, small[1])])]
    }

    /// The network as a chain of its layers, each taking its share of the multiply-accumulates of the whole network's
    /// time.
    pub(super) fn problem(&self, network: &Network, layers: &[u64]) -> Result<(Problem, Vec<f64>), ReproduceError> {
        let graph = chain(layers.len());
        let scaling = self.scaling(network);
        let macs: u64 = layers.iter().sum();
        let shares: Vec<f64> = layers.iter().map(|&layer| layer as f64 / macs as f64).collect();
        let mut table = CostTable::new(layers.len(), self.board.processor_classes());
        for processor in table.class_ids() {
            let class = table.classes()[processor.index()].clone();
            let seconds = scaling[usize::from(class.cluster == "s")].seconds(class.count);
            for (operator, share) in table.operator_ids().zip(&shares) {
                table.set_time(processor, operator, Nanoseconds::from_seconds(share * seconds));
            }
        }
        Ok((Problem::new(&graph, &Chain::of(&graph), &self.board, &table)?, shares))
    }
}

/// As many operators in a row.
fn chain(layers: usize) -> Graph {
    let build = || {
        let mut builder = GraphBuilder::new("layers");
        let mut value = builder.value("input", Some(DataType::F32), Some(Shape::from([1])))?;
        builder.input(value);
        for index in 1..=layers {
            let made = builder.value(format!("value {index}"), Some(DataType::F32), Some(Shape::from([1])))?;
            let operator = NewOperator::new(format!("layer {index}"), "Layer", OperatorKind::Opaque);
            builder.operator(operator.reads([value]).makes([made]))?;
            value = made;
        }
        builder.output(value);
        builder.build()
    };
    build().unwrap_or_else(|error| unreachable!("a chain is a graph: {error}"))
}

/// Multiply-accumulates of each layer; a convolution in two groups is two nodes in ARM-CL.
pub(super) fn layers(graph: &Graph) -> Vec<u64> {
    let nodes = |&id: &millstream_graph::OperatorId| {
        let operator = graph.operator(id);
        let nodes = match &operator.kind {
            OperatorKind::Convolution(convolution) if convolution.groups <= 2 => convolution.groups.max(1),
            OperatorKind::Convolution(_) | OperatorKind::FullyConnected => 1,
            _ => 0,
        };
        std::iter::repeat_n(operator.work.macs / nodes.max(1) as u64, nodes)
    };
    graph.order().iter().flat_map(nodes).collect()
}
