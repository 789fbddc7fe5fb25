//! `schedule`: plans for a network or several, and the files and pages that they are written to.

mod limits;
mod one_plan;
mod page;
mod printing;
mod published;
mod shared;
mod system;

use anyhow::{Result, bail};
use millstream::{Machine, Network, Planned, files, plan, plan_with_clocks};
use millstream_predict::LeftOutEngine;
use millstream_schedule::{ScheduleDocument, SizesDocument};
use serde::Serialize;

use crate::arguments::{Algorithm, DEFAULT_MODEL, ScheduleCommand};
use crate::commands::schedule::one_plan::{
    AlgorithmPoint, ClockedPoint, OnePlan, Point, bound, front_rows, warn_of_unpredictable,
};
use crate::control::{LeftOutEngines, control_with};
use crate::distinct::NamedFiles;
use crate::{html, output};
use page::PlanPage;
use printing::{print, print_clocks};

pub(crate) use system::link_fact;

#[derive(Serialize)]
struct Report<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    front: Vec<Point>,
    /// Over clocks, if they were chosen as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    clocked_front: Vec<ClockedPoint>,
    schedule: &'a ScheduleDocument,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    algorithms: Vec<AlgorithmPoint>,
    /// Engines that no schedule of the network uses, with what they could save at most.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out_engines: Vec<LeftOutEngine>,
}

fn named_files(command: &ScheduleCommand) -> NamedFiles {
    let files = NamedFiles::default().reads_models(command.models.iter().map(String::as_str));
    let files = command.board.named(files).reads_inputs(&command.inputs.inputs);
    let files = files.reads("--profile", command.profile.as_deref()).reads("--cost", command.cost.as_deref());
    let files = files.reads("--system", command.system.as_deref());
    files
        .writes("--output", [command.output.as_path()])
        .writes("--certificate", command.certificate.as_deref())
        .writes("--html", command.html.as_deref())
}

pub(crate) fn run(command: &ScheduleCommand) -> Result<()> {
    named_files(command).check()?;
    files::check_writable(&command.output)?;
    command.html.iter().try_for_each(|path| files::check_writable(path))?;
    published::check(command)?;
    limits::check(command)?;
    if let Some(path) = &command.system {
        return system::schedule(command, path);
    }
    let machine = command.board.machine()?;
    let machine = match command.costs() {
        Some(costs) => costs.machine(&machine)?,
        None => machine,
    };
    if command.models.len() > 1 {
        command.inputs.check_only_network(command.models.len())?;
        if command.certificate.is_some() {
            bail!("a certificate is of one network: leave --certificate out");
        }
        return shared::schedule(command, &machine);
    }
    schedule_one(command, &machine)
}

/// Plans for one network, at all sizes that are asked for.
fn schedule_one(command: &ScheduleCommand, machine: &Machine) -> Result<()> {
    let model = command.models.first().map_or(DEFAULT_MODEL, String::as_str);
    let options = command.dimensions.all_read_options()?;
    let networks: Vec<Network> =
        options.into_iter().map(|options| Network::open(model, options)).collect::<Result<_, _>>()?;
    command.inputs.check_only_network(networks.len())?;
    let has_sizes = networks.len() > 1;
    if let Some(certificate) = &command.certificate {
        if has_sizes {
            bail!("a certificate is of one schedule: give --dim one size each, or leave --certificate out");
        }
        files::check_writable(certificate)?;
    }

    let mut planned: Vec<OnePlan> = Vec::new();
    for network in networks {
        let network = network.with_inputs(&command.inputs.inputs())?;
        if has_sizes && !command.json {
            output::line(format!("{}--- {} ---", if planned.is_empty() { "" } else { "\n" }, network.sizes()));
        }
        let mut network_plan = match (command.algorithm, command.algorithm.published()) {
            (_, Some(algorithm)) => published::plan_one(command, algorithm, &network, machine)?,
            (Algorithm::All, _) => published::plan_all(command, &network, machine)?,
            _ => plan_one(command, &network, machine)?,
        };
        if let Some(chapter) = network_plan.chapter.as_mut().filter(|_| has_sizes) {
            chapter.title = format!("{} ({})", chapter.title, network.sizes());
        }
        planned.push(network_plan);
    }
    write(command, machine, planned, has_sizes)
}

/// Writes the schedules, and the page and the JSON where they are asked for.
fn write(command: &ScheduleCommand, machine: &Machine, mut planned: Vec<OnePlan>, has_sizes: bool) -> Result<()> {
    let chapters = planned.iter_mut().filter_map(|network_plan| network_plan.chapter.take()).collect();
    let documents: Vec<ScheduleDocument> = planned.iter().map(|network_plan| network_plan.document.clone()).collect();
    let text = match documents.as_slice() {
        [only] if !has_sizes => files::to_json(only)?,
        plans => files::to_json(&SizesDocument::new(plans.to_vec()))?,
    };
    files::write(&command.output, &text)?;
    if command.json {
        match (documents.as_slice(), planned.pop()) {
            ([schedule], Some(OnePlan { front, clocked_front, algorithms, left_out_engines, .. })) if !has_sizes => {
                output::json(&Report { front, clocked_front, schedule, algorithms, left_out_engines })?;
            }
            _ => output::json(&documents)?,
        }
    }
    output::remark(format!("wrote {}; {}", command.output.display(), command.next_command(Some(machine))));
    if let Some(path) = &command.html {
        html::write(path, "What was planned", chapters)?;
    }
    Ok(())
}

/// Plans for one network at one size, and shows what was found.
fn plan_one(command: &ScheduleCommand, network: &Network, machine: &Machine) -> Result<OnePlan> {
    let (aim, costs) = (command.aim(), command.costs());
    if command.cost.is_some() && !command.clocks {
        warn_of_unpredictable(network);
    }
    let left_out_engines = LeftOutEngines::default();
    let control = control_with(&left_out_engines);
    let planned = if command.clocks {
        plan_with_clocks(machine, network, &aim, costs.unwrap_or(millstream::CostSource::Cached), &control)
    } else {
        plan(machine, network, &aim, command.on(), &control)
    };
    let Planned { plans, plan: chosen, schedule, document, clocked_front } =
        limits::explain_missed(planned, aim.margin)?;
    if let Some(path) = &command.certificate {
        files::write(path, &files::to_json(&plans.certificate(&document, network, machine.board())?)?)?;
        output::remark(format!("wrote {}; {}", path.display(), command.certify_command(path)));
    }

    let front = front_rows(&plans, &chosen, command.objective);
    if !command.json {
        if let Some(front) = &clocked_front {
            print_clocks(network, machine.board(), front);
        }
        print(network, machine.board(), &front, &schedule, &document, &plans);
    }

    let bound = bound(&document, &plans);
    let left_out_engines = left_out_engines.all();
    let page = PlanPage {
        network,
        board: machine.board(),
        schedule: &schedule,
        document: &document,
        front: &front,
        costs: Some(&plans.table),
        bound: &bound,
        left_out_engines: &left_out_engines,
    };
    let chapter = command.html.is_some().then(|| page.chapter(Vec::new()));
    let clocked_front = clocked_front.unwrap_or_default().into_iter().map(ClockedPoint::of).collect();
    let front = front.into_iter().map(Point::of).collect();
    Ok(OnePlan { document, front, clocked_front, algorithms: Vec::new(), left_out_engines, chapter })
}
