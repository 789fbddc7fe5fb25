//! Which schedules a search went through.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The schedules that a search went through, of which its bound is. Displayed, it is what people read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SearchedSpace {
    /// Contiguous stages of whole blocks, each on one processor or on replicas of one each.
    SingleProcessors,
    /// Those on single processors, and contiguous stages of whole subgraphs on teams of processors, which run one
    /// subgraph after the other or divide several into tiles; and replicas of all these.
    Teams {
        /// The most processors of a team.
        most_processors: usize,
        /// Whether teams with one processor of each of any number of clusters are among them as well.
        spans_clusters: bool,
        /// Whether processors have any number of a cluster's cores rather than 1, 2, 4, ... or all.
        has_all_counts: bool,
        /// Whether the board has links between clusters: a team whose stage would occupy one has no replicas beside it
        /// then.
        has_links: bool,
    },
    /// Contiguous stages of whole blocks on single processors of one host of a system each, and replicas of these,
    /// where the stages of a host follow each other.
    Hosts,
}

impl fmt::Display for SearchedSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (most, across, counts, links) = match *self {
            Self::SingleProcessors => {
                return f.write_str("contiguous stages of whole blocks on single processors, and replicas of these");
            }
            Self::Hosts => {
                return f.write_str(
                    "contiguous stages of whole blocks on single processors of one host each, and replicas of these, where the stages of a host follow each other",
                );
            }
            Self::Teams { most_processors, spans_clusters, has_all_counts, has_links } => {
                (most_processors, spans_clusters, has_all_counts, has_links)
            }
        };
        let across = if across { " or of one of each cluster" } else { "" };
        let counts = if counts { "" } else { ", each of 1, 2, 4, ... or all cores of a cluster" };
        let links = if links { ", but not of teams whose inputs would occupy a link" } else { "" };
        write!(
            f,
            "contiguous stages of whole blocks on single processors; contiguous stages of whole subgraphs on teams of up to {most} \
             processors{across}{counts}, which run one subgraph after the other or divide several into tiles; and replicas of these{links}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_space_is_said_in_words_and_kept_in_files() -> Result<(), serde_json::Error> {
        let all =
            SearchedSpace::Teams { most_processors: 4, spans_clusters: true, has_all_counts: true, has_links: false };
        let few =
            SearchedSpace::Teams { most_processors: 2, spans_clusters: false, has_all_counts: false, has_links: true };
        let words = [SearchedSpace::SingleProcessors, all, few, SearchedSpace::Hosts].map(|space| space.to_string());
        insta::assert_snapshot!(words.join("\n\n"));
        for space in [SearchedSpace::SingleProcessors, all, few, SearchedSpace::Hosts] {
            assert_eq!(serde_json::from_str::<SearchedSpace>(&serde_json::to_string(&space)?)?, space);
        }
        Ok(())
    }
}
