//! What is measured, and what beside what.

use std::ops::Range;

use millstream_board::{Board, Cluster, Core, EngineName, Processor};

/// Processors that work at the same time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Round {
    /// Those that are measured.
    pub(crate) measured: Vec<Processor>,
    /// Those that work beside them, so that what is measured has the memory of the board no more to itself than in a
    /// schedule.
    pub(crate) beside: Vec<Processor>,
}

impl Round {
    /// Of processors that have nobody beside them.
    pub(crate) fn alone(measured: Vec<Processor>) -> Self {
        Self { measured, beside: Vec::new() }
    }

    /// All of them, those that are measured first.
    pub(crate) fn processors(&self) -> Vec<Processor> {
        [self.measured.as_slice(), &self.beside].concat()
    }

    /// The round for work that only those do of whom `runs` says so: they are measured if they were, and all other cores
    /// [work beside them](beside).
    pub(crate) fn for_work(&self, board: &Board, runs: impl Fn(&Processor) -> bool) -> Self {
        let (measured, others): (Vec<Processor>, Vec<Processor>) =
            self.measured.iter().cloned().partition(|own| runs(own));
        let beside = beside(board, others.iter().chain(&self.beside), runs);
        Self { measured, beside }
    }

    /// Whether a processor is measured, and does not only work beside others.
    pub(crate) fn measures(&self, processor: &Processor) -> bool {
        self.measured.contains(processor)
    }
}

/// The cores of processors, each with the first engine of its cluster of which `runs` says that it does the work. Cores
/// without one stay idle.
pub(crate) fn beside<'a>(
    board: &Board,
    processors: impl IntoIterator<Item = &'a Processor>,
    runs: impl Fn(&Processor) -> bool,
) -> Vec<Processor> {
    let with_able_engine = |processor: &Processor| {
        let cluster = board.cluster(&processor.cluster).ok()?;
        cluster.engines.iter().map(|engine| processor.clone().with_engine(engine)).find(|other| runs(other))
    };
    processors.into_iter().filter_map(with_able_engine).collect()
}

/// What is measured at the same time: for every number of cores, as many groups as each cluster has room for, all
/// clusters together. Each engine has rounds of its own; clusters without it work with another one meanwhile.
pub(crate) fn rounds(board: &Board) -> Vec<Round> {
    let most = board.clusters().iter().map(|cluster| cluster.cores.len()).max().unwrap_or(0);
    let round = |engine: EngineName, count: usize| {
        let groups = |cluster: &Cluster| {
            let own = if cluster.engines.contains(engine) { engine } else { cluster.engines.first() };
            let processor = |cores: &[Core]| cluster.processor(cores.iter().map(|core| core.id)).with_engine(own);
            cluster.cores.chunks_exact(count).map(processor).collect::<Vec<_>>()
        };
        let all = board.clusters().iter().flat_map(groups);
        let (measured, beside) = all.partition(|processor: &Processor| processor.engine == engine);
        Round { measured, beside }
    };
    let all = board.engines_in_use().flat_map(|engine| (1..=most).map(move |count| round(engine, count)));
    all.filter(|round| !round.measured.is_empty()).collect()
}

/// All processors of rounds.
pub(crate) fn processors_of(rounds: &[Round]) -> Vec<Processor> {
    rounds.iter().flat_map(Round::processors).collect()
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

    /// `processors measured | beside them`.
    fn name(round: &Round) -> String {
        let name = |processors: &[Processor]| processors.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        format!("{} | {}", name(&round.measured), name(&round.beside))
    }

    fn names(board: &str) -> Vec<String> {
        rounds(&millstream_test_support::board(board)).iter().map(name).collect()
    }

    /// Clusters work side by side as far as they have so many cores, also where engines were left out on some.
    #[test]
    fn each_engine_has_rounds_of_its_own_beside_others() {
        assert_eq!(
            names("B2#4@openvino,onnxruntime+s1:500#0"),
            ["B1 B1 s1 | ", "B2 | ", "B1@openvino B1@openvino | s1", "B2@openvino | "]
        );
        assert_eq!(
            names("B1#4@openvino+s1:500#0@onnxruntime,openvino"),
            ["s1 | B1@openvino", "B1@openvino s1@openvino | "]
        );
    }

    #[test]
    fn cores_whose_engine_refuses_work_beside_the_others_with_one_that_does_not() {
        let board = millstream_test_support::board("B1#4@openvino+s1:500#0@onnxruntime,openvino+u1:200#1");
        let for_work = |runs: &dyn Fn(&Processor) -> bool| {
            rounds(&board).iter().map(|round| name(&round.for_work(&board, runs))).collect::<Vec<_>>()
        };
        assert_eq!(for_work(&|_| true), ["s1 u1 | B1@openvino", "B1@openvino s1@openvino | u1"]);
        let is_usual = |processor: &Processor| processor.engine.is_default();
        assert_eq!(for_work(&is_usual), ["s1 u1 | ", " | s1 u1"]);
        assert_eq!(for_work(&|own| !is_usual(own)), [" | s1@openvino B1@openvino", "B1@openvino s1@openvino | "]);
        assert_eq!(for_work(&|own| own.cluster != "B"), ["s1 u1 | ", "s1@openvino | u1"]);
        assert_eq!(for_work(&|_| false), [" | ", " | "]);
    }

    #[test]
    fn groups_fill_the_board() {
        assert_eq!(names("B3#4+s2:500#0"), ["B1 B1 B1 s1 s1 | ", "B2 s2 | ", "B3 | "]);
    }
}
