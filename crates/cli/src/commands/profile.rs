//! `profile`: measurements of networks and of the sweep, which can be resumed, and a summary of them.

use anyhow::{Context, Result, bail};
use millstream::{Machine, Network, files, read_profile};
use millstream_predict::Profile;
use millstream_predict::samples::SampleConditions;
use millstream_report::{Align, Table, milliseconds};

use crate::arguments::{ProfileCommand, sources};
use crate::control::control;
use crate::distinct::NamedFiles;
use crate::output;

fn named_files(command: &ProfileCommand) -> NamedFiles {
    let files = NamedFiles::default().reads_models(command.models.iter().map(String::as_str));
    command.board.named(files).reads_inputs(&command.inputs.inputs).writes("--output", [command.output.as_path()])
}

pub(crate) fn run(command: &ProfileCommand) -> Result<()> {
    named_files(command).check()?;
    files::check_writable(&command.output)?;
    let machine = command.board.machine()?;
    machine.check_usable()?;

    let sources = sources(&command.models);
    command.inputs.check_only_network(sources.len())?;
    let options = Network::options_of_each(&sources, &command.dimensions.read_options()?)?;
    let inputs = command.inputs.inputs();
    let open = |(source, options): (&String, _)| Network::open(source, options)?.with_inputs(&inputs);
    let networks: Vec<Network> = sources.iter().zip(options).map(open).collect::<Result<_, _>>()?;
    if networks.is_empty() && command.no_sweep {
        bail!("nothing to measure: --no-sweep leaves only the models given with --model");
    }

    let mut profile = start(command, &machine)?;
    let is_complete = machine.measure(&mut profile, &networks, !command.no_sweep, command.budget.0, &control())?;
    files::write(&command.output, &files::to_json(&profile)?)?;
    if !is_complete {
        bail!(
            "interrupted; {} has what was measured so far: the same command with --resume goes on from there",
            command.output.display()
        );
    }

    if command.json {
        output::json(&profile)?;
    } else {
        output::table(&summary(&profile));
    }
    output::remark(format!("wrote {}", command.output.display()));
    Ok(())
}

/// An empty profile, or with `--resume` the one that is there.
fn start(command: &ProfileCommand, machine: &Machine) -> Result<Profile> {
    let path = &command.output;
    if !(command.resume && path.exists()) {
        return Ok(machine.new_profile());
    }
    let context = || format!("can't resume from {}", path.display());
    let profile = read_profile(path).with_context(context)?;
    profile.check_board(machine.board()).with_context(context)?;
    Ok(profile)
}

fn summary(profile: &Profile) -> Table {
    let mut table = Table::new([
        ("network", Align::Left),
        ("processor", Align::Left),
        ("whole network ms", Align::Right),
        ("spread", Align::Right),
        ("segments", Align::Right),
        ("operators", Align::Right),
        ("steal", Align::Right),
        ("other load", Align::Right),
    ]);

    let (swept, given): (Vec<_>, Vec<_>) = profile.networks.iter().partition(|network| network.samples.is_empty());
    let classes = profile.classes();
    for network in given {
        for class in &classes {
            let samples: Vec<_> = network.samples.iter().filter(|sample| sample.processor == *class).collect();
            let whole = samples.iter().find(|sample| sample.start == 0 && sample.end == network.blocks.len());
            let operators = network.operator_samples.iter().filter(|sample| sample.processor == *class).count();
            let conditions = worst(samples.iter().map(|sample| sample.conditions));
            table.row([
                network.name.clone(),
                class.to_string(),
                whole.map_or("-".to_owned(), |whole| milliseconds(whole.time.median_seconds)),
                whole.map_or("-".to_owned(), |whole| {
                    format!("{:.1} %", 100.0 * whole.time.mad_seconds / whole.time.median_seconds)
                }),
                samples.len().to_string(),
                operators.to_string(),
                format!("{:.1} %", 100.0 * conditions.steal_fraction),
                format!("{:.1} %", 100.0 * conditions.other_load),
            ]);
        }
    }

    if !swept.is_empty() {
        for class in &classes {
            let samples = || {
                let samples = swept.iter().flat_map(|network| &network.operator_samples);
                samples.filter(|sample| sample.processor == *class)
            };
            let conditions = worst(samples().map(|sample| sample.conditions));
            table.row([
                format!("sweep ({} network{})", swept.len(), if swept.len() == 1 { "" } else { "s" }),
                class.to_string(),
                "-".to_owned(),
                "-".to_owned(),
                "0".to_owned(),
                samples().count().to_string(),
                format!("{:.1} %", 100.0 * conditions.steal_fraction),
                format!("{:.1} %", 100.0 * conditions.other_load),
            ]);
        }
    }
    table
}

/// The most that disturbed any of the samples.
fn worst(conditions: impl Iterator<Item = SampleConditions>) -> SampleConditions {
    conditions.fold(SampleConditions::default(), |worst, one| SampleConditions {
        steal_fraction: worst.steal_fraction.max(one.steal_fraction),
        other_load: worst.other_load.max(one.other_load),
        hertz: None,
        heat_throttled: worst.heat_throttled || one.heat_throttled,
    })
}
