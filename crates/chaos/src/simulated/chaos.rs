//! Seed after seed, each a random scenario.

use std::collections::BTreeMap;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use millstream_runtime::model::{SleepingScheduler, panics, standstill};
use millstream_runtime::{FrameError, FrameResult};
use shuttle::scheduler::RandomScheduler;
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

use super::backend::DROPPING;
use super::faults::{Plan, State};
use super::network::Network;
use super::scenario::Scenario;
use super::simulation::play;
use super::verdict::judge;
use crate::simulated::expectation::Expectation;
use crate::simulated::record::Record;

const STACK: usize = 256 << 10;
/// More steps than this are a scenario without an end.
const MOST_STEPS: usize = 50_000_000;

pub(crate) struct Request {
    pub(crate) from: u64,
    pub(crate) seeds: u64,
    pub(crate) frames: u64,
}

/// Counts over all scenarios.
#[derive(Default)]
struct Total {
    answered: u64,
    succeeded: u64,
    /// Frames without a fault of their own: of stages that were lost too often, and on a device that another frame had
    /// lost.
    lost: u64,
    collateral: usize,
    replaced: usize,
    faults: BTreeMap<String, usize>,
}

/// How the simulation's tasks are set up.
pub(crate) fn config() -> Config {
    let mut config = Config::new();
    config.stack_size = STACK;
    config.failure_persistence = FailurePersistence::None;
    config.max_steps = MaxSteps::FailAfter(MOST_STEPS);
    config.silence_warnings = true;
    config
}

/// Runs the scenarios of these seeds; the first one that goes wrong is an error that says how to repeat it.
pub(crate) fn chaos(request: &Request) -> Result<(), String> {
    let start = Instant::now();
    let mut total = Total::default();
    for seed in request.from..request.from + request.seeds {
        let mut log = Vec::new();
        let wrong = run_scenario(seed, request.frames, &mut total, &mut log);
        if !wrong.is_empty() {
            println!("{}", log.join("\n"));
            let again = format!("cargo xtask chaos --from {seed} --seeds 1 --frames {}", request.frames);
            return Err(format!("seed {seed}:\n  {}\nagain: {again}", wrong.join("\n  ")));
        }
        if (seed + 1 - request.from).is_multiple_of(100) || seed + 1 == request.from + request.seeds {
            report(seed + 1 - request.from, seed + 1, &total, start);
        }
    }
    Ok(())
}

fn report(seeds: u64, next: u64, total: &Total, start: Instant) {
    let seconds = start.elapsed().as_secs_f64();
    let faults: usize = total.faults.values().sum();
    let kinds: Vec<String> = total.faults.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    println!(
        "{seeds} seeds (next: --from {next}), {} frames answered, {} of them with results, {faults} faults ({}), {} frames of stages \
         that were lost too often, {} on a device that another one had lost, {} schedules replaced, {seconds:.1} s, {:.0} frames/s",
        total.answered,
        total.succeeded,
        kinds.join(", "),
        total.lost,
        total.collateral,
        total.replaced,
        total.answered as f64 / seconds,
    );
    let _ = std::io::stdout().flush();
}

/// Runs one scenario; returns what is wrong with it.
fn run_scenario(seed: u64, frames: u64, total: &mut Total, log: &mut Vec<String>) -> Vec<String> {
    let mut scenario = Scenario::new(seed, frames);
    log.push(scenario.describe());
    let network = Arc::clone(&scenario.network);
    let expectation = scenario.expectation();
    let (faults, prepares) = (std::mem::take(&mut scenario.faults), std::mem::take(&mut scenario.prepares));
    let plan = Arc::new(Plan::new(faults, prepares, &mut scenario.random));
    let record: Arc<Mutex<Record>> = Arc::default();

    let scenario = Mutex::new(Some(scenario));
    let (own_plan, own_record) = (Arc::clone(&plan), Arc::clone(&record));
    let once = move || {
        let scenario = scenario.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(scenario) = scenario {
            play(&scenario, &own_plan, &own_record);
        }
    };
    let runner = Runner::new(SleepingScheduler::new(RandomScheduler::new_from_seed(seed, 1)), config());
    let ran = catch_unwind(AssertUnwindSafe(|| runner.run(once)));

    let mut wrong: Vec<String> = standstill().map(|who| format!("nobody can go on: {who}")).into_iter().collect();
    if ran.is_err() {
        wrong.push("a panic or a scenario without an end".to_owned());
    }
    let state = plan.state();
    let record = record.lock().unwrap_or_else(PoisonError::into_inner);
    if wrong.is_empty() {
        wrong = verdict(&network, &expectation, &state, &record);
    }
    if !wrong.is_empty() {
        log.extend(failures(&record, &state));
    }

    total.answered += record.results.len() as u64;
    total.succeeded += record.results.iter().filter(|result| result.outcome.is_ok()).count() as u64;
    let is_lost = |result: &&FrameResult| matches!(result.outcome, Err(FrameError::Lost { .. }));
    total.lost += record.results.iter().filter(is_lost).count() as u64;
    total.collateral += state.collateral.len();
    total.replaced += record.replaced;
    for fault in state.happened.values() {
        *total.faults.entry(format!("{fault:?}")).or_default() += 1;
    }
    for fault in &state.prepares_failed {
        *total.faults.entry(format!("Prepare{fault:?}")).or_default() += 1;
    }
    wrong
}

/// Everything that is wrong with a scenario that came to its end. Must be called before another one begins.
pub(crate) fn verdict(network: &Network, expectation: &Expectation, state: &State, record: &Record) -> Vec<String> {
    let mut wrong = judge(network, expectation, state, record);
    wrong.extend(panics().into_iter().filter(|message| message != DROPPING));
    wrong
}

/// What frames failed with, and how long after the first one was received.
fn failures(record: &Record, state: &State) -> Vec<String> {
    let Some(first) = record.results.first() else { return Vec::new() };
    let mut numbers = record.numbers.clone();
    numbers.sort_unstable();
    let number = |sequence: u64| numbers.get(sequence as usize).map_or(0, |&(_, number)| number);
    let failed = record.results.iter().filter_map(|result| Some((result, result.outcome.as_ref().err()?)));
    let tell = |(result, error): (&FrameResult, &FrameError)| {
        let number = number(result.sequence);
        let (fault, time) = (state.happened.get(&number), result.received.duration_since(first.received));
        format!("{time:?}: frame {number} at {}, {fault:?}: {error}", result.sequence)
    };
    let warnings = record.warnings.iter().map(|warning| format!("warning: {warning}"));
    failed.map(tell).chain(warnings).collect()
}
