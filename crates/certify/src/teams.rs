//! The teams of a space.

use millstream_board::{Board, Cluster, EngineSet, ProcessorClass};
use millstream_cost::CostTable;

use crate::SearchedTeams;

/// More teams than this are no space that anything searches.
const MOST_TEAMS: usize = 10_000;

impl SearchedTeams {
    /// All of them, each once, as names of their processors in alphabetical order. `None` if there are too many.
    ///
    /// Engines without a time for anything make no teams.
    pub(crate) fn on(&self, board: &Board, table: &CostTable) -> Option<Vec<Vec<ProcessorClass>>> {
        let mut units: Vec<Vec<ProcessorClass>> =
            board.clusters().iter().map(|cluster| self.classes(cluster, table)).collect();
        units.extend(board.accelerators().iter().map(|own| vec![ProcessorClass::new(own.label.clone(), 1)]));
        let cores: Vec<usize> = board.clusters().iter().map(|cluster| cluster.cores.len()).collect();

        let mut found: Vec<Vec<ProcessorClass>> = vec![Vec::new()];
        for (unit, classes) in units.iter().enumerate() {
            let most = cores.get(unit).copied().unwrap_or(1);
            for class in classes {
                // What is added grows on: teams may have it several times.
                let mut next = 0;
                while let Some(team) = found.get(next).cloned() {
                    next += 1;
                    let own = team.iter().filter(|own| own.cluster == class.cluster).map(|own| own.count);
                    if own.sum::<usize>() + class.count <= most && self.allows_more(&team, class) {
                        found.push([team.as_slice(), std::slice::from_ref(class)].concat());
                    }
                    if found.len() > MOST_TEAMS {
                        return None;
                    }
                }
            }
        }
        found.retain(|team| team.len() > 1);
        for team in &mut found {
            team.sort_by_key(ToString::to_string);
        }
        found.sort_by_key(|team| names(team));
        Some(found)
    }

    /// Whether a team may have one more processor of this class: within the number of processors, or with one of each cluster.
    fn allows_more(&self, team: &[ProcessorClass], class: &ProcessorClass) -> bool {
        let is_spread = || {
            let mut clusters: Vec<&str> = team.iter().chain([class]).map(|own| own.cluster.as_str()).collect();
            clusters.sort_unstable();
            clusters.windows(2).all(|pair| pair[0] != pair[1])
        };
        team.len() < self.most_processors || self.most_processors > 0 && self.spans_clusters && is_spread()
    }

    fn classes(&self, cluster: &Cluster, table: &CostTable) -> Vec<ProcessorClass> {
        let cores = cluster.cores.len();
        let counts = (1..=cores).filter(|count| self.has_all_counts || count.is_power_of_two() || *count == cores);
        let engines = timed_engines(cluster, table);
        counts.flat_map(|count| engines.iter().map(move |engine| cluster.class(count).with_engine(engine))).collect()
    }

    /// The space in words, as schedule files have it. `alone`: where a stage would occupy a link to a cluster of a team, the team has no other
    /// replica beside it.
    pub(crate) fn in_words(&self, alone: bool) -> String {
        if self.most_processors == 0 {
            return "contiguous stages of whole blocks on single processors, and replicas of these".to_owned();
        }
        let across = if self.spans_clusters { " or of one of each cluster" } else { "" };
        let counts = if self.has_all_counts { "" } else { ", each of 1, 2, 4, ... or all cores of a cluster" };
        let alone = match alone {
            true => {
                " (which have no replicas beside them in a stage whose inputs would occupy a link to one of their clusters)"
            }
            false => "",
        };
        format!(
            "contiguous stages of whole blocks on single processors, or of whole subgraphs on teams of up to {} processors{across}{counts}{alone} \
             that run one subgraph after the other or share rows of several, and replicas of these",
            self.most_processors
        )
    }
}

/// The engines of a cluster that some operator has a time with; all of them if none has.
fn timed_engines(cluster: &Cluster, table: &CostTable) -> EngineSet {
    let is_timed = |class: &ProcessorClass| {
        let known = table.find(class);
        known.is_some_and(|known| (0..table.operators()).any(|operator| table.time(known, operator).is_some()))
    };
    let timed = cluster.engines.iter().filter(|&engine| is_timed(&cluster.class(1).with_engine(engine)));
    EngineSet::try_from(timed.collect::<Vec<_>>()).unwrap_or_else(|_| cluster.engines.clone())
}

/// The names of a team's processors.
pub(crate) fn names(team: &[ProcessorClass]) -> Vec<String> {
    team.iter().map(ToString::to_string).collect()
}
