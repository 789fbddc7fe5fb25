//! The file format of certificates.

use millstream_board::{Document, Provenance, read_document};
use millstream_cost::Clocks;
use millstream_schedule::{BoardReference, ModelReference, SearchedBound};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::CertifyError;

/// The `format` of certificates.
pub const CERTIFICATE_FORMAT: &str = "millstream-certificate";
/// The `version` of certificates that is written and read.
pub const CERTIFICATE_VERSION: u32 = 1;

/// What is proven of a schedule by the costs that it was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// Always `millstream-certificate`.
    pub format: String,
    /// Version of the format.
    pub version: u32,
    /// Where it comes from.
    pub provenance: Provenance,
    /// The model of the schedule.
    pub model: ModelReference,
    /// The board of the schedule.
    pub board: BoardReference,
    /// The clocks of the schedule, by which its costs are.
    #[serde(default, skip_serializing_if = "Clocks::is_empty")]
    pub clocks: Clocks,
    /// The stages of the schedule in short.
    pub configuration: String,
    /// The period that the schedule promises: with what is known of memory, or as it was measured.
    pub predicted_period_seconds: f64,
    /// Whether that was measured, or comes from what trials showed: then nothing here proves it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_measured: bool,
    /// Its period by the rules of execution and the costs, where nobody waits for memory.
    pub evaluated_period_nanoseconds: u64,
    /// By what part the promised period is above the bound: `predicted / bound - 1`. Where it was measured, it may be
    /// negative.
    pub gap: f64,
    /// No schedule on the board goes below this.
    pub throughput: ThroughputProof,
    /// No pipeline of contiguous stages on single processors, or on replicas of them, goes below this; missing if no
    /// such pipeline runs the network, or if there is too much to write down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single_processors: Option<SingleProcessorProof>,
    /// No pipeline that was searched for goes below this, teams among them; missing as the one before, and where
    /// nothing was searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub searched: Option<SearchedProof>,
    /// No pipeline over the hosts of a system whose stages are on single processors goes below this; missing for a single board, if nothing was searched, or
    /// if there is too much to follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<HostsProof>,
    /// What the schedule says of all that was searched, where there is too much to write a proof of it down: it has
    /// only the search's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unproven: Option<SearchedBound>,
}

/// A dual solution of spreading operators over clusters. With what the core-seconds of each cluster are worth, a frame
/// is worth at least the sum over its operators of the cheapest cluster, whatever processors they run on and however
/// they are divided; and a second on the board is worth 1. So frames can't pass more often than that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThroughputProof {
    /// The bound.
    pub period_nanoseconds: u64,
    /// What all cores of a cluster, or an accelerator, are worth for a second: together exactly a billion parts.
    pub shares: Vec<PartsPerBillion>,
}

/// What a cluster is worth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartsPerBillion {
    /// The cluster or accelerator.
    pub label: String,
    /// Its part of the board's worth.
    pub parts: u64,
}

/// Everything that pipelines reach whose stages all have a shorter period than the one that is proven to be the
/// shortest: nowhere the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SingleProcessorProof {
    /// The period that no such pipeline goes below.
    pub period_nanoseconds: u64,
    /// The blocks of the network's chain.
    pub blocks: usize,
    /// What can be reached, by rising `used`, the first cluster counting fastest, and then `last`, as a mask with the
    /// first cluster as its lowest bit; the start, where nothing is used, is left out.
    pub reached: Vec<ReachedState>,
}

/// Dual solutions for the teams of a space. With what the time of a team's processors is worth, it takes a subgraph at
/// least as long as the subgraph's operators are worth, each where it is cheapest, and no less than the longest path
/// through it. With that, and with what single processors take, no pipeline whose stages have a shorter period comes to
/// the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchedProof {
    /// The period that no pipeline of the space goes below. What several stages take over the same link counts as if
    /// each had its own.
    pub period_nanoseconds: u64,
    /// The teams of the space.
    pub teams: SearchedTeams,
    /// What is proven of each team, in alphabetical order.
    #[serde(rename = "worths")]
    pub dual_prices: Vec<TeamProof>,
}

/// That no pipeline over several hosts has a shorter period, of contiguous stages on single processors of one host each,
/// or on replicas of them, where the stages of a host follow each other. Who checks it follows all of these, as if the
/// memories of hosts had room for anything, and each stage had the links within its host to itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostsProof {
    /// The period that no such pipeline goes below, and that one of them has if memories and links are as said.
    pub period_nanoseconds: u64,
    /// The blocks of the network's chain.
    pub blocks: usize,
    /// Hosts of the system that run nothing in any of these pipelines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
}

/// Which sets of processors may own a stage together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchedTeams {
    /// Processors of a team at the most; 0 for no teams.
    pub most_processors: usize,
    /// Whether there are larger teams that have no two processors of one cluster.
    pub spans_clusters: bool,
    /// Whether processors have any number of cores rather than 1, 2, 4, ... or all.
    pub has_all_counts: bool,
}

/// What the time of a team's processors is worth, in billionths of what all of it is worth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TeamProof {
    /// Its processors, in alphabetical order.
    pub processors: Vec<String>,
    /// For each subgraph; empty where that says no more than the longest path.
    pub subgraphs: Vec<Vec<u64>>,
    /// For all subgraphs that may be divided into tiles, of which nothing else is known; empty if there are none.
    pub tiles: Vec<u64>,
}

/// How far pipelines get that use so many cores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReachedState {
    /// Cores of each cluster, and accelerators, in the order of the board.
    pub used: Vec<usize>,
    /// Positions of the clusters and accelerators of the last stage, where it matters to the next stage who sends;
    /// empty where it does not.
    pub last: Vec<usize>,
    /// Numbers of blocks that are done.
    pub ends: Vec<usize>,
}

impl Document for Certificate {
    const FORMAT: &'static str = CERTIFICATE_FORMAT;
    const VERSION: u32 = CERTIFICATE_VERSION;
    const NAME: &'static str = "certificate";
}

impl Certificate {
    /// Reads a certificate.
    ///
    /// # Errors
    /// [`CertifyError::Document`] if it is not one.
    pub fn from_json(text: &str) -> Result<Self, CertifyError> {
        Ok(read_document(text)?)
    }
}
