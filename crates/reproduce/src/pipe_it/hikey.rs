//! Pipe-it's board, with costs calibrated to what its clusters reach alone.

use millstream_board::Board;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_graph::{DataType, Graph, GraphBuilder, NewOperator, OperatorKind, Shape};
use millstream_partition::Chain;
use millstream_pipeline::Problem;

use crate::ReproduceError;

/// Frames per second of one cluster with so many cores: columns of tables IV and VII.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub(super) cores: usize,
    pub(super) frames_per_second: f64,
}

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

/// Time of a whole network by number of cores: a part that more cores do not shorten, and one that they share.
///
/// The line goes through both measurements. Where they say that threads gain more than linearly, all of the time is shared and only the
/// first one, of the cluster as a whole, is met.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scaling {
    alone: f64,
    shared: f64,
}

impl Scaling {
    pub(super) fn through(whole: Measured, part: Measured) -> Self {
        let [long, short] = [part, whole].map(|measured| 1.0 / measured.frames_per_second);
        let inverse = |measured: Measured| 1.0 / measured.cores as f64;
        let shared = (long - short) / (inverse(part) - inverse(whole));
        let alone = short - shared * inverse(whole);
        if alone < 0.0 { Self { alone: 0.0, shared: short * whole.cores as f64 } } else { Self { alone, shared } }
    }

    pub(super) fn seconds(self, cores: usize) -> f64 {
        self.alone + self.shared / cores as f64
    }
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
    pub(super) fn scaling(&self, network: &Network) -> [Scaling; 2] {
        let measured = |cores: usize, frames_per_second: f64| Measured { cores, frames_per_second };
        let big = [measured(4, network.big[0]), measured(3, network.big[1])];
        let small = [measured(4, network.small[0]), measured(2, network.small[1])];
        let anchored = |[four, fewer]: [Measured; 2], has_all: bool| {
            let scaling = Scaling::through(four, fewer);
            if has_all {
                return scaling;
            }
            // The smaller board is met exactly, and keeps the shape of the line.
            let factor = 1.0 / fewer.frames_per_second / scaling.seconds(fewer.cores);
            Scaling { alone: factor * scaling.alone, shared: factor * scaling.shared }
        };
        let has_all = self.big == 4;
        [anchored(big, has_all), anchored(small, has_all)]
    }

    /// The network as a chain of its layers, each taking its share of the multiply-accumulates of the whole network's time.
    pub(super) fn problem(&self, network: &Network, layers: &[u64]) -> Result<(Problem, Vec<f64>), ReproduceError> {
        let graph = chain(layers.len());
        let scaling = self.scaling(network);
        let macs: u64 = layers.iter().sum();
        let shares: Vec<f64> = layers.iter().map(|&own| own as f64 / macs as f64).collect();
        let mut table = CostTable::new(layers.len(), self.board.processor_classes());
        for processor in table.processors() {
            let class = table.classes()[processor.index()].clone();
            let seconds = scaling[usize::from(class.cluster == "s")].seconds(class.count);
            for (operator, share) in shares.iter().enumerate() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_through_the_measurements() {
        let measured = |cores, frames_per_second| Measured { cores, frames_per_second };
        let line = Scaling::through(measured(4, 1.5), measured(2, 1.0));
        assert!((line.seconds(4) - 1.0 / 1.5).abs() < 1e-12 && (line.seconds(2) - 1.0).abs() < 1e-12);
        // More than twice as fast with twice the cores.
        let linear = Scaling::through(measured(4, 1.5), measured(2, 0.7));
        assert!((linear.seconds(4) - 1.0 / 1.5).abs() < 1e-12 && (linear.seconds(2) - 2.0 / 1.5).abs() < 1e-12);
    }
}
