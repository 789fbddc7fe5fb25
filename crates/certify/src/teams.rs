//! The teams of a space.

use millstream_board::{Board, Cluster, EngineName, EngineSet, ProcessorClass};
use millstream_cost::CostTable;
use millstream_schedule::SearchedSpace;

use crate::certificate::SearchedTeams;

/// More teams than this are no space that anything searches.
const MOST_TEAMS: usize = 10_000;

impl SearchedTeams {
    /// All of them, each once, as names of their processors in alphabetical order. `None` if there are too many.
    ///
    /// Engines without a time for anything make no teams.
    pub(crate) fn on(&self, board: &Board, table: &CostTable) -> Option<Vec<Vec<ProcessorClass>>> {
        let mut units: Vec<Vec<ProcessorClass>> =
            board.clusters().iter().map(|cluster| self.classes(cluster, table)).collect();
        units.extend(
            board.accelerators().iter().map(|accelerator| vec![ProcessorClass::new(accelerator.label.clone(), 1)]),
        );
        let cores: Vec<usize> = board.clusters().iter().map(|cluster| cluster.cores.len()).collect();

        let mut teams: Vec<Vec<ProcessorClass>> = vec![Vec::new()];
        for (unit, classes) in units.iter().enumerate() {
            let most = cores.get(unit).copied().unwrap_or(1);
            for class in classes {
                // What is added grows on: teams may have it several times.
                let mut next = 0;
                while let Some(team) = teams.get(next).cloned() {
                    next += 1;
                    let taken = team.iter().filter(|other| other.cluster == class.cluster).map(|other| other.count);
                    if taken.sum::<usize>() + class.count <= most && self.allows_more(&team, class) {
                        teams.push([team.as_slice(), std::slice::from_ref(class)].concat());
                    }
                    if teams.len() > MOST_TEAMS {
                        return None;
                    }
                }
            }
        }
        teams.retain(|team| team.len() > 1);
        for team in &mut teams {
            team.sort_by_key(ToString::to_string);
        }
        teams.sort_by_key(|team| names(team));
        Some(teams)
    }

    /// Whether a team may have one more processor of this class: within the number of processors, or with one of each
    /// cluster.
    fn allows_more(&self, team: &[ProcessorClass], class: &ProcessorClass) -> bool {
        let is_spread = || {
            let mut clusters: Vec<&str> =
                team.iter().chain([class]).map(|processor| processor.cluster.as_str()).collect();
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

    /// The space as schedule files have it.
    pub(crate) fn space(&self, has_links: bool) -> SearchedSpace {
        let Self { most_processors, spans_clusters, has_all_counts } = *self;
        match most_processors {
            0 => SearchedSpace::SingleProcessors,
            _ => SearchedSpace::Teams { most_processors, spans_clusters, has_all_counts, has_links },
        }
    }
}

/// The engines of a cluster that some operator has a time with; all of them if none has.
fn timed_engines(cluster: &Cluster, table: &CostTable) -> EngineSet {
    let is_timed = |&engine: &EngineName| table.runs_something(&cluster.class(1).with_engine(engine));
    let timed = cluster.engines.iter().filter(is_timed);
    EngineSet::try_from(timed.collect::<Vec<_>>()).unwrap_or_else(|_| cluster.engines.clone())
}

/// The names of a team's processors.
pub(crate) fn names(team: &[ProcessorClass]) -> Vec<String> {
    team.iter().map(ToString::to_string).collect()
}
