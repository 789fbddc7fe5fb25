//! An accelerator's measured phases as a part of cost models.

use std::path::Path;

use anyhow::{Context, Result};
use millstream::{Machine, files};
use millstream_board::Board;
use millstream_predict::published::{AcceleratorFit, Buffering, Coherence, FittedLine, Phases};
use millstream_predict::{CostModels, accelerator_of};
use millstream_report::{Align, Table};

use crate::arguments::{AcceleratorArguments, FitCommand};
use crate::output;

/// Adds an accelerator to cost models in a file.
pub(super) fn add_to_models(command: &FitCommand, base: &Path) -> Result<()> {
    let Some(phases) = &command.accelerator.phases else { return Ok(()) };
    files::check_writable(&command.output)?;
    let models = CostModels::from_json(&files::read(base)?).with_context(|| base.display().to_string())?;
    let (models, shown) = add(models, phases, &command.accelerator)?;
    files::write(&command.output, &files::to_json(&models)?)?;
    if command.json {
        output::json(&models)?;
    } else {
        output::line(shown);
    }
    output::remark(format!("wrote {}", command.output.display()));
    Ok(())
}

/// The models with the accelerator, and what to show of it.
pub(super) fn add(models: CostModels, path: &Path, arguments: &AcceleratorArguments) -> Result<(CostModels, String)> {
    let named = || path.display().to_string();
    let board = match &arguments.board {
        Some(path) => Machine::read(path)?.board().clone(),
        None => Board::try_from(models.board.clone())?,
    };
    let (label, processing_elements) = accelerator_of(&board, arguments.label.as_deref())?;
    let phases = Phases::from_csv(&files::read(path)?).with_context(named)?;
    let buffering = if arguments.double_buffering { Buffering::Double } else { Buffering::Single };
    let fitted = AcceleratorFit::to(&phases, processing_elements, buffering).with_context(named)?;
    let models = models.with_accelerator(&board, label, fitted.model)?;
    Ok((models, text(label, &fitted, phases.samples.len())))
}

fn text(label: &str, fitted: &AcceleratorFit, samples: usize) -> String {
    let coherence = match fitted.model.coherence {
        Coherence::Software => "caches flushed by software",
        Coherence::Interconnect => "caches kept coherent by the interconnect",
    };
    let overlap = match fitted.model.buffering {
        Buffering::Single => "one phase after the other",
        Buffering::Double => "transfers while it computes",
    };
    let elements = fitted.model.processing_elements;
    let mut text = format!(
        "Accelerator {label} by {samples} convolutions: {elements} processing elements,\n{coherence}, {overlap}\n\n{}",
        output::fitted(&table(&fitted.lines))
    );
    if let Some(error) = fitted.total_error {
        text += &format!("\n\nEquation 9's totals are {:.2} % off on average (MAPE).", 100.0 * error);
    }
    text
}

fn table(lines: &[FittedLine]) -> Table {
    let mut table = Table::new([
        ("eq.", Align::Right),
        ("phase", Align::Left),
        ("ns/element", Align::Right),
        ("+-", Align::Right),
        ("fixed us", Align::Right),
        ("+-", Align::Right),
        ("MAPE", Align::Right),
        ("left out", Align::Right),
    ]);
    for fitted in lines {
        let [slope_error, intercept_error] = fitted.standard_errors;
        let percent = |part: f64| format!("{:.2} %", 100.0 * part);
        table.row([
            fitted.equation.to_string(),
            fitted.phase.to_owned(),
            format!("{:.4}", 1e9 * fitted.line.slope),
            format!("{:.0e}", 1e9 * slope_error),
            format!("{:.4}", 1e6 * fitted.line.intercept),
            format!("{:.0e}", 1e6 * intercept_error),
            percent(fitted.error),
            fitted.unseen_error.map_or("-".to_owned(), percent),
        ]);
    }
    table
}
