//! `calibrate`: cost models of a board from published measurements, and how well they fit.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use millstream::{Machine, Network, ReadOptions, files, provenance};
use millstream_predict::calibration::{CalibrationRow, MeasuredNetwork, Measurements, calibrate};
use millstream_report::{Align, Table, in_words, milliseconds};

use crate::arguments::CalibrateCommand;
use crate::output;

pub(crate) fn run(command: &CalibrateCommand) -> Result<()> {
    files::check_writable(&command.output)?;
    let machine = Machine::read(&command.board)?;
    let named = || command.measurements.display().to_string();
    let measurements = Measurements::from_json(&files::read(&command.measurements)?).with_context(named)?;

    let models: BTreeSet<&str> = measurements.throughputs.iter().map(|throughput| throughput.model.as_str()).collect();
    let known: Vec<&str> =
        models.into_iter().filter(|model| millstream_zoo::names().any(|name| name == *model)).collect();
    let open = |model: &&str| Network::open(&format!("zoo:{model}"), ReadOptions::default());
    let networks: Vec<Network> = known.iter().map(open).collect::<Result<_, _>>()?;
    let measured: Vec<MeasuredNetwork<'_>> = known
        .iter()
        .zip(&networks)
        .map(|(&name, network)| MeasuredNetwork {
            name,
            digest: network.digest(),
            graph: network.graph(),
            chain: network.chain(),
        })
        .collect();

    let calibration = calibrate(machine.board(), &measurements, &measured, provenance()).with_context(named)?;
    files::write(&command.output, &files::to_json(&calibration.models)?)?;
    if command.json {
        output::json(&calibration.rows)?;
    } else {
        print(&calibration.rows, &measurements);
    }
    output::remark(format!(
        "wrote {}; schedule on this board with: cargo xtask schedule --board {} --cost {0}",
        command.output.display(),
        command.board.display()
    ));
    Ok(())
}

fn print(rows: &[CalibrationRow], measurements: &Measurements) {
    if !rows.is_empty() {
        let mut table = Table::new([
            ("network", Align::Left),
            ("processor", Align::Left),
            ("measured ms", Align::Right),
            ("model ms", Align::Right),
            ("that is", Align::Right),
            ("of a model without it", Align::Right),
        ]);
        for row in rows {
            let error = |seconds: f64| in_words(seconds / row.measured_seconds - 1.0, ["too long", "too short"]);
            table.row([
                row.model.clone(),
                row.processor.to_string(),
                milliseconds(row.measured_seconds),
                milliseconds(row.fitted_seconds),
                error(row.fitted_seconds),
                row.unseen_seconds.map_or("-".to_owned(), error),
            ]);
        }

        output::table(&table);
        let errors = |of: fn(&CalibrationRow) -> Option<f64>| {
            let mut errors: Vec<f64> =
                rows.iter().filter_map(|row| Some((of(row)? / row.measured_seconds - 1.0).abs())).collect();
            errors.sort_by(f64::total_cmp);
            errors.get(errors.len() / 2).map_or("-".to_owned(), |median| format!("{:.0} %", 100.0 * median))
        };
        output::line(format!(
            "\nMedian error {}, of networks that were left out of the fit {}. Networks that are in the table get a factor of their own \
             and take what was measured.",
            errors(|row| Some(row.fitted_seconds)),
            errors(|row| row.unseen_seconds)
        ));
    }

    for stated in &measurements.stated {
        output::line(format!("{}: {}", stated.label, stated.source));
    }
}
