//! Schedules for several networks that share a board.

use anyhow::{Result, bail};
use millstream::{Machine, Network, NetworkShare, Objective, Shared, files, plan_shared};
use millstream_board::Board;
use millstream_report::{Fact, Part, ReportChapter, ReportSection, Table, bound_text, milliseconds, set_table};

use crate::arguments::ScheduleCommand;
use crate::control::control;
use crate::{html, output};

use super::limits;
use super::page::PlanPage;

/// Divides the board among the networks of a command.
pub(super) fn schedule(command: &ScheduleCommand, machine: &Machine) -> Result<()> {
    let wants = command.aim();
    if command.objective != Objective::Throughput || command.clocks || wants.constraints != Default::default() {
        bail!(
            "several networks are scheduled for their common throughput: use --weight and --deadline instead of other objectives and limits"
        );
    }
    let options = Network::options_of_each(&command.models, &command.dimensions.read_options()?)?;
    let open = |(source, options): (&String, _)| Network::open(source, options);
    let networks: Vec<Network> = command.models.iter().zip(options).map(open).collect::<Result<_, _>>()?;
    check_names(command, &networks)?;
    let shares: Vec<NetworkShare> = networks.iter().map(|network| share_of(command, network)).collect();
    let shared =
        limits::explain_missed(plan_shared(machine, &networks, &shares, command.on(), &control()), wants.margin)?;
    files::write(&command.output, &files::to_json(&shared.document)?)?;
    if command.json {
        output::json(&shared.document)?;
    }
    let together = Together::of(&shared, machine.board());
    if !command.json {
        together.print();
    }
    output::remark(format!("wrote {}; {}", command.output.display(), command.next_command(Some(machine))));
    if let Some(path) = &command.html {
        let each = chapters(&networks, &shared, machine.board())?;
        html::write(path, "What was planned", std::iter::once(together.chapter()).chain(each).collect())?;
    }
    Ok(())
}

/// What is shown of all networks together, in the terminal and on the page.
struct Together {
    how: String,
    table: Table,
    facts: Vec<Fact>,
}

impl Together {
    fn of(shared: &Shared, board: &Board) -> Self {
        Self { how: how(shared, board), table: set_table(&shared.document), facts: shared_facts(shared) }
    }

    fn print(&self) {
        output::line(format!("{}\n", self.how));
        output::table(&self.table);
        output::line("");
        output::facts(&self.facts);
    }

    fn chapter(self) -> ReportChapter {
        let parts = vec![Part::Text(self.how), Part::Table(self.table), Part::Facts(self.facts)];
        ReportChapter { title: "Together".to_owned(), sections: vec![ReportSection::new("All networks", parts)] }
    }
}

/// Each network by itself.
fn chapters(networks: &[Network], shared: &Shared, board: &Board) -> Result<Vec<ReportChapter>> {
    let mut chapters = Vec::new();
    for (network, of_network) in networks.iter().zip(&shared.document.networks) {
        let document = &of_network.schedule;
        let board = &board.clone().with_engines_of(&document.board.engines);
        let schedule = &document.resolve(network.graph(), network.digest(), board)?;
        let alone = bound_text(document, None, None, board.memory_bytes_per_second().is_some());
        let bound = &format!("if this network had the board alone, {alone}");
        let left_out_engines = &[];
        let page = PlanPage { network, board, schedule, document, front: &[], costs: None, bound, left_out_engines };
        chapters.push(page.chapter(Vec::new()));
    }
    Ok(chapters)
}

/// What the command wants of a network, by its name or by where it is from.
fn share_of(command: &ScheduleCommand, network: &Network) -> NetworkShare {
    let is_own = |name: &str| name == network.name() || name == network.source();
    let weight = command.weights.iter().find(|(name, _)| is_own(name)).map_or(1.0, |(_, weight)| *weight);
    let deadline = command.deadlines.iter().find(|(name, _)| is_own(name)).map(|(_, time)| time.0);
    NetworkShare { weight, deadline, margin: command.aim().margin }
}

fn check_names(command: &ScheduleCommand, networks: &[Network]) -> Result<()> {
    let names = command.weights.iter().map(|(name, _)| name).chain(command.deadlines.iter().map(|(name, _)| name));
    for name in names {
        if networks.iter().any(|network| *name == network.source()) {
            continue;
        }
        let called = networks.iter().filter(|network| network.name() == name).map(Network::source);
        let called: Vec<&str> = called.collect();
        let is_first = |(place, source): &(usize, &&str)| !called[..*place].contains(source);
        let files: Vec<&str> = called.iter().enumerate().filter(is_first).map(|(_, source)| *source).collect();
        match files.as_slice() {
            [] => {
                let known: Vec<&str> = networks.iter().map(Network::name).collect();
                bail!("no network is called '{name}'; there are {}", known.join(", "));
            }
            [_] if called.len() == 1 => {}
            several if several.len() < called.len() => bail!(
                "several of the networks that are called '{name}' are the same file, so that nobody knows which one is meant: give copies under \
                 other names"
            ),
            several => bail!("{} networks are called '{name}': say {}", several.len(), several.join(" or ")),
        }
    }
    Ok(())
}

fn how(shared: &Shared, board: &Board) -> String {
    let document = &shared.document;
    let how = if document.takes_turns { "in turn on the same processors" } else { "each on processors of its own" };
    format!("{} networks on {}, {how}", document.networks.len(), board.name())
}

/// What they come to together.
fn shared_facts(shared: &Shared) -> Vec<Fact> {
    let document = &shared.document;
    let rounds = document.rounds_per_second;
    let mut facts = vec![Fact::new("Predicted", format!("{rounds:.2} frames/s of each network, times its weight."))];
    if let Some(other) = shared.other_rounds_per_second {
        let how = if document.takes_turns { "With processors of their own" } else { "In turn on the whole board" };
        let outcome = match rounds / other {
            // Less is chosen for the sake of deadlines only; what is as good to two decimals is chosen for either way.
            fewer if fewer < 0.995 => "but deadlines would be missed".to_owned(),
            ratio => format!("this is {ratio:.2} times as many"),
        };
        facts.push(Fact::new("", format!("{how} there would be {other:.2}: {outcome}.")));
    }
    if !document.takes_turns && document.networks.iter().any(|network| network.deadline_seconds.is_some()) {
        let text = "Frames by themselves meet the deadlines. Those that wait in queues, because they come faster than they pass, may not: `simulate` and `run` show it.";
        facts.push(Fact::new("Deadline", text));
    }
    for (network, latency) in document.networks.iter().zip(shared.simulated_latencies.iter().flatten()) {
        if network.deadline_seconds.is_some() {
            let (name, longest) = (&network.schedule.model.name, milliseconds(latency.as_secs_f64()));
            let text = format!(
                "Frames of {name} take {longest} ms at most in a simulation, including the turns of other networks."
            );
            facts.push(Fact::new("Deadline", text));
        }
    }
    facts
}
