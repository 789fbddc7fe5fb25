//! Flags of `fit`: a profile, the model for convolutions, and phases that were measured on an accelerator.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct FitCommand {
    /// The profile to learn from
    #[arg(long, value_name = "FILE", default_value = "profile.json")]
    pub(crate) profile: PathBuf,
    /// What predicts convolutions: our model, or Pipe-it's regression on the dimensions of their matrix product and its
    /// model of several cores (Wang et al., TCAD 2020, equations 3 to 8)
    #[arg(long, value_enum, value_name = "MODEL", default_value_t = ConvolutionModel::Default)]
    pub(crate) convolutions: ConvolutionModel,
    #[command(flatten)]
    pub(crate) accelerator: AcceleratorArguments,
    /// Where to write the models
    #[arg(short, long, value_name = "FILE", default_value = "cost.json")]
    pub(crate) output: PathBuf,
    /// Where to draw predicted against measured times, as SVG [default: beside the models]
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Compare the published models with ours, by cross-validation over networks
    #[arg(long)]
    pub(crate) compare: bool,
    /// A second profile of the board: predict its networks, of which the models know nothing
    #[arg(long, value_name = "FILE")]
    pub(crate) test: Option<PathBuf>,
    /// Print the models as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What predicts convolutions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConvolutionModel {
    /// Non-negative least squares over amounts of work
    Default,
    /// Equations 5 and 8; where they predict less than nothing, our model
    PipeIt,
}

/// An accelerator that was measured by other means.
#[derive(Debug, Args)]
pub(crate) struct AcceleratorArguments {
    /// Phases of convolutions that were measured on an accelerator: fit the co-scheduling paper's equations 2 to 9 to
    /// them (Kim et al., IEEE Access 2020), for the board's convolutions there. A CSV table with the columns
    /// input_elements (all input maps), filter_elements (height x width x input channels), output_elements (one output
    /// map), filters (output channels), computation_seconds, transfer_seconds; flush_seconds and invalidation_seconds
    /// unless the interconnect keeps caches coherent; and, if you like, normalisation_elements, total_seconds, name
    #[arg(id = "accelerator", long = "accelerator", value_name = "CSV")]
    pub(crate) phases: Option<PathBuf>,
    /// For --accelerator: the board file that has the accelerator with its processing_elements [default: the profile's
    /// board]
    #[arg(long, value_name = "FILE", requires = "accelerator")]
    pub(crate) board: Option<PathBuf>,
    /// For --accelerator: its label [default: the board's only one]
    #[arg(long, value_name = "LABEL", requires = "accelerator")]
    pub(crate) label: Option<String>,
    /// For --accelerator: it computes while data is moved, so that the longer of the two counts
    #[arg(long, requires = "accelerator")]
    pub(crate) double_buffering: bool,
    /// For --accelerator: cost models of the board's cores to add the accelerator to, instead of fitting a profile
    #[arg(long, value_name = "FILE", requires = "accelerator", conflicts_with_all = ["profile", "convolutions", "compare", "test", "plot"])]
    pub(crate) base: Option<PathBuf>,
}
