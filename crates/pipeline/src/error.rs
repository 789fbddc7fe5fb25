//! Why there is no pipeline.

use millstream_board::ProcessorClass;
use millstream_cost::Nanoseconds;
use millstream_mapping::MappingError;
use thiserror::Error;

/// Why there is no pipeline.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum PipelineError {
    /// No search takes so much effort.
    #[error(
        "the effort must be positive, not {effort}: give a number such as 1 for the usual or 10 for ten times that"
    )]
    Effort {
        /// What was asked for.
        effort: f64,
    },
    /// The cost table does not cover the board.
    #[error("the cost table has no times for {class}; profile the board again")]
    MissingProcessor {
        /// The processor class.
        class: ProcessorClass,
    },
    /// No processor runs this operator.
    #[error("no processor of the board supports the operator '{operator}'")]
    Unsupported {
        /// The operator.
        operator: String,
    },
    /// Each operator runs somewhere, but no assignment of the board's cores to stages runs them all.
    #[error(
        "the board has too few processors that support this network: no division into stages can run all its operators"
    )]
    Infeasible,
    /// No pipeline that was found keeps to a constraint.
    #[error("{}", missed(what, *most, *least, beside(*with_others)))]
    Constraint {
        /// `latency` or `period`.
        what: &'static str,
        /// What was asked for.
        most: Nanoseconds,
        /// What was found.
        least: Nanoseconds,
        /// Whether that is with the other constraints met: each of them can be met alone.
        with_others: bool,
    },
    /// No pipeline that was found draws so little; the search does not look for low power alone.
    #[error("no pipeline that was found draws {} W or less{}: the least is {} W", watts(*most_watts), beside(*with_others), watts(*least_watts))]
    Power {
        /// What was asked for.
        most_watts: f64,
        /// What was found.
        least_watts: f64,
        /// Whether that is with the other constraints met: each of them can be met alone.
        with_others: bool,
    },
    /// There are more kinds of senders than a search can tell apart.
    #[error(
        "the links give {kinds} kinds of senders, and a search can go through {most} at the most; \
         give links that hardly differ the same numbers"
    )]
    Links {
        /// Clusters that differ from all others.
        kinds: usize,
        /// What a search can tell apart.
        most: usize,
    },
    /// A system has too many hosts.
    #[error(
        "the system has {hosts} hosts, and a search can go through all orders of {most} at the most; plan for fewer"
    )]
    Hosts {
        /// How many it has.
        hosts: usize,
        /// How many there may be.
        most: usize,
    },
    /// No pipeline that was found fits into the board's memory.
    #[error(
        "no pipeline that was found fits into the board's memory of {most_bytes} bytes: weights and values of the smallest take {least_bytes} bytes"
    )]
    Memory {
        /// What the smallest holds at once.
        least_bytes: u64,
        /// What the board has.
        most_bytes: u64,
    },
    /// Networks that share a board do not fit into its memory together.
    #[error(
        "the networks together take {least_bytes} bytes at least, and the board has {most_bytes} bytes of memory; leave one out"
    )]
    MemoryTogether {
        /// What one piece of each holds at once.
        least_bytes: u64,
        /// What the board has.
        most_bytes: u64,
    },
    /// No plan that was found over several hosts fits into their memories.
    #[error(
        "no plan that was found fits into the memories of all hosts: the first of them takes {needed_bytes} bytes on {host}, which has {most_bytes}"
    )]
    HostMemory {
        /// The host.
        host: String,
        /// What the plan holds there at once.
        needed_bytes: u64,
        /// What the host has.
        most_bytes: u64,
    },
    /// Energy can't be counted.
    #[error(
        "the power of {class} is not known; let the board file say it, with the voltages of the operating points, or profile on a machine with power sensors"
    )]
    UnknownPower {
        /// The processor class.
        class: ProcessorClass,
    },
    /// A network that shares the board is too slow for its deadline.
    #[error(
        "the deadlines can't all be met: in the best division of the board that was found, '{network}' takes {least} where it may take {deadline}; with stages {configuration}, the longest is {bottleneck} with {takes}"
    )]
    Deadline {
        /// The network.
        network: String,
        /// What was asked for.
        deadline: Nanoseconds,
        /// Its latency where the worst miss of all networks is least.
        least: Nanoseconds,
        /// The stages that have this latency.
        configuration: String,
        /// The longest of these.
        bottleneck: String,
        /// How long that is.
        takes: Nanoseconds,
    },
    /// Every network that shares the board is quick enough by itself, but not while the others run.
    #[error(
        "the deadlines can't all be met: '{network}' would take {least} of its {deadline} if it waited for nobody, but it competes with the \
         other networks for memory or processors; allow it more, or give the others less to do"
    )]
    DeadlineBeside {
        /// The network with the least to spare.
        network: String,
        /// What was asked for.
        deadline: Nanoseconds,
        /// Its latency without waiting.
        least: Nanoseconds,
    },
    /// Operators could not be mapped on several processors.
    #[error("mapping operators on several processors: {0}")]
    Mapping(#[from] MappingError),
}

fn missed(what: &str, most: Nanoseconds, least: Nanoseconds, beside: &str) -> String {
    let rate = |period: Nanoseconds| 1.0 / period.seconds().max(1e-9);
    if what == "period" {
        let (wanted, found) = (rate(most), rate(least));
        return format!(
            "no pipeline that was found passes {wanted:.2} frames/s or more (a period of {most} or less){beside}: the most is {found:.2} frames/s \
             (a period of {least})"
        );
    }
    format!("no pipeline that was found has a {what} of {most} or less{beside}: the shortest is {least}")
}

/// With two decimals, or as many as leave small powers two digits.
fn watts(watts: f64) -> String {
    let leading_zeros = if watts > 0.0 { -watts.log10().floor() } else { 0.0 };
    let decimals = (leading_zeros + 1.0).clamp(2.0, 12.0) as usize;
    format!("{watts:.decimals$}")
}

fn beside(with_others: bool) -> &'static str {
    if with_others { " within the other limits" } else { "" }
}
