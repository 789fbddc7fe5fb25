use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use millstream_report::{Align, Table, milliseconds, percent};
use millstream_runtime::{Engine, EngineOptions};

use super::{Loaded, load};
use crate::arguments::RunCommand;
use crate::backends::Backends;
use crate::commands::run::report::NetworkRun;
use crate::commands::run::sink::Sink;
use crate::commands::run::supply::stream;
use crate::commands::run::{Stream, USUAL_FRAMES, report, start as start_engine, summary, warm_up};
use crate::reference::Reference;
use crate::{interrupt, machine, output, profiling};

/// Rounds that a network may be ahead of the others that take turns with it, and how often it looks whether it is.
const MOST_AHEAD: f64 = 1.0;
const TURN: Duration = Duration::from_micros(200);

/// Streams frames of every network at once, and checks all results.
pub(crate) fn run(command: &RunCommand) -> Result<()> {
    let has_results = !command.inputs.inputs.is_empty() || command.output.is_some() || command.csv.is_some();
    if command.adaptive || command.trace.is_some() || command.frame_rate.is_some() || command.operators || has_results {
        bail!(
            "several networks run without --adaptive, --trace, --frame-rate, --operators, --input, --output, --expect and --csv"
        );
    }
    let (board, loaded) = load(&command.scheduled)?;
    machine::check_usable(&board)?;
    interrupt::listen();
    let options = EngineOptions {
        frames_in_flight: command.in_flight.map(|count| count as usize),
        takes_over: true,
        ..EngineOptions::default()
    };
    let mut running: Vec<(Engine, Reference, u64)> = Vec::new();
    for own in &loaded {
        let profile = profiling::cached(&own.network, &board);
        let backends = Backends::open(&board, &own.network.model, profile.as_ref())?;
        profile.map(|profile| backends.choose_threads(&own.network, &board, &profile)).transpose()?;
        let backend = Arc::clone(&backends.all);
        let reference = Reference::new(&own.network, &backend, &board)?;
        let engine = start_engine(&own.network, &board, &own.schedule, &backend, &options)?;
        let first = warm_up(&engine, &reference, command.warm_up)?;
        running.push((engine, reference, first));
    }
    // All go on until the slowest has had enough frames, so that everybody is measured beside all the others.
    let counts: Vec<AtomicU64> = running.iter().map(|_| AtomicU64::new(0)).collect();
    let wanted = command.frames.unwrap_or(USUAL_FRAMES);
    // A network that fails ends the others as well.
    let has_failed = AtomicBool::new(false);
    let begin = Instant::now();
    let streamed = std::thread::scope(|scope| {
        let start = |index: usize| {
            let (engine, reference, first) = &running[index];
            let counts = &counts;
            let (loaded, has_failed) = (&loaded, &has_failed);
            let is_enough = move |count: u64| {
                counts[index].store(count, Ordering::Relaxed);
                let is_enough = || match command.duration {
                    Some(duration) => begin.elapsed() >= duration.0,
                    None => counts.iter().all(|own| own.load(Ordering::Relaxed) >= wanted),
                };
                let is_over = || has_failed.load(Ordering::Relaxed) || is_enough();
                // Who takes turns lets the others keep up, so that frames pass as the weights say.
                let rounds = |(own, count): (&Loaded, &AtomicU64)| count.load(Ordering::Relaxed) as f64 / own.weight;
                let own_rounds = count as f64 / loaded[index].weight;
                let is_ahead = || {
                    let least = loaded.iter().zip(counts).map(rounds).fold(f64::INFINITY, f64::min);
                    own_rounds > least + MOST_AHEAD
                };
                while loaded[index].takes_turns && is_ahead() && !is_over() && !interrupt::requested() {
                    std::thread::sleep(TURN);
                }
                is_over()
            };
            scope.spawn(move || {
                let mut sink = Sink::new(reference);
                let streamed = stream(engine, reference, is_enough, *first, &mut sink);
                has_failed.fetch_or(streamed.is_err(), Ordering::Relaxed);
                streamed.map(|()| sink)
            })
        };
        let threads: Vec<_> = (0..running.len()).map(start).collect();
        threads
            .into_iter()
            .map(|own| own.join().map_err(|_| anyhow::anyhow!("a network's thread panicked"))?)
            .collect::<Result<Vec<_>>>()
    })?;
    let mut reports = Vec::new();
    for ((own, (engine, ..)), sink) in loaded.iter().zip(&running).zip(streamed) {
        let stream = Stream {
            sink,
            metrics: engine.metrics(),
            events: Vec::new(),
            warnings: engine.warnings(),
            watts: None,
            // A network's own deadline goes before the one that holds for all.
            deadline_seconds: own.deadline_seconds.or(command.deadline_seconds()),
        };
        let period = own.expected_period_seconds;
        reports.push(summary(&own.document, &own.schedule, &own.network, &stream, command, period));
    }
    if command.json {
        return output::json(&report(reports));
    }
    print_run(&reports, &loaded);
    Ok(())
}

fn print_run(reports: &[NetworkRun], loaded: &[Loaded]) {
    let mut table = Table::new([
        ("network", Align::Left),
        ("stages", Align::Left),
        ("frames", Align::Right),
        ("frames/s", Align::Right),
        ("predicted", Align::Right),
        ("error", Align::Right),
        ("latency ms", Align::Right),
        ("alone, predicted", Align::Right),
        ("deadline ms", Align::Right),
    ]);
    for report in reports {
        let period = report.measured_period_seconds.unwrap_or(f64::NAN);
        table.row([
            report.network.clone(),
            report.configuration.clone(),
            report.frames.to_string(),
            format!("{:.1}", 1.0 / period),
            format!("{:.1}", 1.0 / report.predicted_period_seconds),
            percent(report.predicted_period_seconds / period - 1.0),
            milliseconds(report.measured_latency_seconds),
            milliseconds(report.predicted_latency_seconds),
            report.deadline_seconds.map_or("-".to_owned(), milliseconds),
        ]);
    }
    output::line(table);
    let rounds = reports
        .iter()
        .zip(loaded)
        .filter_map(|(report, own)| Some(1.0 / (report.measured_period_seconds? * own.weight)));
    output::line(format!("\nRounds:  {:.2} a second measured", rounds.fold(f64::INFINITY, f64::min)));
    let largest = reports.iter().map(|report| report.largest_difference).fold(0.0, f64::max);
    let frames: usize = reports.iter().map(|report| report.frames).sum();
    output::line(format!(
        "Results: {frames} frames checked against sequential inference, largest difference {largest:.1e} of the largest element"
    ));
    for report in reports {
        if let Some(missed @ 1..) = report.missed_deadlines {
            output::line(format!(
                "Missed:  {missed} of {} frames of {} came after the deadline",
                report.frames, report.network
            ));
        }
    }
}
