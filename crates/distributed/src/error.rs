//! Failures of plans and hosts, and of single frames.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why frames can't go through several hosts.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DistributedError {
    /// What came is no message of this version.
    #[error("what came is no message of Millstream: {detail}; have the same version on all hosts")]
    Encoding {
        /// What is wrong with it.
        detail: String,
    },
    /// A value can't be sent.
    #[error("value {id} can't be sent to another host: its elements ({description}) are not in this computer's memory")]
    Unsendable {
        /// Which one.
        id: u32,
        /// Type and shape.
        description: String,
    },
    /// There is no way for frames.
    #[error("plan {} {detail}", plan + 1)]
    Route {
        /// Which plan, from 0.
        plan: usize,
        /// What is wrong with it.
        detail: String,
    },
    /// Something differs between a host and the front.
    #[error("host '{host}' has another {what}: '{found}' instead of '{expected}'; copy it there again")]
    Differs {
        /// Which host.
        host: String,
        /// What differs.
        what: &'static str,
        /// What it is at the front.
        expected: String,
        /// What it is there.
        found: String,
    },
    /// Hosts don't answer.
    #[error("{} for {seconds} s; see that they are on, and that nothing is between them", silent(hosts))]
    Unreachable {
        /// Which ones.
        hosts: Vec<String>,
        /// For how long.
        seconds: u64,
    },
    /// A host can't run its part.
    #[error("host '{host}' can't run its part of plan {}: {detail}", plan + 1)]
    Refused {
        /// Which host.
        host: String,
        /// Which plan, from 0.
        plan: usize,
        /// Why.
        detail: String,
    },
}

fn silent(hosts: &[String]) -> String {
    match hosts {
        [host] => format!("host '{host}' has not answered"),
        hosts => format!("hosts {} have not answered", hosts.join(", ")),
    }
}

/// Why a frame has no results.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FrameFailure {
    /// A stage failed on it.
    #[error("host '{host}': {detail}")]
    Failed {
        /// On which host.
        host: String,
        /// What was wrong.
        detail: String,
    },
    /// It never got through.
    #[error("the frame was sent {attempts} times and never came back; the last time {detail}")]
    Lost {
        /// How often.
        attempts: u32,
        /// What happened the last time.
        detail: String,
    },
    /// Everything was given up.
    #[error("the stream ended: {detail}")]
    Ended {
        /// Why.
        detail: String,
    },
}
