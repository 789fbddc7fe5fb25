/// How a schedule is simulated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimulationSettings {
    /// Frames that pass through.
    pub frames: usize,
    /// Frames that fit into the queue before a stage, beside those that its replicas work on. With a single one, pipelines whose replicas take
    /// unlike times may pass some percent fewer frames than their evaluation says, since who is done waits for room; the engine's queues hold all
    /// frames that are under way.
    pub queue: usize,
    /// Relative standard deviation of the times of operators; 0 for exactly the table's times.
    pub noise: f64,
    /// Draws the noise.
    pub seed: u64,
    /// Whether to keep what every processor did, which costs memory.
    pub keeps_spans: bool,
}

impl Default for SimulationSettings {
    fn default() -> Self {
        Self { frames: 100, queue: 1, noise: 0.0, seed: 0, keeps_spans: false }
    }
}
