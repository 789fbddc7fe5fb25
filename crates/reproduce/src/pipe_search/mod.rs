//! Pipe-Search: how evenly configurations spread the work, and the search itself on a board with four governor settings.

mod cores;
mod data;
mod search;
mod settings;
mod synthetic;

use millstream_graph::OperatorKind;
use millstream_tune::{coefficient_of_variation, most_even};

use crate::{Claim, LeftOut, ReproduceError, Reproduction};

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

/// Ranks of a division among those into as many stages, the most even first, counted from 1: those that are equally even stand in any order.
fn ranks(weights: &[u64], layers: &[usize]) -> (usize, usize) {
    let variation = |layers: &[usize]| coefficient_of_variation(weights, layers);
    let own = variation(layers);
    let all = most_even(weights, layers.len(), usize::MAX);
    let below = all.iter().filter(|other| variation(other) < own - EQUALLY_EVEN).count();
    let equal = all.iter().filter(|other| (variation(other) - own).abs() <= EQUALLY_EVEN).count();
    (below + 1, below + equal)
}

const EQUALLY_EVEN: f64 = 1e-12;

/// A printed rank beside ours: of equally even divisions, the nearest.
fn rank_claim(of: &str, (first, last): (usize, usize), printed: usize) -> Claim {
    Claim::count(format!("rank of {of}"), printed.clamp(first, last), printed)
}

/// In words.
fn shown((first, last): (usize, usize)) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}

/// Layers of each stage, as the paper writes them.
fn division(layers: &[usize]) -> String {
    let layers: Vec<String> = layers.iter().map(ToString::to_string).collect();
    format!("[{}]", layers.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equally_even_divisions_share_their_ranks() {
        // Of 1, 1, 2: [2, 1] is even, [1, 2] is 1 and 3. Of 1, 2, 1, both cuts are as uneven.
        assert_eq!((ranks(&[1, 1, 2], &[2, 1]), ranks(&[1, 1, 2], &[1, 2])), ((1, 1), (2, 2)));
        assert_eq!((ranks(&[1, 2, 1], &[2, 1]), ranks(&[1, 2, 1], &[1, 2])), ((1, 2), (1, 2)));
        assert!(rank_claim("one of two", (1, 2), 2).holds() && !rank_claim("one of two", (1, 2), 3).holds());
        assert_eq!([(1, 1), (1, 2)].map(shown), ["1", "1-2"]);
    }
}
