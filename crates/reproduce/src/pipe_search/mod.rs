//! Pipe-Search: how evenly configurations spread the work, and the search itself on a board with four governor
//! settings.

mod cores;
mod data;
mod ranks;
mod search;
mod settings;
mod synthetic;

use millstream_graph::OperatorKind;

use crate::paper::ReproduceError;
use crate::report::{LeftOut, Reproduction};

const LEFT_OUT: [LeftOut; 5] = [
    LeftOut { what: "Tables 1 and 2", reason: "name settings and symbols; there is nothing to compute" },
    LeftOut {
        what: "Table 5, times and random search",
        reason: "times of the search as measured; the random search stops at a throughput that is set, 0.9 frames/s",
    },
    LeftOut { what: "Figures 1 and 4", reason: "times of stages as measured on the board, drawn without numbers" },
    LeftOut { what: "Figure 3", reason: "a search as it went on the board, drawn without numbers" },
    LeftOut { what: "Section 6.4, ResNet50 and AlexNet", reason: "configurations and times are not printed" },
];

pub(crate) fn reproduce() -> Result<Reproduction, ReproduceError> {
    let weights = vgg16_weights()?;
    Ok(Reproduction {
        paper: "Soomro et al., An online guided tuning approach to run CNN pipelines on edge devices (CF 2021)"
            .to_owned(),
        sections: vec![
            search::search(&weights)?,
            search::distribution(&weights)?,
            search::hints(&weights)?,
            settings::section(&weights)?,
            synthetic::section(),
        ],
        figures: Vec::new(),
        slowdowns: Vec::new(),
        left_out: LEFT_OUT.to_vec(),
    })
}

/// Equations 1 and 2; a pooling layer weighs as much as its input has elements. 21 layers.
fn vgg16_weights() -> Result<Vec<u64>, ReproduceError> {
    let model = millstream_zoo::build("vgg16")?;
    let graph = model.graph();
    let weight = |&id: &millstream_graph::OperatorId| {
        let operator = graph.operator(id);
        match operator.kind {
            OperatorKind::Convolution(_) | OperatorKind::FullyConnected => Some(operator.work.macs),
            OperatorKind::Pool(_) => Some(operator.work.input_bytes / 4),
            _ => None,
        }
    };
    Ok(graph.order().iter().filter_map(weight).collect())
}
