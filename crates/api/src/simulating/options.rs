//! How schedules are simulated.

use std::path::Path;

use millstream_sim::Disturbance;

use crate::error::Error;
use crate::measuring::CostSource;

/// Options of a simulation.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SimulateOptions<'a> {
    /// Where costs come from.
    pub costs: CostSource<'a>,
    /// Frames of a network with weight 1.
    pub frames: u32,
    /// How many frames of each network may be between the start of the first stage and the end of the last one; `None`
    /// is as many as in a run, and over several boards as many as keep links busy too.
    pub frames_in_flight: Option<usize>,
    /// Frames per second that arrive; if `None`, always another one is there.
    pub frame_rate_hertz: Option<f64>,
    /// Relative standard deviation of operators' times.
    pub noise: f64,
    /// Of the noise.
    pub seed: u64,
    /// Whether processors compete for the memory's bandwidth.
    pub memory: MemoryCompetition,
    /// Whether clusters heat up as the board states.
    pub has_heat: bool,
    /// What changes over time.
    pub disturbances: Vec<Disturbance>,
    /// A schedule for the frames that are left when a stage has lost all its replicas.
    pub fallback: Option<&'a Path>,
    /// Whether the simulation says what each processor did when.
    pub keeps_spans: bool,
}

impl<'a> SimulateOptions<'a> {
    /// So many frames, always another one at once, undisturbed. The fields say what else there is.
    pub fn new(costs: CostSource<'a>, frames: u32) -> Self {
        Self {
            costs,
            frames,
            frames_in_flight: None,
            frame_rate_hertz: None,
            noise: 0.0,
            seed: 0,
            memory: MemoryCompetition::IfStated,
            has_heat: false,
            disturbances: Vec::new(),
            fallback: None,
            keeps_spans: false,
        }
    }

    /// Whether there is something to simulate, at a rate at which frames can arrive.
    ///
    /// # Errors
    /// [`Error::Unfit`] with the first number that means nothing.
    pub fn check(&self) -> Result<(), Error> {
        let is_rate = |hertz: f64| hertz.is_finite() && hertz > 0.0;
        let message = match self.frame_rate_hertz {
            _ if self.frames == 0 => "no frames are to be simulated; 1 is the fewest".to_owned(),
            _ if self.frames_in_flight == Some(0) => "the number of frames in flight is 0; 1 is the fewest".to_owned(),
            Some(hertz) if !is_rate(hertz) => {
                format!("the frame rate is {hertz} frames per second: it must be a number above 0")
            }
            _ if !(self.noise.is_finite() && self.noise >= 0.0) => {
                format!("the noise is {}: it must be a number that is not negative", self.noise)
            }
            _ => return Ok(()),
        };
        Err(Error::Unfit(message))
    }
}

/// Competition of processors for the memory's bandwidth in a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MemoryCompetition {
    /// If the board states a bandwidth, as in predictions.
    #[default]
    IfStated,
    /// In any case: a board that states none is an error.
    Always,
    /// Memory contention is ignored.
    Never,
}
