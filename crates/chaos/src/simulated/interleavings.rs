//! Few frames, many orders: each part of the engine by itself, under schedulers that pick the next step at random, or
//! let one thread run as long as it can but for a few moments (PCT).

use std::collections::HashMap;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use millstream_runtime::EngineOptions;
use millstream_runtime::model::{SleepingScheduler, panics, sleepers, standstill};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use shuttle::Runner;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};

use super::callers::several_callers;
use super::chaos::{config, verdict};
use super::faults::{Fault, Plan};
use super::lock::lock;
use super::network::Network;
use super::scenario::{FRAME_TIMEOUT, Scenario};
use super::schedules::{one_team, schedule, with_device};
use super::simulation::play;
use crate::simulated::expectation::RESTARTS;
use crate::simulated::record::Record;

/// Orders of one set of circumstances.
const BATCH: u64 = 100;
/// Moments at which PCT lets another thread go on.
const DEPTH: usize = 4;

/// A part of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Model {
    Sleeper,
    Team,
    Generations,
    Results,
    Supervision,
}

pub(crate) const MODELS: [(&str, Model); 5] = [
    ("sleeper", Model::Sleeper),
    ("team", Model::Team),
    ("generations", Model::Generations),
    ("results", Model::Results),
    ("supervision", Model::Supervision),
];

/// Runs so many schedules of a model, from a batch on. The first one that goes wrong is an error that says how to see
/// it again.
pub(crate) fn interleavings(name: &str, model: Model, from: u64, schedules: u64) -> Result<(), String> {
    let start = Instant::now();
    for batch in from..from + schedules.div_ceil(BATCH) {
        let wrong: Arc<Mutex<Vec<String>>> = Arc::default();
        let once = once(model, batch, Arc::clone(&wrong));
        let ran = catch_unwind(AssertUnwindSafe(|| match batch % 2 {
            0 => run(RandomScheduler::new_from_seed(batch, BATCH as usize), once),
            _ => run(PctScheduler::new_from_seed(batch, DEPTH, BATCH as usize), once),
        }));
        let mut wrong = std::mem::take(&mut *lock(&wrong));
        wrong.extend(standstill().map(|who| format!("nobody can go on: {who}")));
        if ran.is_err() || !wrong.is_empty() {
            wrong.extend(panics());
            let again = format!("cargo xtask chaos --model {name} --from {batch} --schedules {BATCH}");
            return Err(format!("{name}, batch {batch}:\n  {}\nagain: {again}", wrong.join("\n  ")));
        }
    }
    let done = schedules.div_ceil(BATCH) * BATCH;
    let seconds = start.elapsed().as_secs_f64();
    println!("{name}: {done} schedules, {seconds:.1} s, {:.0} schedules/s", done as f64 / seconds);
    let _ = std::io::stdout().flush();
    Ok(())
}

fn run(scheduler: impl Scheduler + 'static, once: impl Fn() + Send + Sync + 'static) {
    Runner::new(SleepingScheduler::new(scheduler), config()).run(once);
}

/// One schedule of a batch. What is wrong goes to `wrong`, and the batch ends there.
fn once(model: Model, batch: u64, wrong: Arc<Mutex<Vec<String>>>) -> Box<dyn Fn() + Send + Sync> {
    match model {
        Model::Sleeper => Box::new(move || sleepers(1 + batch as usize % 3, 4)),
        Model::Results => Box::new(move || note(&wrong, several_callers(batch))),
        _ => {
            let scenario = Mutex::new(circumstances(model, batch));
            Box::new(move || {
                let scenario = lock(&scenario).clone();
                note(&wrong, told(scenario));
            })
        }
    }
}

fn note(wrong: &Mutex<Vec<String>>, found: Vec<String>) {
    let is_wrong = !found.is_empty();
    lock(wrong).extend(found);
    assert!(!is_wrong, "it went wrong");
}

fn told(mut scenario: Scenario) -> Vec<String> {
    let expectation = scenario.expectation();
    let network = Arc::clone(&scenario.network);
    let (faults, prepares) = (std::mem::take(&mut scenario.faults), std::mem::take(&mut scenario.prepares));
    let plan = Arc::new(Plan::new(faults, prepares, &mut scenario.random));
    let record: Arc<Mutex<Record>> = Arc::default();
    play(&scenario, &plan, &record);
    let record = lock(&record);
    verdict(&network, &expectation, &plan.state(), &record)
}

/// A small network, a few frames, and a fault or two.
fn circumstances(model: Model, batch: u64) -> Scenario {
    let mut random = ChaCha8Rng::seed_from_u64(batch);
    let network = Arc::new(Network::random(&mut random));
    let graph = Arc::clone(&network.graph);
    let frames = random.random_range(4..=8);
    let mut scenario = Scenario {
        options: EngineOptions::default().with_restarts(RESTARTS),
        first: schedule(&graph, &mut random),
        fallback: None,
        later: Vec::new(),
        frames,
        faults: HashMap::new(),
        prepares: HashMap::new(),
        spawns: None,
        submitters: 1,
        dropped_after: None,
        network,
        random: random.clone(),
    };

    let pause = |random: &mut ChaCha8Rng| Duration::from_micros(random.random_range(0..500));
    let kinds: &[Fault] = match model {
        Model::Team => {
            scenario.first = one_team(&graph, &mut random);
            scenario.options.takes_over = true;
            &[Fault::Error, Fault::Panic, Fault::Slow, Fault::TooFewValues]
        }
        Model::Generations => {
            scenario.first = with_device(&graph);
            scenario.fallback = Some(schedule(&graph, &mut random));
            scenario.later =
                (0..random.random_range(0..=2)).map(|_| (pause(&mut random), schedule(&graph, &mut random))).collect();
            scenario.options.frame_timeout = random.random_bool(0.5).then_some(FRAME_TIMEOUT);
            &[Fault::DeviceLost, Fault::Stuck]
        }
        _ => {
            scenario.options.frame_timeout = Some(FRAME_TIMEOUT);
            scenario.dropped_after = random.random_bool(0.5).then(|| random.random_range(0..frames));
            &[Fault::Panic, Fault::PanicAndAgainWhenDropped, Fault::Hang, Fault::Stuck, Fault::DeviceLost]
        }
    };

    let operators = graph.operators().len();
    for _ in 0..random.random_range(0..=2) {
        let fault = kinds[random.random_range(0..kinds.len())];
        scenario.faults.insert(random.random_range(0..frames), (random.random_range(0..operators), fault));
    }
    scenario
}
