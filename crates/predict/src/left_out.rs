//! Engines that are not measured further.

use std::fmt;

use millstream_board::{Board, Cluster, EngineName, EngineSet, Engines, ProcessorClass};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An engine that is not measured further on a cluster, so that no schedule of the network uses it there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeftOutEngine {
    /// Label of the cluster.
    pub cluster: String,
    /// The engine.
    pub engine: EngineName,
    /// The part of the network's time that it could save at most, by running every block that it is quicker at; missing
    /// if it runs none of the network's operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<f64>,
}

impl LeftOutEngine {
    /// Whether a processor has it.
    pub fn concerns(&self, class: &ProcessorClass) -> bool {
        self.cluster == class.cluster && self.engine == class.engine
    }

    /// The engines of a board's clusters without those that are left out.
    pub fn others(left_out: &[Self], board: &Board) -> Engines {
        let kept = |cluster: &Cluster| {
            let is_kept = |engine: &EngineName| {
                !left_out.iter().any(|omission| omission.concerns(&cluster.class(1).with_engine(*engine)))
            };
            let kept: Vec<EngineName> = cluster.engines.iter().filter(is_kept).collect();
            EngineSet::try_from(kept).unwrap_or_else(|_| cluster.engines.clone())
        };
        board.clusters().iter().map(|cluster| (cluster.label.clone(), kept(cluster))).collect()
    }
}

impl fmt::Display for LeftOutEngine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cluster, engine, gain } = self;
        match gain {
            Some(gain) => {
                write!(
                    formatter,
                    "{engine} is left out on {cluster}: it could save {:.1} % of the time at most",
                    100.0 * gain
                )
            }
            None => {
                write!(formatter, "{engine} is left out on {cluster}: it runs none of the network's operators")
            }
        }
    }
}
