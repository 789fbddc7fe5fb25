//! Networks as the sequences of compute-intensive layers that the papers count.

use millstream_graph::{Graph, Operator, OperatorKind};

use crate::paper::ReproduceError;

/// A convolution or fully connected layer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layer {
    pub(crate) macs: u64,
    /// Bytes that making the image-to-column matrix moves.
    pub(crate) column_bytes: u64,
    /// Bytes that the matrix product reads and writes.
    pub(crate) product_bytes: u64,
}

const BYTES: u64 = size_of::<f32>() as u64;

impl Layer {
    fn of(operator: &Operator) -> Option<Self> {
        let work = operator.work;
        let shape = work.gemm?;
        let (n, k, m) = (shape.n, shape.k, shape.m);
        let column_bytes = match &operator.kind {
            OperatorKind::Convolution(_) => work.input_bytes + n * k * BYTES,
            OperatorKind::FullyConnected => 0,
            _ => return None,
        };
        Some(Self { macs: work.macs, column_bytes, product_bytes: (n * k + k * m + n * m) * BYTES })
    }

    fn and(self, other: Self) -> Self {
        Self {
            macs: self.macs + other.macs,
            column_bytes: self.column_bytes + other.column_bytes,
            product_bytes: self.product_bytes + other.product_bytes,
        }
    }
}

/// The layers of a network, in order; layers that read the same value, such as a block's first convolution and its
/// projection, are one.
fn layers(graph: &Graph) -> Vec<Layer> {
    let mut found: Vec<(Layer, &[millstream_graph::ValueId])> = Vec::new();
    for &id in graph.order() {
        let operator = graph.operator(id);
        let Some(layer) = Layer::of(operator) else { continue };
        match found.iter_mut().find(|(_, inputs)| *inputs == operator.inputs.as_slice()) {
            Some((known, _)) => *known = known.and(layer),
            None => found.push((layer, &operator.inputs)),
        }
    }
    found.into_iter().map(|(layer, _)| layer).collect()
}

/// A network of Shisha's evaluation (section 7.1), by its name there: ResNet50 with 50 layers, YOLOv3 with 52 (the
/// convolutions of its backbone), SynthNet with 18.
pub(crate) fn shisha_layers(model: &str) -> Result<Vec<Layer>, ReproduceError> {
    let mut layers = layers(millstream_zoo::build(model)?.graph());
    if model == "yolov3" {
        layers.truncate(52);
    }
    Ok(layers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_layers_as_the_paper_says() {
        for (model, count) in [("resnet50", 50), ("yolov3", 52), ("synthnet", 18)] {
            assert_eq!(shisha_layers(model).unwrap().len(), count, "{model}");
        }
    }
}
