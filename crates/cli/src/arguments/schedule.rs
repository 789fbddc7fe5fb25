//! Flags of `schedule`: networks, costs, the search, objective and limits; and the commands to go on with.

use std::path::{Path, PathBuf};

use clap::Args;
use millstream::{Aim, Constraints, CostSource, Machine, Objective, OnHosts, PROFILE_BUDGET, PlanOn, SystemDivision};
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
    /// Plan for several boards with links between them: a system file, or the name of a built-in system. By the costs
    /// that it names: nothing is measured
    #[arg(long, value_name = "FILE|NAME", conflicts_with_all = [
        "board", "engine", "profile", "cost", "fresh", "algorithm", "processors", "max_power", "clocks", "weights", "deadlines",
        "html",
    ])]
    pub(crate) system: Option<PathBuf>,
    /// Leave a host of the system out, for a schedule to fall back on when it is lost; may be repeated
    #[arg(long = "without", value_name = "HOST", requires = "system")]
    pub(crate) without: Vec<String>,
    /// Divide the network between the hosts of the system as others would: 'equal' parts, parts by 'memory', or all on
    /// the host of a name
    #[arg(long, value_name = "HOW", requires = "system", default_value = "best")]
    pub(crate) division: SystemDivision,
    #[command(flatten)]
    pub(crate) inputs: InputArguments,
    /// A profile of the board; without it, a cached one is used or a new one is made
    #[arg(long, value_name = "FILE", help_heading = "Costs")]
    pub(crate) profile: Option<PathBuf>,
    /// Cost models of the board, as `fit` writes them, or the name of a built-in board: predict the network instead of
    /// measuring it
    #[arg(long, value_name = "FILE|NAME", conflicts_with = "profile", help_heading = "Costs")]
    pub(crate) cost: Option<PathBuf>,
    /// Measure anew even if there is a cached profile
    #[arg(long, conflicts_with_all = ["profile", "cost"], help_heading = "Costs")]
    pub(crate) fresh: bool,
    /// The scheduling algorithm: Millstream's own search, or a published one on the same costs. Schedules of published
    /// algorithms are not tried out
    #[arg(long, value_enum, value_name = "NAME", default_value_t = Algorithm::Millstream, help_heading = "Search")]
    pub(crate) algorithm: Algorithm,
    /// For published algorithms but pipe-it: the processors that they may use, such as B4-s2-G1 [default: every cluster
    /// with all its cores and every accelerator, or each core if there is just one cluster]
    #[arg(long, value_name = "PROCESSORS", help_heading = "Search")]
    pub(crate) processors: Option<String>,
    /// What to optimise: throughput (trades up to 1 % of it for lower latency), latency, balanced or energy
    #[arg(long, value_name = "OBJECTIVE", value_parser = objective(), hide_possible_values = true, default_value_t = Objective::Throughput, help_heading = "Search")]
    pub(crate) objective: Objective,
    /// The longest that a frame may take, such as 40ms
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    pub(crate) max_latency: Option<Budget>,
    /// The fewest frames per second
    #[arg(long, value_name = "FRAMES/S", value_parser = parse_rate, help_heading = "Limits")]
    pub(crate) min_throughput: Option<f64>,
    /// The most that the processors may draw on average
    #[arg(long, value_name = "WATTS", value_parser = parse_watts, help_heading = "Limits")]
    pub(crate) max_power: Option<f64>,
    /// By how much predictions must be better than these limits, and than the deadlines of several networks, such as
    /// 10%
    #[arg(long, value_name = "PERCENT", value_parser = parse_margin, help_heading = "Limits")]
    pub(crate) margin: Option<f64>,
    /// How much work the search puts into stages of several processors, as a multiple of the usual, such as 10
    #[arg(long, value_name = "NUMBER", value_parser = parse_effort, default_value = "1", help_heading = "Search")]
    pub(crate) search_effort: Effort,
    /// Choose the clocks of clusters as well, among up to six operating points of each that the board file has; without
    /// teams
    #[arg(long, help_heading = "Search")]
    pub(crate) clocks: bool,
    /// With several networks: frames of this one for each frame of a network with weight 1; may be repeated
    #[arg(long = "weight", value_name = "NAME=NUMBER", value_parser = parse_weight, help_heading = "Several networks")]
    pub(crate) weights: Vec<(String, f64)>,
    /// With several networks: the longest that a frame of this one may take, the turns of others included; time in
    /// queues is not planned for where the networks have processors of their own; may be repeated
    #[arg(long = "deadline", value_name = "NAME=TIME", value_parser = parse_deadline, help_heading = "Several networks")]
    pub(crate) deadlines: Vec<(String, Budget)>,
    /// Where to write the schedule
    #[arg(short, long, value_name = "FILE", default_value = "schedule.json", help_heading = "Results")]
    pub(crate) output: PathBuf,
    /// Write what is proven of the schedule, for `certify`
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) certificate: Option<PathBuf>,
    /// Write a page for browsers: what was chosen and why, the front, the network with its stages, frames as they
    /// should flow
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(crate) html: Option<PathBuf>,
    /// Print the front and the schedule as JSON
    #[arg(long, help_heading = "Results")]
    pub(crate) json: bool,
}

impl ScheduleCommand {
    /// What of a system is used, and how.
    pub(crate) fn on_hosts(&self) -> OnHosts {
        OnHosts { without: self.without.clone(), division: self.division.clone() }
    }

    /// The costs that are named.
    pub(crate) fn costs(&self) -> Option<CostSource<'_>> {
        cost_source(self.cost.as_deref(), self.profile.as_deref())
    }

    /// How the schedule is used: on this computer it is run, on another board or several hosts simulated.
    pub(crate) fn next_command(&self, machine: Option<&Machine>) -> String {
        let verb = if machine.is_some_and(Machine::is_this_computer) { "run" } else { "simulate" };
        format!(
            "{verb} it with: cargo xtask {verb} --schedule {}{}",
            quoted_path(&self.output),
            self.ground(verb == "simulate")
        )
    }

    /// How the certificate is checked.
    pub(crate) fn certify_command(&self, certificate: &Path) -> String {
        let schedule = if self.output == Path::new("schedule.json") {
            String::new()
        } else {
            format!(" --schedule {}", quoted_path(&self.output))
        };
        let certificate = quoted_path(certificate);
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
    named.into_iter().filter_map(|(flag, file)| Some(format!(" {flag} {}", quoted_path(file.as_deref()?)))).collect()
}

/// A word as a shell takes it.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = text.chars().all(|character| character.is_alphanumeric() || "/._-+=:,@%".contains(character));
    if is_plain { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// A path as a shell takes it.
pub(super) fn quoted_path(path: &Path) -> String {
    quoted(&path.display().to_string())
}
