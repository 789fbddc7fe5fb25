//! The places of the published online searches, as processors of a board.

use millstream_board::{Board, Processor};
use millstream_partition::Chain;
use millstream_schedule::{Replica, Schedule, Stage};
use millstream_tune::{Configuration, Oracle, PlaceKind, Space, Trial, TuneError};

use crate::error::Error;
use crate::network::Network;

/// A space whose places are processors.
pub(crate) struct Places {
    pub(crate) space: Space,
    /// In the order of the space's places.
    processors: Vec<Processor>,
}

impl Places {
    /// The places that a text such as `B4-s2-s2` names, or every core on its own.
    pub(crate) fn new(network: &Network, board: &Board, text: Option<&str>) -> Result<Self, Error> {
        let mut processors = match text {
            Some(text) => parse(text, board)?,
            None => singles(board),
        };
        // The fastest first: clusters are sorted by speed, and more cores are faster than fewer.
        let cluster =
            |processor: &Processor| board.clusters().iter().position(|known| known.label == processor.cluster);
        processors.sort_by_key(|processor| (cluster(processor), std::cmp::Reverse(processor.cores.len())));
        let mut kinds: Vec<PlaceKind> = Vec::new();
        for name in processors.iter().map(ToString::to_string) {
            match kinds.last_mut() {
                Some(kind) if kind.name == name => kind.count += 1,
                _ => kinds.push(PlaceKind::new(name, 1)),
            }
        }
        let graph = network.graph();
        let macs = |operators: &[millstream_graph::OperatorId]| {
            operators.iter().map(|&id| graph.operator(id).work.macs).sum::<u64>().max(1)
        };
        let weights = network.chain().blocks().iter().map(|block| macs(&block.operators)).collect();
        Ok(Self { space: Space::new(weights, kinds)?, processors })
    }

    /// The schedule of a configuration.
    fn schedule(&self, configuration: &Configuration, chain: &Chain) -> Schedule {
        let stages = configuration.ranges().zip(configuration.places()).map(|(blocks, place)| Stage {
            replicas: vec![Replica::single(self.processors[place.index()].clone(), chain.operators(blocks))],
        });
        Schedule { stages: stages.collect() }
    }
}

fn singles(board: &Board) -> Vec<Processor> {
    let clusters = board.clusters().iter();
    clusters.flat_map(|cluster| cluster.cores.iter().map(|core| cluster.processor([core.id]))).collect()
}

/// Reads `B4-s2-s2`: clusters and numbers of their cores, lowest numbers first.
pub(crate) fn parse(text: &str, board: &Board) -> Result<Vec<Processor>, Error> {
    let mut processors: Vec<Processor> = Vec::new();
    for part in text.split('-') {
        let label = part.trim_end_matches(|character: char| character.is_ascii_digit());
        let count: usize = part[label.len()..]
            .parse()
            .map_err(|_| Error::Unfit(format!("'{part}' is not a cluster and a number, such as B4")))?;
        let labels = || board.clusters().iter().map(|cluster| cluster.label.as_str()).collect::<Vec<_>>().join(", ");
        let Some(cluster) = board.clusters().iter().find(|cluster| cluster.label == label) else {
            return Err(Error::Unfit(format!("the board has no cluster '{label}'; it has {}", labels())));
        };
        let is_free = |id: &millstream_board::CoreId| !processors.iter().any(|other| other.cores.contains(id));
        let cores: Vec<_> = cluster.cores.iter().map(|core| core.id).filter(is_free).take(count).collect();
        if count == 0 || cores.len() < count {
            let has = cluster.cores.len();
            return Err(Error::Unfit(format!(
                "'{text}' needs more cores of cluster '{label}' than the {has} that it has"
            )));
        }
        processors.push(cluster.processor(cores));
    }
    Ok(processors)
}

/// Measures configurations as schedules.
pub(crate) struct PlacedOracle<'a> {
    pub(crate) places: &'a Places,
    pub(crate) chain: &'a Chain,
    pub(crate) schedules: &'a mut dyn Oracle<Schedule>,
}

impl Oracle<Configuration> for PlacedOracle<'_> {
    fn measure(&mut self, configuration: &Configuration) -> Result<Trial, TuneError> {
        self.schedules.measure(&self.places.schedule(configuration, self.chain))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn places_are_read() {
        let board = millstream_test_support::board("B2#4+s3:400#0");
        let cores = |text: &str| -> Vec<Vec<u32>> {
            parse(text, &board)
                .unwrap()
                .into_iter()
                .map(|processor| processor.cores.iter().map(|core| core.0).collect())
                .collect()
        };
        assert_eq!(cores("B2-s1-s2"), [vec![4, 5], vec![0], vec![1, 2]]);
        for (wrong, said) in
            [("B3", "more cores"), ("x1", "it has B, s"), ("B", "not a cluster and a number"), ("s0", "more")]
        {
            let message = format!("{:#}", parse(wrong, &board).unwrap_err());
            assert!(message.contains(said), "{message}");
        }
        assert_eq!(singles(&board).len(), 5);
    }
}
