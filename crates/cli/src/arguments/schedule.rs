use std::path::{Path, PathBuf};

use clap::Args;
use millstream::{Aim, Constraints, CostSource, Objective, PROFILE_BUDGET, PlanOn};
use millstream_cost::Nanoseconds;
use millstream_pipeline::Effort;

use super::objective::objective;
use super::values::{parse_deadline, parse_effort, parse_margin, parse_rate, parse_watts, parse_weight};
use super::{Algorithm, BoardArguments, DimensionArguments, InputArguments, cost_source};
use crate::duration::Budget;

#[derive(Debug, Args)]
pub(crate) struct ScheduleCommand {
    /// An ONNX file, or zoo:NAME for a built-in network; several share the board [default: zoo:squeezenet]
    #[arg(long = "model", value_name = "FILE|zoo:NAME")]
    pub(crate) models: Vec<String>,
    #[command(flatten)]
    pub(crate) dimensions: DimensionArguments,
    #[command(flatten)]
    pub(crate) board: BoardArguments,
    /// Plan for several boards with links between them: a system file, or the name of a built-in system. By the costs that it names: nothing
    /// is measured
    #[arg(long, value_name = "FILE|NAME", conflicts_with_all = [
        "board", "engine", "profile", "cost", "fresh", "algorithm", "processors", "max_power", "search_effort", "clocks", "weights", "deadlines",
        "html",
    ])]
    pub(crate) system: Option<PathBuf>,
    /// Leave a host of the system out, for a schedule to fall back on when it is lost; may be repeated
    #[arg(long = "without", value_name = "HOST", requires = "system")]
    pub(crate) without: Vec<String>,
    #[command(flatten)]
    pub(crate) inputs: InputArguments,
    /// A profile of the board; without it, a cached one is used or a new one is made
    #[arg(long, value_name = "FILE")]
    pub(crate) profile: Option<PathBuf>,
    /// Cost models of the board, as `fit` writes them, or the name of a built-in board: predict the network instead of measuring it
    #[arg(long, value_name = "FILE|NAME", conflicts_with = "profile")]
    pub(crate) cost: Option<PathBuf>,
    /// Measure anew even if there is a cached profile
    #[arg(long, conflicts_with_all = ["profile", "cost"])]
    pub(crate) fresh: bool,
    /// Who finds the schedule: our exact search, or an algorithm that others published, on the same costs; all but `exact`
    /// only predict, and try nothing out
    #[arg(long, value_enum, value_name = "NAME", default_value_t = Algorithm::Exact)]
    pub(crate) algorithm: Algorithm,
    /// Of published algorithms but pipe-it: the processors that they deal the network out to, such as B4-s2-G1 [default: every cluster
    /// with all its cores and every accelerator, or each core if there is just one cluster]
    #[arg(long, value_name = "PROCESSORS")]
    pub(crate) processors: Option<String>,
    /// What the schedule should be best at: throughput (up to 3 % of it may go for a shorter latency), latency,
    /// balanced or energy
    #[arg(long, value_name = "OBJECTIVE", value_parser = objective(), hide_possible_values = true, default_value_t = Objective::Throughput)]
    pub(crate) objective: Objective,
    /// The longest that a frame may take, such as 40ms
    #[arg(long, value_name = "TIME")]
    pub(crate) max_latency: Option<Budget>,
    /// The fewest frames per second
    #[arg(long, value_name = "FRAMES/S", value_parser = parse_rate)]
    pub(crate) min_throughput: Option<f64>,
    /// The most that the processors may draw on average
    #[arg(long, value_name = "WATTS", value_parser = parse_watts)]
    pub(crate) max_power: Option<f64>,
    /// How much better than these limits, and the deadlines of several networks, the prediction must be, such as 10%
    #[arg(long, value_name = "PERCENT", value_parser = parse_margin)]
    pub(crate) margin: Option<f64>,
    /// How much work the search puts into stages of several processors, such as 10 for ten times the usual
    #[arg(long, value_name = "NUMBER", value_parser = parse_effort, default_value = "1")]
    pub(crate) search_effort: Effort,
    /// Choose the clocks of clusters as well, among the operating points that the board file has
    #[arg(long)]
    pub(crate) clocks: bool,
    /// Of several networks: frames of this one for each frame of a network with weight 1; may be repeated
    #[arg(long = "weight", value_name = "NAME=NUMBER", value_parser = parse_weight)]
    pub(crate) weights: Vec<(String, f64)>,
    /// Of several networks: the longest that a frame of this one may take, its turn included; where the processors are divided, waiting in queues is not planned for; may be repeated
    #[arg(long = "deadline", value_name = "NAME=TIME", value_parser = parse_deadline)]
    pub(crate) deadlines: Vec<(String, Budget)>,
    /// Where to write the schedule
    #[arg(short, long, value_name = "FILE", default_value = "schedule.json")]
    pub(crate) output: PathBuf,
    /// Write what is proven of the schedule, for `certify`
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate: Option<PathBuf>,
    /// Write a page for browsers: what was chosen and why, the front, the network with its stages, frames as they should flow
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print the front and the schedule as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl ScheduleCommand {
    /// The costs that are named.
    pub(crate) fn costs(&self) -> Option<CostSource<'_>> {
        cost_source(self.cost.as_deref(), self.profile.as_deref())
    }

    /// How the schedule is used: on this machine it is run, on another board simulated.
    pub(crate) fn next_command(&self) -> String {
        let is_elsewhere = self.board.board.is_some() || self.system.is_some();
        let verb = if is_elsewhere { "simulate" } else { "run" };
        format!(
            "{verb} it with: cargo xtask {verb} --schedule {}{}",
            quoted(&self.output),
            self.ground(verb == "simulate")
        )
    }

    /// How the certificate is checked.
    pub(crate) fn certify_command(&self, certificate: &Path) -> String {
        let schedule = match self.output == Path::new("schedule.json") {
            true => String::new(),
            false => format!(" --schedule {}", quoted(&self.output)),
        };
        let certificate = quoted(certificate);
        format!("check it with: cargo xtask certify --certificate {certificate}{schedule}{}", self.ground(true))
    }

    /// The flags that say what this command's numbers are about.
    fn ground(&self, with_costs: bool) -> String {
        let costs = [("--cost", &self.cost), ("--profile", &self.profile)].into_iter().filter(|_| with_costs);
        flags([("--board", &self.board.board), ("--system", &self.system)].into_iter().chain(costs))
    }

    /// Where costs come from.
    pub(crate) fn on(&self) -> PlanOn<'_> {
        match self.costs() {
            Some(costs) => PlanOn::Costs(costs),
            None if self.fresh => PlanOn::ThisMachineAnew(PROFILE_BUDGET),
            None => PlanOn::ThisMachine,
        }
    }

    /// What the schedule is for.
    pub(crate) fn aim(&self) -> Aim {
        let constraints = Constraints {
            max_latency: self.max_latency.map(|budget| Nanoseconds::from(budget.0)),
            max_period: self.min_throughput.map(|rate| Nanoseconds::from_seconds(1.0 / rate)),
            max_watts: self.max_power,
        };
        Aim::best(self.objective)
            .within(constraints)
            .with_margin(self.margin.unwrap_or_default())
            .with_effort(self.search_effort)
    }
}

/// Those flags that have a file, each behind a space.
pub(super) fn flags<'a>(named: impl IntoIterator<Item = (&'a str, &'a Option<PathBuf>)>) -> String {
    named.into_iter().filter_map(|(flag, file)| Some(format!(" {flag} {}", quoted(file.as_deref()?)))).collect()
}

/// A path as a shell takes it.
pub(super) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = text.chars().all(|own| own.is_alphanumeric() || "/._-+=:,@%".contains(own));
    if is_plain { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
