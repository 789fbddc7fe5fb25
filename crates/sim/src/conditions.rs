use millstream_board::{Board, CoreId, OperatingPoint, Thermal};
use millstream_cost::Nanoseconds;

/// What streams meet on a board, or on the boards of a system.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conditions {
    /// Relative standard deviation of the times of operators, and of what frames take on links between hosts; 0 for exactly the table's times.
    pub noise: f64,
    /// Draws the noise.
    pub seed: u64,
    /// Whether to keep what every processor did, which costs memory.
    pub keeps_spans: bool,
    /// Whether every stream goes on with more frames until all are through with theirs, so that none is measured while another one has
    /// left it the board.
    pub keeps_all_busy: bool,
    /// What all processors together can move to and from memory. Operators that run at the same time and want more than that get
    /// equal shares of it, and as much of their speed as that is of what they want. `None` if memory never holds anybody up.
    pub memory_bytes_per_second: Option<f64>,
    /// Clusters whose clocks follow their temperature. The processors' power must be known.
    pub thermals: Vec<ClusterThermal>,
    /// What happens on the way.
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
    /// When.
    pub at: Nanoseconds,
    /// What.
    pub kind: DisturbanceKind,
}

/// What can happen to a board.
#[derive(Debug, Clone, PartialEq)]
pub enum DisturbanceKind {
    /// From now on the processors of a cluster or an accelerator run at this part of the speed that their table says.
    Speed {
        /// Label of the cluster or accelerator.
        label: String,
        /// The part, above 0.
        factor: f64,
    },
    /// From now on a link between hosts carries this part of what its file says; frames that are on it arrive as they would have.
    Link {
        /// The link's name, such as `rk-pi`.
        link: String,
        /// The part, above 0.
        factor: f64,
    },
    /// A unit is taken away. What ran on it is lost: its frame starts the stage again, on another replica if there is one.
    Lost(Unit),
    /// A unit that was taken away is there again.
    Restored(Unit),
}

/// What can be taken away from a board.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Unit {
    /// A core.
    Core(CoreId),
    /// An accelerator, by its label.
    Accelerator(String),
    /// A host of a system with all that it has, by its name.
    Host(String),
}
