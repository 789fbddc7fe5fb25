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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use millstream_test_support::board;

    use super::*;

    /// Adds all sets of processors of these classes and of those after them, with so many cores left in each cluster.
    fn add_sets(left: &[(ProcessorClass, usize)], set: &[ProcessorClass], sets: &mut BTreeSet<Vec<String>>) {
        let Some(((class, cores), others)) = left.split_first() else {
            let mut names: Vec<String> = set.iter().map(ToString::to_string).collect();
            names.sort_unstable();
            sets.insert(names);
            return;
        };
        for more in 0..=cores / class.count {
            let rest = others.iter().map(|(other, cores)| {
                let taken = if other.cluster == class.cluster { more * class.count } else { 0 };
                (other.clone(), cores - taken)
            });
            let longer = [set, &vec![class.clone(); more]].concat();
            if longer.len() <= 6 {
                add_sets(&rest.collect::<Vec<_>>(), &longer, sets);
            }
        }
    }

    #[test]
    fn a_space_has_all_teams_that_it_says() {
        for name in ["B4+s3", "B2+m1+s1+G", "a1+b1+c1+d2+e1"] {
            let board = board(name);
            let classes = board
                .clusters()
                .iter()
                .flat_map(|cluster| (1..=cluster.cores.len()).map(|count| (cluster.class(count), cluster.cores.len())));
            let accelerators = board.accelerators().iter().map(|one| (ProcessorClass::new(one.label.clone(), 1), 1));
            let mut all = BTreeSet::new();
            add_sets(&classes.chain(accelerators).collect::<Vec<_>>(), &[], &mut all);

            for (most_processors, spans_clusters) in [(4, true), (4, false), (3, true), (2, false), (0, false)] {
                let space = TeamSpace { most_processors, spans_clusters, has_all_counts: true };
                let cluster = |name: &String| name.trim_end_matches(|letter: char| letter.is_ascii_digit()).to_owned();
                let is_team = |names: &&Vec<String>| {
                    let clusters: BTreeSet<String> = names.iter().map(cluster).collect();
                    let is_spread = spans_clusters && most_processors > 0 && clusters.len() == names.len();
                    names.len() > 1 && (names.len() <= most_processors || is_spread)
                };
                let expected: BTreeSet<Vec<String>> = all.iter().filter(is_team).cloned().collect();
                let teams = space.teams(&board);
                let found: BTreeSet<Vec<String>> = teams
                    .iter()
                    .map(|team| {
                        let mut names: Vec<String> = team.iter().map(ToString::to_string).collect();
                        names.sort_unstable();
                        names
                    })
                    .collect();
                assert_eq!(found, expected, "{name} {space:?}");
                assert_eq!(found.len(), teams.len(), "each once");
            }
        }
    }
}
