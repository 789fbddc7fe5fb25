//! Flags of `deploy`: a board behind ssh, the network for it, and folders here and there.

use std::path::PathBuf;

use clap::Args;
use millstream::Objective;

use super::objective::objective;
use super::values::parse_count;
use super::{InputArguments, ModelArguments};
use crate::duration::Budget;

#[derive(Debug, Args)]
pub(crate) struct DeployCommand {
    /// The board as ssh knows it: USER@HOST, a name of ~/.ssh/config, or ssh://USER@HOST:PORT. It must let you in
    /// without a password
    #[arg(value_name = "USER@HOST", value_parser = parse_host, required_unless_present = "system")]
    pub(crate) host: Option<String>,
    /// Plan and run on several boards with links between them instead: a system file, or the name of a built-in system.
    /// By the costs that it names; `millstream-node` and what it needs must be on the hosts
    #[arg(long, value_name = "FILE|NAME", conflicts_with_all = ["host", "package", "budget", "remote_folder", "keep", "ssh_config"])]
    pub(crate) system: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    #[command(flatten)]
    pub(crate) inputs: InputArguments,
    /// What `cargo xtask package` makes for the board's architecture [default: the one in target/package]
    #[arg(long, value_name = "ARCHIVE")]
    pub(crate) package: Option<PathBuf>,
    /// What to optimise: throughput, latency, balanced or energy
    #[arg(long, value_name = "OBJECTIVE", value_parser = objective(), hide_possible_values = true, default_value_t = Objective::Throughput)]
    pub(crate) objective: Objective,
    /// Time for measuring the network on the board
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub(crate) budget: Budget,
    /// Frames to stream through the schedule [default: as `run`; 100 with --system]
    #[arg(long, value_parser = parse_count::<u64>)]
    pub(crate) frames: Option<u64>,
    /// The folder for board.json, profile.json, schedule.json and run.json, or of a system for its schedules, run.json
    /// and trace.json; what it has of these is replaced
    #[arg(short, long, value_name = "FOLDER", default_value = "deployed")]
    pub(crate) output: PathBuf,
    /// The folder on the board in which one for this command is made, and removed in the end [default: the home folder]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) remote_folder: Option<String>,
    /// Leave everything on the board, and say where it is
    #[arg(long)]
    pub(crate) keep: bool,
    /// A configuration file for ssh instead of your own
    #[arg(long, value_name = "FILE")]
    pub(crate) ssh_config: Option<PathBuf>,
    /// Print the report of the run as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// With --system: what else `millstream-node run` takes, such as --via and --address
    #[arg(last = true, value_name = "FLAGS", requires = "system")]
    pub(crate) more: Vec<String>,
}

/// What begins with a dash would be an option of ssh's.
fn parse_host(text: &str) -> Result<String, String> {
    let is_name =
        !text.is_empty() && !text.starts_with('-') && !text.contains(|character: char| character.is_whitespace());
    is_name.then(|| text.to_owned()).ok_or_else(|| format!("'{text}' is not USER@HOST"))
}

#[cfg(test)]
mod tests {
    use super::parse_host;

    #[test]
    fn a_host_is_no_option() {
        assert_eq!(parse_host("me@board").as_deref(), Ok("me@board"));
        assert_eq!(parse_host("ssh://me@board:2222").as_deref(), Ok("ssh://me@board:2222"));
        for wrong in ["", "-oProxyCommand=sh", "me@board ls", "a\nb"] {
            assert!(parse_host(wrong).is_err(), "{wrong}");
        }
    }
}
