use std::sync::Arc;

use anyhow::Result;
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_report::{Align, Table, milliseconds, percent};

use crate::arguments::{DEFAULT_MODEL, ProfileCommand};
use crate::model::Network;
use crate::{files, machine, output, profiling};

pub(crate) fn run(command: &ProfileCommand) -> Result<()> {
    files::check_writable(&command.output)?;
    let board = machine::board(command.board.board.as_deref())?;
    machine::check_usable(&board)?;
    let network = Network::load(command.model.model.as_deref().unwrap_or(DEFAULT_MODEL), &command.model.dimensions)?;
    let backend = OrtBackend::new(&Environment::load()?, Arc::clone(&network.model));
    let profile = profiling::make(&network, &board, &backend, command.budget.0)?;
    profiling::cache(&profile, &network, &board);
    files::write(&command.output, &profiling::to_json(&profile)?)?;
    if command.json {
        output::json(&profile)?;
    } else {
        let mut table = Table::new([
            ("processor", Align::Left),
            ("whole network ms", Align::Right),
            ("spread", Align::Right),
            ("batches", Align::Right),
            ("beside", Align::Right),
            ("samples", Align::Right),
        ]);
        let samples = || profile.networks.iter().flat_map(|network| &network.samples);
        for whole in samples().filter(|sample| sample.start == 0 && sample.end == network.chain.blocks().len()) {
            table.row([
                whole.processor.to_string(),
                milliseconds(whole.time.median_seconds),
                percent(whole.time.mad_seconds / whole.time.median_seconds),
                whole.time.repetitions.to_string(),
                (whole.concurrent - 1).to_string(),
                samples().filter(|sample| sample.processor == whole.processor).count().to_string(),
            ]);
        }
        output::line(table);
    }
    output::remark(format!("wrote {}", command.output.display()));
    Ok(())
}
