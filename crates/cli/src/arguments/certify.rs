//! Flags of `certify`: a schedule, its certificate, and the costs or the system that it was made for.

use std::path::PathBuf;

use clap::Args;

use super::ScheduledArguments;

#[derive(Debug, Args)]
pub(crate) struct CertifyCommand {
    #[command(flatten)]
    pub(crate) scheduled: ScheduledArguments,
    /// The certificate
    #[arg(long, value_name = "FILE", default_value = "certificate.json")]
    pub(crate) certificate: PathBuf,
    /// The system that it was made for: a system file, or the name of a built-in system
    #[arg(long, value_name = "FILE|NAME", conflicts_with_all = ["board", "engine", "profile", "cost"])]
    pub(crate) system: Option<PathBuf>,
    /// The profile that the schedule was made from; without it, the cached one is used
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// The cost models that it was made from, or the name of a built-in board, instead of a profile
    #[arg(long, value_name = "FILE|NAME", conflicts_with = "profile")]
    pub(crate) cost: Option<PathBuf>,
    /// Print the certificate as JSON if it holds
    #[arg(long)]
    pub(crate) json: bool,
}
