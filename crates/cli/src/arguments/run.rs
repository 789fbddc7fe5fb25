use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::values::parse_rate;
use super::{InputArguments, ScheduledArguments};
use crate::duration::Budget;

/// What becomes of a camera's frame that finds no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhenLate {
    /// It waits, and so do those behind it
    Wait,
    /// It takes the place of one that waits already
    DropOldest,
    /// It is dropped
    DropNewest,
}

/// Frames before the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WarmUp {
    Frames(u64),
    Time(Duration),
}

impl FromStr for WarmUp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<u64>() {
            Ok(frames) => Ok(Self::Frames(frames)),
            Err(_) => match text.parse::<Budget>() {
                Ok(Budget(time)) => Ok(Self::Time(time)),
                Err(_) => Err(format!("'{text}' is neither a number of frames, such as 20, nor a time, such as 2s")),
            },
        }
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct RunCommand {
    #[command(flatten)]
    pub(crate) scheduled: ScheduledArguments,
    #[command(flatten)]
    pub(crate) inputs: InputArguments,
    /// Frames to stream [default: 50, or each of yours once if results are written or expected]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..), help_heading = "Length and rate")]
    pub(crate) frames: Option<u64>,
    /// Stream for this long, such as 30s, instead of a number of frames
    #[arg(long, value_name = "TIME", conflicts_with = "frames", help_heading = "Length and rate")]
    pub(crate) duration: Option<Budget>,
    /// Frames, or a time such as 2s, before the measurement begins [default: 2 for each processor, and 2]
    #[arg(long, value_name = "FRAMES|TIME", help_heading = "Length and rate")]
    pub(crate) warm_up: Option<WarmUp>,
    /// Frames per second that arrive, as from a camera, instead of always another one
    #[arg(long, value_name = "FRAMES/S", value_parser = parse_rate, help_heading = "Length and rate")]
    pub(crate) frame_rate: Option<f64>,
    /// What becomes of a frame that arrives and finds no room
    #[arg(
        long,
        value_enum,
        value_name = "POLICY",
        default_value = "wait",
        requires = "frame_rate",
        help_heading = "Length and rate"
    )]
    pub(crate) when_late: WhenLate,
    /// Count the frames that take longer than this, such as 40ms, from their arrival to their result
    #[arg(long, value_name = "TIME", help_heading = "Length and rate")]
    pub(crate) deadline: Option<Budget>,
    /// Watch stage times and cores while frames flow, and change the schedule when conditions change
    #[arg(long, conflicts_with = "trace")]
    pub(crate) adaptive: bool,
    /// Frames between the first stage's start and the last one's end: more for throughput, fewer for latency
    /// [default: workers + hand-overs]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=MOST_IN_FLIGHT))]
    pub(crate) in_flight: Option<u32>,
    /// Write the results of every frame into this folder, as NAME.npz
    #[arg(long, value_name = "FOLDER", help_heading = "Results")]
    pub(crate) output: Option<PathBuf>,
    /// Compare results with these: a .npz or .npy file, or a folder of them as --output writes it
    #[arg(long, value_name = "PATH", requires = "inputs", help_heading = "Results")]
    pub(crate) expect: Option<PathBuf>,
    /// How far floats may be from what is expected, relative to the largest element [default: what fits each type]
    #[arg(long, value_name = "NUMBER", value_parser = parse_tolerance, requires = "expect", help_heading = "Results")]
    pub(crate) tolerance: Option<f64>,
    /// Write a line for each frame that was not dropped: when it came, when it was done, how long it took
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) csv: Option<PathBuf>,
    /// Show what every operator takes, measured in its stage after the frames
    #[arg(long, help_heading = "Results")]
    pub(crate) operators: bool,
    /// Write a trace for Perfetto or chrome://tracing
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) trace: Option<PathBuf>,
    /// Print the measurements as JSON
    #[arg(long, help_heading = "Results")]
    pub(crate) json: bool,
}

impl RunCommand {
    /// The deadline of each frame, if one was given.
    pub(crate) fn deadline_seconds(&self) -> Option<f64> {
        self.deadline.map(|deadline| deadline.0.as_secs_f64())
    }
}

/// Queues are made for as many frames at once.
const MOST_IN_FLIGHT: i64 = 65_536;

fn parse_tolerance(text: &str) -> Result<f64, String> {
    let tolerance: Option<f64> = text.parse().ok().filter(|tolerance| (0.0..=1e6).contains(tolerance));
    tolerance.ok_or_else(|| format!("'{text}' is not a number from 0, such as 1e-3"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warm_up_is_frames_or_time() {
        assert_eq!("20".parse(), Ok(WarmUp::Frames(20)));
        assert_eq!("0".parse(), Ok(WarmUp::Frames(0)));
        assert_eq!("500ms".parse(), Ok(WarmUp::Time(Duration::from_millis(500))));
        assert!("soon".parse::<WarmUp>().is_err());
        assert!(parse_tolerance("-1").is_err() && parse_tolerance("NaN").is_err());
    }
}
