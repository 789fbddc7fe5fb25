//! Random problems, and their optima by trying everything.

#![allow(clippy::unwrap_used, clippy::panic, dead_code, unreachable_pub, reason = "each test uses a part of it")]

use millstream_cost::{BlockedEnd, Nanoseconds};
use millstream_mapping::{Edge, MappingProblem, OutputId, ProcessorId, TaskId};
use millstream_schedule::execution::{TaskGraph, TransferCost};
use proptest::prelude::*;

/// Time of the best of all mappings, by trying every order of nodes and every processor.
pub fn brute_force(problem: &MappingProblem) -> Nanoseconds {
    struct Search<'a> {
        problem: &'a MappingProblem,
        home: Vec<Option<ProcessorId>>,
        ends: Vec<Nanoseconds>,
        free: Vec<Nanoseconds>,
        best: Nanoseconds,
    }

    impl Search<'_> {
        fn visit(&mut self, placed: usize, makespan: Nanoseconds) {
            if makespan >= self.best {
                return;
            }
            if placed == self.problem.len() {
                self.best = makespan;
                return;
            }
            for node in self.problem.nodes() {
                let is_ready = self.problem.incoming(node).all(|edge| self.home[edge.from.index()].is_some());
                if self.home[node.index()].is_some() || !is_ready {
                    continue;
                }
                for processor in self.problem.supporting(node).collect::<Vec<_>>() {
                    let before = self.free[processor.index()];
                    let mut start = before.max(self.problem.release(node, processor));
                    for edge in self.problem.incoming(node) {
                        let maker = self.home[edge.from.index()].unwrap();
                        start = start.max(self.ends[edge.from.index()] + edge.transfer(maker, processor));
                    }
                    let end = start + self.problem.time(node, processor).unwrap();
                    self.home[node.index()] = Some(processor);
                    self.ends[node.index()] = end;
                    self.free[processor.index()] = end;
                    self.visit(placed + 1, makespan.max(end));
                    self.home[node.index()] = None;
                    self.free[processor.index()] = before;
                }
            }
        }
    }

    let mut search = Search {
        problem,
        home: vec![None; problem.len()],
        ends: vec![Nanoseconds::ZERO; problem.len()],
        free: vec![Nanoseconds::ZERO; problem.processor_count()],
        best: Nanoseconds(u64::MAX),
    };

    search.visit(0, Nanoseconds::ZERO);
    search.best
}

/// Random DAGs with unsupported pairs, releases, and sometimes processors that are the same.
pub fn problems(most_nodes: usize) -> impl Strategy<Value = MappingProblem> {
    (1..=most_nodes, 1_usize..=3, any::<bool>()).prop_flat_map(|(nodes, processors, has_twins)| {
        let time = prop_oneof![4 => (0_u64..20).prop_map(|time| Some(Nanoseconds(time))), 1 => Just(None)];
        let rows = prop::collection::vec(prop::collection::vec(time, processors), nodes);
        let pairs = prop::collection::btree_set((0..nodes, 0..nodes), 0..=2 * nodes);
        let transfers = prop::collection::vec(0_u64..12, processors * processors);
        let releases = prop::collection::vec(0_u64..6, nodes);
        (rows, pairs, transfers, releases).prop_map(move |(mut rows, pairs, transfers, releases)| {
            for row in &mut rows {
                if has_twins {
                    let first = row[0];
                    row.iter_mut().for_each(|time| *time = first);
                }
                if row.iter().all(Option::is_none) {
                    row[0] = Some(Nanoseconds(7));
                }
            }

            let transfer = |from: ProcessorId, to: ProcessorId| {
                Nanoseconds(if has_twins { 3 } else { transfers[from.index() * processors + to.index()] })
            };
            let row = |from: ProcessorId| ProcessorId::all(processors).map(|to| transfer(from, to)).collect();
            let matrix: Vec<Vec<Nanoseconds>> = ProcessorId::all(processors).map(row).collect();
            let edges = pairs
                .iter()
                .filter(|(from, to)| from < to)
                .map(|&(from, to)| Edge::new(TaskId::new(from), TaskId::new(to), matrix.clone()));

            let names = (0..rows.len()).map(|index| format!("n{index}")).collect();
            let mut problem = MappingProblem::new(names, rows, edges.collect()).unwrap();
            for (node, &release) in problem.nodes().zip(&releases) {
                problem.processors().for_each(|processor| problem.set_release(node, processor, Nanoseconds(release)));
            }
            problem
        })
    })
}

/// As [`problems`], with two values per node, each with a transfer of its own, and transfers that occupy one of their
/// ends here and there.
pub fn blocking_problems(most_nodes: usize) -> impl Strategy<Value = MappingProblem> {
    let end = prop_oneof![Just(None), Just(Some(BlockedEnd::Sender)), Just(Some(BlockedEnd::Receiver))];
    let values = prop::collection::vec(0_usize..2, 4 * most_nodes);
    (problems(most_nodes), prop::collection::vec(end, 9), values).prop_map(|(plain, ends, values)| {
        let row = |from: ProcessorId| plain.processors().map(|to| ends[3 * from.index() + to.index()]).collect();
        let blocks: Vec<Vec<Option<BlockedEnd>>> = plain.processors().map(row).collect();
        let transfers = |edge: &Edge, value: usize| -> Vec<Vec<Nanoseconds>> {
            let longer = Nanoseconds(3 * value as u64);
            let row = |from: ProcessorId| plain.processors().map(|to| edge.transfer(from, to) + longer).collect();
            plain.processors().map(row).collect()
        };
        let edges = plain.edges().iter().enumerate().map(|(index, edge)| {
            let value = values[index % values.len()];
            Edge::new(edge.from, edge.to, transfers(edge, value))
                .of_value(OutputId::new(value))
                .blocking(blocks.clone())
        });
        let names = plain.nodes().map(|node| plain.name(node).to_owned()).collect();
        let times = plain.nodes().map(|node| plain.processors().map(|place| plain.time(node, place)).collect());
        let mut problem = MappingProblem::new(names, times.collect(), edges.collect()).unwrap();
        for node in plain.nodes() {
            plain.processors().for_each(|place| problem.set_release(node, place, plain.release(node, place)));
        }
        problem
    })
}

/// The makespan when nodes run in this sequence, each on its processor: the rules of execution, written down a second
/// time. Times and transfers are the problem's; what waits for what is found here.
fn makespan_of(problem: &MappingProblem, sequence: &[(TaskId, ProcessorId)]) -> Nanoseconds {
    let mut home = vec![ProcessorId::new(0); problem.len()];
    sequence.iter().for_each(|&(node, processor)| home[node.index()] = processor);
    let mut ends = vec![Nanoseconds::ZERO; problem.len()];
    let mut free = vec![Nanoseconds::ZERO; problem.processor_count()];
    // Which values are where, and since when, by transfers that occupied somebody.
    let mut moved: Vec<(TaskId, OutputId, ProcessorId, Nanoseconds)> = Vec::new();

    for &(node, here) in sequence {
        let mut start = problem.release(node, here);
        let mut fetched = Vec::new();
        for read in problem.inputs(node) {
            let (maker, value, made) = (read.maker, read.value, ends[read.maker.index()]);
            let there = home[maker.index()];
            let TransferCost { time, blocks } = problem.transfer(read, there, here);
            let known = moved.iter().find(|known| (known.0, known.1, known.2) == (maker, value, here));
            match (known, blocks) {
                _ if there == here => start = start.max(made),
                (Some(&(.., at)), _) => start = start.max(at),
                (None, None) => start = start.max(made + time),
                (None, Some(BlockedEnd::Receiver)) => fetched.push((made, maker, value, time)),
                (None, Some(BlockedEnd::Sender)) => panic!("the maker sends it right after making it"),
            }
        }

        let now = &mut free[here.index()];
        fetched.sort_unstable();
        fetched.dedup();
        for (made, maker, value, time) in fetched {
            *now = made.max(*now) + time;
            moved.push((maker, value, here, *now));
        }
        *now = start.max(*now) + problem.time(node, here).unwrap();
        ends[node.index()] = *now;

        let mut sent: Vec<(OutputId, ProcessorId, Nanoseconds)> = Vec::new();
        for read in problem.readers(node) {
            let to = home[read.reader.index()];
            let TransferCost { time, blocks } = problem.transfer(read, here, to);
            if to != here && blocks == Some(BlockedEnd::Sender) {
                sent.push((read.value, to, time));
            }
        }
        sent.sort_unstable();
        sent.dedup();
        for (value, to, time) in sent {
            *now += time;
            moved.push((node, value, to, *now));
        }
    }
    ends.into_iter().max().unwrap_or_default()
}

/// The best of all orders on all processors, each evaluated as a whole.
pub fn best_order(problem: &MappingProblem) -> Nanoseconds {
    fn visit(problem: &MappingProblem, sequence: &mut Vec<(TaskId, ProcessorId)>, best: &mut Nanoseconds) {
        if sequence.len() == problem.len() {
            *best = (*best).min(makespan_of(problem, sequence));
            return;
        }
        for node in problem.nodes() {
            let is_placed = |node: TaskId| sequence.iter().any(|&(placed, _)| placed == node);
            if is_placed(node) || !problem.incoming(node).all(|edge| is_placed(edge.from)) {
                continue;
            }
            for processor in problem.supporting(node).collect::<Vec<_>>() {
                sequence.push((node, processor));
                visit(problem, sequence, best);
                sequence.pop();
            }
        }
    }

    let mut best = Nanoseconds(u64::MAX);
    visit(problem, &mut Vec::new(), &mut best);
    best
}

/// The example that list scheduling was published with (Topcuoglu et al., TPDS 2002, figure 2 and its table): ten nodes
/// on three processors. What an edge costs is the same between any two of them.
pub fn published_example() -> MappingProblem {
    let times = [
        [14, 16, 9],
        [13, 19, 18],
        [11, 13, 19],
        [13, 8, 17],
        [12, 13, 10],
        [13, 16, 9],
        [7, 15, 11],
        [5, 11, 14],
        [18, 12, 20],
        [21, 7, 16],
    ];

    // Counted from 1, as there.
    let edges = [
        (1, 2, 18),
        (1, 3, 12),
        (1, 4, 9),
        (1, 5, 11),
        (1, 6, 14),
        (2, 8, 19),
        (2, 9, 16),
        (3, 7, 23),
        (4, 8, 27),
        (4, 9, 23),
        (5, 9, 13),
        (6, 8, 15),
        (7, 10, 17),
        (8, 10, 11),
        (9, 10, 13),
    ];

    MappingProblem::new(
        (1..=10).map(|node| format!("n{node}")).collect(),
        times.iter().map(|row| row.iter().map(|&time| Some(Nanoseconds(time))).collect()).collect(),
        edges
            .iter()
            .map(|&(from, to, time)| Edge::new(TaskId::new(from - 1), TaskId::new(to - 1), apart(3, time)))
            .collect(),
    )
    .unwrap()
}

/// Transfers that take the same time between any two of so many processors.
pub fn apart(processors: usize, nanoseconds: u64) -> Vec<Vec<Nanoseconds>> {
    let time = |from: ProcessorId, to: ProcessorId| Nanoseconds(if from == to { 0 } else { nanoseconds });
    let row = |from: ProcessorId| ProcessorId::all(processors).map(|to| time(from, to)).collect();
    ProcessorId::all(processors).map(row).collect()
}
