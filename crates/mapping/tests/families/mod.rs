//! Families of task graphs shaped like PETR's decoder: an encoder that forks into attention heads, which join again.

#![allow(clippy::unwrap_used, dead_code, unreachable_pub, reason = "each test and benchmark uses a part of it")]

use millstream_cost::{BlockedEnd, Nanoseconds};
use millstream_mapping::{Edge, MappingProblem, TaskId};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The places of one problem in its family.
#[derive(Debug, Clone, Copy)]
pub struct Attention {
    /// Of the random times.
    pub seed: u64,
    /// Heads; each is 9 operators, and there are 25 others.
    pub width: usize,
    /// Mean time of a transfer over mean time of an operator.
    pub ratio: f64,
    /// Whether operators at the same place of different heads take the same time, as in real networks.
    pub are_heads_alike: bool,
    /// The end that transfers occupy.
    pub blocks: Option<BlockedEnd>,
}

/// What an operator does, as far as it matters where.
#[derive(Clone, Copy)]
enum Kind {
    /// Multiplications, for which the first processor was built.
    Matrix,
    /// Element by element: the memory decides.
    Element,
    /// What the first processor can't do.
    Other,
}
use Kind::{Element, Matrix, Other};

/// Microseconds on one of the two equal processors before the random factor, and places that are read. A head reads the
/// queries (-2) and the memory (-1).
type Operator = (Kind, u64, &'static [i64]);

/// From the features to queries (place 8) and memory (place 20).
const ENCODER: [Operator; 21] = [
    (Matrix, 60, &[]),
    (Element, 20, &[0]),
    (Element, 5, &[1]),
    (Matrix, 60, &[2]),
    (Element, 5, &[3]),
    (Matrix, 60, &[4]),
    (Element, 5, &[5]),
    (Matrix, 100, &[6]),
    (Element, 5, &[7]),
    (Other, 15, &[8]),
    (Element, 5, &[9]),
    (Element, 5, &[10]),
    (Matrix, 120, &[0]),
    (Element, 20, &[12, 11]),
    (Matrix, 120, &[0]),
    (Element, 15, &[14]),
    (Matrix, 80, &[15]),
    (Element, 15, &[16]),
    (Element, 20, &[13, 17]),
    (Element, 5, &[18]),
    (Other, 25, &[19]),
];
const QUERIES: usize = 8;
const MEMORY: usize = 20;

/// Cross-attention: keys, their scores, weights, and what they weigh.
const HEAD: [Operator; 9] = [
    (Matrix, 50, &[-1]),
    (Element, 10, &[0]),
    (Other, 25, &[1]),
    (Other, 20, &[2]),
    (Matrix, 40, &[-2, 3]),
    (Element, 8, &[4]),
    (Element, 8, &[5]),
    (Other, 20, &[6]),
    (Matrix, 40, &[7, 2]),
];

impl Attention {
    /// The problem: the first processor is an accelerator, the others are the same.
    pub fn problem(&self) -> MappingProblem {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let mut nodes: Vec<(Kind, f64)> = Vec::new();
        let mut reads: Vec<Vec<usize>> = Vec::new();
        let mut add = |kind: Kind, time: f64, read: Vec<usize>| {
            nodes.push((kind, time));
            reads.push(read);
            nodes.len() - 1
        };
        for (kind, time, read) in ENCODER {
            add(kind, drawn(&mut random, time), read.iter().map(|&place| place as usize).collect());
        }

        let alike: Vec<f64> = HEAD.iter().map(|&(_, time, _)| drawn(&mut random, time)).collect();
        let mut ends = Vec::new();
        for _ in 0..self.width {
            let mut head = Vec::new();
            for (&(kind, time, read), &same) in HEAD.iter().zip(&alike) {
                let time = if self.are_heads_alike { same } else { drawn(&mut random, time) };
                let place = |&place: &i64| match place {
                    -2 => QUERIES,
                    -1 => MEMORY,
                    place => head[place as usize],
                };
                head.push(add(kind, time, read.iter().map(place).collect()));
            }
            ends.extend(head.last().copied());
        }
        let mut last = add(Element, drawn(&mut random, 20), ends);
        last = add(Matrix, drawn(&mut random, 50), vec![last]);
        last = add(Element, drawn(&mut random, 10), vec![last, QUERIES]);
        add(Other, drawn(&mut random, 20), vec![last]);
        self.with_times(&nodes, &reads, &mut random)
    }

    fn with_times(&self, nodes: &[(Kind, f64)], reads: &[Vec<usize>], random: &mut ChaCha8Rng) -> MappingProblem {
        let nanoseconds = |microseconds: f64| Nanoseconds((1000.0 * microseconds) as u64);
        let times: Vec<Vec<Option<Nanoseconds>>> = nodes
            .iter()
            .map(|&(kind, time)| {
                let accelerator = match kind {
                    Matrix => Some(nanoseconds(time / random.random_range(2.5..4.5))),
                    Element => Some(nanoseconds(time / random.random_range(0.8..1.6))),
                    Other => None,
                };
                vec![accelerator, Some(nanoseconds(time)), Some(nanoseconds(time))]
            })
            .collect();

        let mean = nodes.iter().map(|(_, time)| time).sum::<f64>() / nodes.len() as f64;
        // A value takes as long to whoever reads it.
        let transfers: Vec<Nanoseconds> =
            nodes.iter().map(|_| nanoseconds(mean * self.ratio * random.random_range(0.5..1.5))).collect();
        let apart = |time: Nanoseconds| {
            let row = |from| (0..3).map(move |to| if from == to { Nanoseconds::ZERO } else { time }).collect();
            (0..3).map(row).collect()
        };
        let edges = reads
            .iter()
            .enumerate()
            .flat_map(|(to, read)| read.iter().map(move |&from| (from, to)).collect::<Vec<_>>());
        let edges = edges.map(|(from, to)| {
            let blocks = (0..3).map(|one| (0..3).map(|other| self.blocks.filter(|_| one != other)).collect()).collect();
            Edge::new(TaskId::new(from), TaskId::new(to), apart(transfers[from])).blocking(blocks)
        });
        let names = (0..nodes.len()).map(|node| format!("n{node}")).collect();
        MappingProblem::new(names, times, edges.collect()).unwrap()
    }
}

/// Problems with names, whatever transfers occupy.
pub fn instances() -> Vec<(String, MappingProblem)> {
    [None, Some(BlockedEnd::Receiver), Some(BlockedEnd::Sender)].into_iter().flat_map(instances_that_occupy).collect()
}

/// Problems with names, of five sizes with three ratios each, whose transfers occupy one end or none.
pub fn instances_that_occupy(blocks: Option<BlockedEnd>) -> Vec<(String, MappingProblem)> {
    let mut instances = Vec::new();
    for (seed, width) in [(1, 5), (2, 7), (3, 10), (4, 13), (5, 16)] {
        for (place, ratio) in [0.05, 0.3, 1.0].into_iter().enumerate() {
            let are_heads_alike = (seed as usize + place).is_multiple_of(2);
            if blocks == Some(BlockedEnd::Sender) && !are_heads_alike {
                continue;
            }
            let family = Attention { seed, width, ratio, are_heads_alike, blocks };
            let heads = if are_heads_alike { "alike" } else { "different" };
            let blocked = blocks.map_or("nobody".to_owned(), |end| format!("{end:?}").to_lowercase());
            let name = format!("seed {seed}, {width} {heads} heads, transfers {ratio} occupy {blocked}");
            instances.push((name, family.problem()));
        }
    }
    instances
}

/// Between half and twice a time.
fn drawn(random: &mut ChaCha8Rng, time: u64) -> f64 {
    time as f64 * random.random_range(-1.0_f64..1.0).exp2()
}
