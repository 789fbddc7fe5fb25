//! Simulated conditions: noise, memory, heat, faults.

use millstream_board::{Board, CoreId, OperatingPoint, Thermal};
use millstream_cost::Nanoseconds;

/// Conditions under which streams are simulated: noise, memory bandwidth, heat, and faults of a board or of a system's
/// boards.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conditions {
    /// Relative standard deviation of the times of operators, and of what frames take on links between hosts and
    /// outside: 0.1 for a tenth, 0 for exactly the table's times.
    pub noise: f64,
    /// Seed of the noise; equal seeds give equal results.
    pub seed: u64,
    /// Whether to keep what every processor did, which costs memory.
    pub keeps_spans: bool,
    /// Whether every stream goes on with extra frames until all are through with their own, so that none is measured
    /// while it has the board to itself.
    pub keeps_all_busy: bool,
    /// Bytes a second that all processors together can move to and from memory. Where running operators want more, it
    /// is shared out evenly: none gets more than it wants, and one that gets half of what it wants runs at half its
    /// speed. `None` if memory never holds anybody up.
    pub memory_bytes_per_second: Option<f64>,
    /// Clusters whose clocks follow their temperature. The processors' power must be known.
    pub thermals: Vec<ClusterThermal>,
    /// What happens while frames flow.
    pub disturbances: Vec<Disturbance>,
}

impl Conditions {
    /// What a board file says of memory and temperature, without noise or disturbances.
    pub fn of(board: &Board) -> Self {
        let thermal = |cluster: &millstream_board::Cluster| {
            let operating_points = cluster.operating_points.clone();
            Some(ClusterThermal { cluster: cluster.label.clone(), thermal: cluster.thermal?, operating_points })
        };
        Self {
            memory_bytes_per_second: board.memory_bytes_per_second(),
            thermals: board.clusters().iter().filter_map(thermal).collect(),
            ..Self::default()
        }
    }
}

/// A cluster that lowers its clock when it gets too hot.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterThermal {
    /// Its label.
    pub cluster: String,
    /// How it heats up.
    pub thermal: Thermal,
    /// What its clock can be set to, ascending; the table's times hold at the last.
    pub operating_points: Vec<OperatingPoint>,
}

/// Something that happens to the board while frames flow.
#[derive(Debug, Clone, PartialEq)]
pub struct Disturbance {
    /// When it happens, from the start of the simulation on.
    pub at: Nanoseconds,
    /// What happens.
    pub kind: DisturbanceKind,
}

/// Kinds of events that happen to a board.
#[derive(Debug, Clone, PartialEq)]
pub enum DisturbanceKind {
    /// From now on the processors of a cluster or an accelerator run at this part of the speed that their table says.
    Speed {
        /// Label of the cluster or accelerator.
        label: String,
        /// The part, above 0.
        factor: f64,
    },
    /// From now on a link between hosts, or between one and outside, carries this part of what its file says; frames
    /// that are on it arrive as they would have.
    Link {
        /// The link's name, such as `rk-pi`.
        link: String,
        /// The part, above 0.
        factor: f64,
    },
    /// A unit is taken away. What ran on it is lost: its frame starts the stage again, on another replica if there is
    /// one.
    Lost(Unit),
    /// A unit that was taken away is there again.
    Restored(Unit),
}

/// Parts of a board that can be taken away.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Unit {
    /// A core.
    Core(CoreId),
    /// An accelerator, by its label.
    Accelerator(String),
    /// A host of a system with all that it has, by its name.
    Host(String),
}
