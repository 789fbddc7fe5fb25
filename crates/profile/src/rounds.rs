//! What is measured, and what beside what.

use std::ops::Range;

use millstream_board::{Board, Core, EngineName, Processor};

/// Processors that are measured at the same time: for every number of cores, as many such groups as each cluster has
/// room for, all clusters together. Each engine is measured by itself.
pub(crate) fn rounds(board: &Board) -> Vec<Vec<Processor>> {
    let most = board.clusters().iter().map(|cluster| cluster.cores.len()).max().unwrap_or(0);
    let round = |engine: EngineName, count: usize| {
        let clusters = board.clusters().iter().filter(|cluster| cluster.engines.contains(engine));
        let groups = clusters.flat_map(|cluster| {
            let processor = |cores: &[Core]| cluster.processor(cores.iter().map(|core| core.id)).with_engine(engine);
            cluster.cores.chunks_exact(count).map(processor)
        });
        groups.collect::<Vec<_>>()
    };
    let all = board.engines_in_use().flat_map(|engine| (1..=most).map(move |count| round(engine, count)));
    all.filter(|round| !round.is_empty()).collect()
}

/// The chain as a whole and in 2, 4, 8, ... ranges of about equal work, up to `leaves` ranges, coarse ones first.
/// `work` is any rough measure per block.
pub(crate) fn ranges(work: &[f64], leaves: usize) -> Vec<Range<usize>> {
    let mut sums = vec![0.0];
    for amount in work {
        sums.push(sums[sums.len() - 1] + amount.max(1.0));
    }
    let mut found = Vec::new();
    let mut level = std::iter::once(0..work.len()).collect::<Vec<Range<usize>>>();
    while !level.is_empty() {
        found.extend(level.iter().cloned());
        if level.len() * 2 > leaves {
            break;
        }
        level = level
            .into_iter()
            .filter(|range| range.len() > 1)
            .flat_map(|range| {
                let half = f64::midpoint(sums[range.start], sums[range.end]);
                let cut = sums.partition_point(|&sum| sum < half).clamp(range.start + 1, range.end - 1);
                [range.start..cut, cut..range.end]
            })
            .collect();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_covers_the_chain() {
        let work: Vec<f64> = (0..29).map(|index| f64::from(index * 13 % 7) * 1e6).collect();
        let found = ranges(&work, 16);
        assert_eq!(found[0], 0..29);
        let level = &found[1 + 2 + 4..1 + 2 + 4 + 8];
        assert_eq!(level.iter().map(Range::len).sum::<usize>(), 29);
        assert!(level.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(ranges(&[1.0], 16).len(), 1);
        assert_eq!(ranges(&[1.0, 1.0], 16), [0..2, 0..1, 1..2]);
    }

    #[test]
    fn each_engine_has_rounds_of_its_own() {
        let names: Vec<String> = rounds(&millstream_test_support::board("B2#4@openvino,onnxruntime+s1:500#0"))
            .iter()
            .map(|round| round.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(names, ["B1 B1 s1", "B2", "B1@openvino B1@openvino", "B2@openvino"]);
    }

    #[test]
    fn groups_fill_the_board() {
        let names: Vec<String> = rounds(&millstream_test_support::board("B3#4+s2:500#0"))
            .iter()
            .map(|round| round.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(names, ["B1 B1 B1 s1 s1", "B2 s2", "B3"]);
    }
}
