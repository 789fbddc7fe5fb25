use std::path::Path;

use anyhow::{Context, Result, bail};
use millstream_backend_ort::Environment;
use millstream_board::Board;
use millstream_predict::{Conditions, Profile};
use millstream_report::{Align, Table, milliseconds, percent};

use crate::arguments::ProfileCommand;
use crate::backends::Backends;
use crate::model::{Network, sources};
use crate::{files, machine, output, profiling, sweeping};

pub(crate) fn run(command: &ProfileCommand) -> Result<()> {
    files::check_writable(&command.output)?;
    let board = machine::board(command.board.board.as_deref())?;
    machine::check_usable(&board)?;
    let sources = sources(&command.models);
    command.inputs.check_only_network(sources.len())?;
    let load = |source: &String| Network::load(source, &command.dimensions)?.with_inputs(&command.inputs);
    let networks: Vec<Network> = sources.iter().map(load).collect::<Result<_>>()?;
    if networks.is_empty() && command.no_sweep {
        bail!("nothing to measure: --no-sweep leaves only the models given with --model");
    }
    let mut profile = start(command, &board)?;
    let is_complete = measure(command, &board, &networks, &mut profile)?;
    files::write(&command.output, &profiling::to_json(&profile)?)?;
    if !is_complete {
        bail!(
            "interrupted; {} has what was measured so far: the same command with --resume goes on from there",
            command.output.display()
        );
    }
    if command.json {
        output::json(&profile)?;
    } else {
        output::line(summary(&profile));
    }
    output::remark(format!("wrote {}", command.output.display()));
    Ok(())
}

/// An empty profile, or with `--resume` the one that is there.
fn start(command: &ProfileCommand, board: &Board) -> Result<Profile> {
    let path: &Path = &command.output;
    if !(command.resume && path.exists()) {
        return Ok(Profile::new(board, profiling::provenance()));
    }
    let read = |path: &Path| -> Result<Profile> {
        let profile = Profile::from_json(&files::read(path)?)?;
        profile.check_board(board)?;
        Ok(profile)
    };
    read(path).with_context(|| format!("can't resume from {}", path.display()))
}

/// Returns whether everything was measured.
fn measure(command: &ProfileCommand, board: &Board, networks: &[Network], profile: &mut Profile) -> Result<bool> {
    let environment = Environment::load()?;
    let parts = u32::from(!command.no_sweep) + u32::try_from(networks.len()).unwrap_or(u32::MAX);
    let budget = command.budget.0 / parts.max(1);
    for network in networks {
        let backends = Backends::open(board, &network.model, Some(profile))?;
        if !profiling::add_network(profile, network, board, &backends, budget)? {
            return Ok(false);
        }
        profiling::cache(&profiling::only(profile, network), network, board);
    }
    Ok(command.no_sweep || sweeping::add_sweep(profile, board, &environment, budget)?)
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
                whole.map_or("-".to_owned(), |whole| percent(whole.time.mad_seconds / whole.time.median_seconds)),
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
                format!("sweep ({} networks)", swept.len()),
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
fn worst(conditions: impl Iterator<Item = Conditions>) -> Conditions {
    conditions.fold(Conditions::default(), |worst, one| Conditions {
        steal_fraction: worst.steal_fraction.max(one.steal_fraction),
        other_load: worst.other_load.max(one.other_load),
        hertz: None,
    })
}
