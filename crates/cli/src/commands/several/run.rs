use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use millstream_report::{Align, Table, milliseconds, percent};
use millstream_runtime::{Engine, EngineOptions};
use serde::Serialize;

use super::{Loaded, load};
use crate::arguments::RunCommand;
use crate::backends::Backends;
use crate::commands::run::{frames, measured_period, start, warm_up};
use crate::reference::Reference;
use crate::{interrupt, machine, output, profiling};

/// Rounds that a network may be ahead of the others that take turns with it, and how often it looks whether it is.
const MOST_AHEAD: f64 = 1.0;
const TURN: Duration = Duration::from_micros(200);

#[derive(Serialize)]
struct NetworkReport {
    network: String,
    configuration: String,
    frames: usize,
    predicted_period_seconds: f64,
    measured_period_seconds: Option<f64>,
    predicted_latency_seconds: f64,
    measured_latency_seconds: f64,
    deadline_seconds: Option<f64>,
    largest_difference: f32,
}

/// Streams frames of every network at once, and checks all results.
pub(crate) fn run(command: &RunCommand) -> Result<()> {
    if command.adaptive || command.trace.is_some() {
        bail!("several networks run without --adaptive and --trace");
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
        let engine = start(&own.network, &board, &own.schedule, &backend, &options)?;
        let first = warm_up(&engine, &reference)?;
        running.push((engine, reference, first));
    }
    // All go on until the slowest has had enough frames, so that everybody is measured beside all the others.
    let counts: Vec<AtomicU64> = running.iter().map(|_| AtomicU64::new(0)).collect();
    // A network that fails ends the others as well.
    let has_failed = AtomicBool::new(false);
    let begin = Instant::now();
    let streamed = std::thread::scope(|scope| {
        let stream = |index: usize| {
            let (engine, reference, first) = &running[index];
            let counts = &counts;
            let (loaded, has_failed) = (&loaded, &has_failed);
            let is_enough = move |count: u64| {
                counts[index].store(count, Ordering::Relaxed);
                let is_enough = || match command.duration {
                    Some(duration) => begin.elapsed() >= duration.0,
                    None => counts.iter().all(|own| own.load(Ordering::Relaxed) >= command.frames),
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
                let streamed = frames(engine, reference, is_enough, *first);
                has_failed.fetch_or(streamed.is_err(), Ordering::Relaxed);
                streamed
            })
        };
        let threads: Vec<_> = (0..running.len()).map(stream).collect();
        threads
            .into_iter()
            .map(|own| own.join().map_err(|_| anyhow::anyhow!("a network's thread panicked"))?)
            .collect::<Result<Vec<_>>>()
    })?;
    let mut reports = Vec::new();
    for ((own, (engine, ..)), (results, largest_difference)) in loaded.iter().zip(&running).zip(&streamed) {
        let predicted = &own.document.predicted;
        reports.push(NetworkReport {
            network: own.network.name().to_owned(),
            configuration: own.document.configuration.clone(),
            frames: results.len(),
            predicted_period_seconds: own.expected_period_seconds,
            measured_period_seconds: measured_period(results, own.schedule.processors().count()),
            predicted_latency_seconds: predicted.latency_seconds,
            measured_latency_seconds: engine.metrics().iter().map(|stage| stage.slowest_mean().as_secs_f64()).sum(),
            deadline_seconds: own.deadline_seconds,
            largest_difference: *largest_difference,
        });
    }
    if command.json {
        return output::json(&reports);
    }
    print_run(&reports, &loaded);
    Ok(())
}

fn print_run(reports: &[NetworkReport], loaded: &[Loaded]) {
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
    let largest = reports.iter().map(|report| report.largest_difference).fold(0.0, f32::max);
    let frames: usize = reports.iter().map(|report| report.frames).sum();
    output::line(format!(
        "Results: {frames} frames checked against sequential inference, largest difference {largest:.1e} of the largest element"
    ));
    for report in
        reports.iter().filter(|own| own.deadline_seconds.is_some_and(|most| own.measured_latency_seconds > most))
    {
        output::line(format!("Missed:  {} takes longer than its deadline", report.network));
    }
}
