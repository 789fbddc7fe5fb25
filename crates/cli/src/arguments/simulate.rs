//! Flags of `simulate`: a schedule, costs, frames, noise, and disturbances of the board.

use std::path::PathBuf;

use clap::Args;
use millstream::{CostSource, MemoryCompetition, SimulateOptions};
use millstream_sim::Disturbance;

use super::run::MOST_IN_FLIGHT;
use super::values::{parse_count, parse_loss, parse_noise, parse_rate, parse_restoration, parse_speed};
use super::{ScheduledArguments, cost_source};

#[derive(Debug, Args)]
pub(crate) struct SimulateCommand {
    #[command(flatten)]
    pub(crate) scheduled: ScheduledArguments,
    /// Simulate several boards with links between them: the system file that the schedule was made for, or the name of
    /// a built-in system
    #[arg(long, value_name = "FILE|NAME", conflicts_with_all = ["board", "engine", "profile", "cost", "memory", "no_memory"])]
    pub(crate) system: Option<PathBuf>,
    /// A profile of the board that has the network; without it, the cached one is used
    #[arg(long, value_name = "FILE", help_heading = "Costs")]
    pub(crate) profile: Option<PathBuf>,
    /// Cost models of the board, as `fit` writes them, or the name of a built-in board, instead of a profile
    #[arg(long, value_name = "FILE|NAME", conflicts_with = "profile", help_heading = "Costs")]
    pub(crate) cost: Option<PathBuf>,
    /// Frames to simulate
    #[arg(long, default_value_t = 1000, value_parser = parse_count::<u32>, help_heading = "Frames")]
    pub(crate) frames: u32,
    /// Frames of each network between the first stage's start and the last one's end [default: as for `run`]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=MOST_IN_FLIGHT), help_heading = "Frames")]
    pub(crate) in_flight: Option<u32>,
    /// Noise on the times of operators, and on what frames take over links: standard deviation in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = parse_noise, help_heading = "Frames")]
    pub(crate) noise: f64,
    /// Seed of the noise
    #[arg(long, default_value_t = 0, help_heading = "Frames")]
    pub(crate) seed: u64,
    /// Frames per second that arrive, as from a camera, instead of frames always being available
    #[arg(long, value_name = "FRAMES/S", value_parser = parse_rate, help_heading = "Frames")]
    pub(crate) frame_rate: Option<f64>,
    /// Let processors compete for the memory bandwidth that the board file states; an error if it states none [default:
    /// if it states one]
    #[arg(long, conflicts_with = "no_memory", help_heading = "Board")]
    pub(crate) memory: bool,
    /// Ignore memory contention
    #[arg(long, help_heading = "Board")]
    pub(crate) no_memory: bool,
    /// Let clusters heat up as the board file states, and lower their clocks
    #[arg(long, help_heading = "Board")]
    pub(crate) heat: bool,
    /// From some time on, run a cluster, an accelerator or a link of hosts at a part of its speed, such as 2s:B:0.5,
    /// 2s:rk-pi:0.1 or, for the way of frames, 2s:outside-rk:0.1; may be repeated
    #[arg(long = "speed", value_name = "TIME:LABEL:FACTOR", value_parser = parse_speed, help_heading = "What goes wrong")]
    pub(crate) speeds: Vec<Disturbance>,
    /// Lose a core, an accelerator or a host at some time, such as 2s:4, 2s:G or 2s:pi; may be repeated
    #[arg(long = "lose", value_name = "TIME:CORE|LABEL", value_parser = parse_loss, help_heading = "What goes wrong")]
    pub(crate) losses: Vec<Disturbance>,
    /// Bring a lost core, accelerator or host back at some time; may be repeated
    #[arg(long = "restore", value_name = "TIME:CORE|LABEL", value_parser = parse_restoration, help_heading = "What goes wrong")]
    pub(crate) restorations: Vec<Disturbance>,
    /// A schedule for the frames that are left when a stage has lost all its replicas
    #[arg(long, value_name = "FILE", help_heading = "What goes wrong")]
    pub(crate) fallback: Option<PathBuf>,
    /// Write a trace for Perfetto or chrome://tracing
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) trace: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, help_heading = "Results")]
    pub(crate) json: bool,
}

impl SimulateCommand {
    /// How schedules are simulated.
    pub(crate) fn options(&self) -> SimulateOptions<'_> {
        let disturbances = self.speeds.iter().chain(&self.losses).chain(&self.restorations);
        let costs = cost_source(self.cost.as_deref(), self.profile.as_deref()).unwrap_or(CostSource::Cached);
        let mut options = SimulateOptions::new(costs, self.frames);
        options.frames_in_flight = self.in_flight.map(|count| count as usize);
        options.frame_rate_hertz = self.frame_rate;
        options.noise = self.noise / 100.0;
        options.seed = self.seed;
        options.memory = match (self.memory, self.no_memory) {
            (true, _) => MemoryCompetition::Always,
            (_, true) => MemoryCompetition::Never,
            _ => MemoryCompetition::IfStated,
        };
        options.has_heat = self.heat;
        options.disturbances = disturbances.cloned().collect();
        options.fallback = self.fallback.as_deref();
        options.keeps_spans = self.trace.is_some();
        options
    }
}
