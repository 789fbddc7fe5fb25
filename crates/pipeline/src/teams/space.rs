//! Which sets of processors may own a stage together.

use millstream_board::{Board, Cluster, ProcessorClass};

/// More processors than this on one frame spend their time waiting for each other.
const MOST_PROCESSORS: usize = 4;
/// Searches go through more teams than this only to find that most of them are like others.
const MOST_TEAMS: usize = 400;

/// The sets of processors of a board that searches consider as teams.
///
/// A team has up to four processors, several of one cluster among them, each of any number of its cores; or one
/// processor of each of any number of clusters; each with any of its cluster's engines. Accelerators are in it once. On
/// boards that have very many such teams, processors of a team have 1, 2, 4, ... or all cores of their cluster, and if
/// that is not enough, there are fewer of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TeamSpace {
    /// Number of processors of a team at the most; 0 for no teams.
    pub most_processors: usize,
    /// Whether larger teams are considered that have no two processors of one cluster.
    pub spans_clusters: bool,
    /// Whether processors have any number of cores rather than 1, 2, 4, ... or all.
    pub has_all_counts: bool,
}

impl TeamSpace {
    /// The largest space that is not too large.
    pub fn of(board: &Board) -> Self {
        let space =
            |most_processors, spans_clusters, has_all_counts| Self { most_processors, spans_clusters, has_all_counts };
        let most = MOST_PROCESSORS;
        let smaller = (2..=most).rev().map(|processors| space(processors, false, false));
        let all = [space(most, true, true), space(most, false, true), space(most, true, false)];
        let mut spaces = all.into_iter().chain(smaller);
        let is_small = |space: &Self| space.teams(board).len() <= MOST_TEAMS;
        spaces.find(is_small).unwrap_or(space(0, false, false))
    }

    /// Its teams.
    pub fn teams(self, board: &Board) -> Vec<Vec<ProcessorClass>> {
        let clusters = board.clusters().iter().map(|cluster| self.ways_of_cluster(cluster));
        let accelerators = board
            .accelerators()
            .iter()
            .map(|accelerator| self.ways(&[ProcessorClass::new(accelerator.label.clone(), 1)], 1));
        let mut teams: Vec<Vec<ProcessorClass>> = vec![Vec::new()];
        for ways in clusters.chain(accelerators) {
            let pairs = teams.iter().flat_map(|team| ways.iter().map(move |way| [team.as_slice(), way].concat()));
            teams = pairs.filter(|team| self.allows(team)).collect();
            // More than that is not counted.
            if teams.len() > 20 * MOST_TEAMS {
                break;
            }
        }
        teams.retain(|team| team.len() > 1);
        teams
    }

    fn allows(self, team: &[ProcessorClass]) -> bool {
        let is_spread = || team.windows(2).all(|pair| pair[0].cluster != pair[1].cluster);
        team.len() <= self.most_processors || self.spans_clusters && is_spread()
    }

    /// What a team may have of one cluster: processors with any of its engines.
    fn ways_of_cluster(self, cluster: &Cluster) -> Vec<Vec<ProcessorClass>> {
        let cores = cluster.cores.len();
        let is_wanted = |count: &usize| self.has_all_counts || count.is_power_of_two() || *count == cores;
        let with_each =
            |count: usize| cluster.engines.iter().map(move |engine| cluster.class(count).with_engine(engine));
        self.ways(&(1..=cores).filter(is_wanted).flat_map(with_each).collect::<Vec<_>>(), cores)
    }

    /// Sets of processors of these classes, numbers of cores ascending, that have no more cores together. Each is there
    /// once, with the last class first.
    fn ways(self, classes: &[ProcessorClass], cores: usize) -> Vec<Vec<ProcessorClass>> {
        let mut ways: Vec<Vec<ProcessorClass>> = vec![Vec::new()];
        let mut next = 0;
        while let Some(way) = ways.get(next).cloned() {
            next += 1;
            let last = way.last().and_then(|last| classes.iter().position(|class| class == last));
            let left = cores - way.iter().map(|class| class.count).sum::<usize>();
            if way.len() < self.most_processors {
                let allowed = classes.iter().take(last.map_or(classes.len(), |last| last + 1));
                for class in allowed.filter(|class| class.count <= left) {
                    let mut longer = way.clone();
                    longer.push(class.clone());
                    ways.push(longer);
                }
            }
        }
        ways
    }
}

/// Sets of processors of a board that may own a stage together, each as the classes of its processors: the teams of
/// [`TeamSpace::of`].
pub fn teams_of(board: &Board) -> Vec<Vec<ProcessorClass>> {
    TeamSpace::of(board).teams(board)
}
