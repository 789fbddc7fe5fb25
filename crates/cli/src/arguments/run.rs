//! Flags of `run`: the stream of frames and its rate, adaptation, expected results, and files to write.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use millstream::{Camera, EngineOptions, Inputs, RunLength, RunOptions, WarmUp};

use super::values::{parse_count, parse_rate};
use super::{InputArguments, ScheduledArguments};
use crate::duration::Budget;

/// What happens to a camera's frame that arrives while all places are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhenLate {
    /// It waits, and so do the frames after it
    Wait,
    /// The frame that has waited longest is dropped
    DropOldest,
    /// The new frame is dropped
    DropNewest,
}

fn parse_warm_up(text: &str) -> Result<WarmUp, String> {
    match text.parse::<u64>() {
        Ok(frames) => Ok(WarmUp::Frames(frames)),
        Err(_) => match text.parse::<Budget>() {
            Ok(Budget(time)) => Ok(WarmUp::Time(time)),
            Err(_) => Err(format!("'{text}' is neither a number of frames, such as 20, nor a time, such as 2s")),
        },
    }
}

#[derive(Debug, Clone, Args)]
pub(crate) struct RunCommand {
    #[command(flatten)]
    pub(crate) scheduled: ScheduledArguments,
    #[command(flatten)]
    pub(crate) inputs: InputArguments,
    /// Frames to stream [default: 50, or each of yours once if results are written or expected]
    #[arg(long, value_parser = parse_count::<u64>, help_heading = "Length and rate")]
    pub(crate) frames: Option<u64>,
    /// Stream for this long, such as 30s, instead of a number of frames
    #[arg(long, value_name = "TIME", conflicts_with = "frames", help_heading = "Length and rate")]
    pub(crate) duration: Option<Budget>,
    /// Frames, or a time such as 2s, before the measurement begins [default: 2 for each processor, and 2]
    #[arg(long, value_name = "FRAMES|TIME", value_parser = parse_warm_up, help_heading = "Length and rate")]
    pub(crate) warm_up: Option<WarmUp>,
    /// Frames per second that arrive, as from a camera, instead of frames always being available
    #[arg(long, value_name = "FRAMES/S", value_parser = parse_rate, help_heading = "Length and rate")]
    pub(crate) frame_rate: Option<f64>,
    /// What happens to a frame that arrives while all places are taken
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
    /// Watch stage times and cores while frames flow, and change the schedule when conditions change: among stages on
    /// single processors and replicas of them, without the limits of the schedule, energy taken for throughput
    #[arg(long, conflicts_with = "trace")]
    pub(crate) adaptive: bool,
    /// Frames between the first stage's start and the last one's end: more for throughput, fewer for latency
    /// [default: one for each replica, and between two stages one for each replica of the larger]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=MOST_IN_FLIGHT))]
    pub(crate) in_flight: Option<u32>,
    /// Cancel a frame that a stage works on for longer than this, such as 2s: it fails, others go on, and the command
    /// fails at the end. Plain inference, which results are compared with, may take ten times as long for each stage
    #[arg(long, value_name = "TIME", help_heading = "Length and rate")]
    pub(crate) frame_timeout: Option<Budget>,
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
    /// Write a page for browsers: what was measured and why it is so, the network with its stages, frames on their
    /// processors
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) html: Option<PathBuf>,
    /// Print the measurements as JSON
    #[arg(long, help_heading = "Results")]
    pub(crate) json: bool,
}

impl RunCommand {
    /// How frames are streamed, and what is done with their results.
    pub(crate) fn options(&self) -> RunOptions {
        let length = match (self.duration, self.frames) {
            (Some(duration), _) => RunLength::Time(duration.0),
            (None, Some(frames)) => RunLength::Frames(frames),
            (None, None) => RunLength::Usual,
        };
        let when_late = match self.when_late {
            WhenLate::Wait => millstream::WhenLate::Wait,
            WhenLate::DropOldest => millstream::WhenLate::DropOldest,
            WhenLate::DropNewest => millstream::WhenLate::DropNewest,
        };
        let mut options = RunOptions::default();
        options.length = length;
        options.warm_up = self.warm_up;
        options.camera = self.frame_rate.map(|hertz| Camera { hertz, when_late });
        options.deadline = self.deadline.map(|deadline| deadline.0);
        options.is_adaptive = self.adaptive;
        options.frames_in_flight = self.in_flight.map(|count| count as usize);
        options.frame_timeout = self.frame_timeout.map(|limit| limit.0);
        options.output = self.output.clone();
        options.expected = self.expect.clone();
        options.tolerance = self.tolerance;
        options.keeps_steps = self.trace.is_some() || self.html.is_some();
        options.measures_operators = self.operators;
        options
    }

    /// The frames that are named. Where results are to be right, every input needs a file.
    pub(crate) fn frames_named(&self) -> Inputs {
        let must_be_complete = self.output.is_some() || self.expect.is_some();
        Inputs { must_be_complete, ..self.inputs.inputs() }
    }
}

/// Queues are made for as many frames at once.
pub(super) const MOST_IN_FLIGHT: i64 = EngineOptions::MOST_IN_FLIGHT as i64;

fn parse_tolerance(text: &str) -> Result<f64, String> {
    let tolerance: Option<f64> = text.parse().ok().filter(|tolerance| (0.0..=1e6).contains(tolerance));
    tolerance.ok_or_else(|| format!("'{text}' is not a number from 0, such as 1e-3"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warm_up_is_frames_or_time() {
        assert_eq!(parse_warm_up("20"), Ok(WarmUp::Frames(20)));
        assert_eq!(parse_warm_up("0"), Ok(WarmUp::Frames(0)));
        assert_eq!(parse_warm_up("500ms"), Ok(WarmUp::Time(std::time::Duration::from_millis(500))));
        assert!(parse_warm_up("soon").is_err());
        assert!(parse_tolerance("-1").is_err() && parse_tolerance("NaN").is_err());
    }
}
