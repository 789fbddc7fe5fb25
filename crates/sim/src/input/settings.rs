//! Settings of the simulation of one schedule.

/// Settings of a simulation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimulationSettings {
    /// How many frames pass through.
    pub frames: usize,
    /// How many frames may be between the start of the first stage and the end of the last one. `None` is as many as
    /// the engine has there ([`Schedule::frames_in_flight`](millstream_schedule::Schedule::frames_in_flight)), and for
    /// each link between hosts or outside two more than are on it at once. A deployment over several hosts may have
    /// fewer, since it does not know how long links take.
    pub frames_in_flight: Option<usize>,
    /// Relative standard deviation of the times of operators: 0.1 for a tenth, 0 for exactly the table's times.
    pub noise: f64,
    /// Seed of the noise; equal seeds give equal results.
    pub seed: u64,
    /// Whether to keep what every processor did, which costs memory.
    pub keeps_spans: bool,
}

impl Default for SimulationSettings {
    fn default() -> Self {
        Self { frames: 100, frames_in_flight: None, noise: 0.0, seed: 0, keeps_spans: false }
    }
}
