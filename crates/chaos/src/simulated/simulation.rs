//! Runs the scenario of one seed: frames go in, results come out, schedules are replaced, faults happen, the engine is
//! dropped.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use millstream_backend::{Backend, Tensor};
use millstream_runtime::Engine;
use millstream_runtime::model::{JoinHandle, fail_spawn, living, now, sleep, spawn};
use millstream_schedule::Schedule;

use super::backend::Faulty;
use super::faults::{LONGEST_PREPARATION, LONGEST_STUCK, Plan};
use super::lock::lock;
use super::network::Network;
use super::scenario::Scenario;
use super::schedules::threads;
use crate::simulated::record::Record;

/// The longest pause before a replica that was lost too often is prepared again; and then some, for what else went
/// wrong.
const LONGEST_ABSENCE: Duration = Duration::from_secs(70);
/// Frames without faults, when all is over.
const LAST_FRAMES: u64 = 5;

struct Stage {
    engine: Arc<Engine>,
    network: Arc<Network>,
    record: Arc<Mutex<Record>>,
    next: Arc<AtomicU64>,
    plan: Arc<Plan>,
}

/// Runs a scenario to its end. Must be called in a simulation.
pub(crate) fn play(scenario: &Scenario, plan: &Arc<Plan>, record: &Arc<Mutex<Record>>) {
    let network = Arc::clone(&scenario.network);
    let backend: Arc<dyn Backend> = Arc::new(Faulty { network: Arc::clone(&network), plan: Arc::clone(plan) });
    scenario.spawns.into_iter().for_each(fail_spawn);
    let (graph, options) = (&network.graph, &scenario.options);
    let engine = match &scenario.fallback {
        Some(fallback) => Engine::with_fallback(graph, &scenario.first, fallback, &[backend], options),
        None => Engine::new(graph, &scenario.first, &[backend], options),
    };
    let engine = match engine {
        Ok(engine) => Arc::new(engine),
        Err(error) => return lock(record).did_not_start = Some(error),
    };
    let stage = Stage { engine, network, record: Arc::clone(record), next: Arc::default(), plan: Arc::clone(plan) };
    match scenario.dropped_after {
        Some(received) => stage.stream_a_part(scenario.frames, received),
        None => stage.stream(scenario),
    }
    let Ok(engine) = Arc::try_unwrap(stage.engine).map_err(|_| ()) else {
        return lock(record).violations.push("somebody still has the engine".to_owned());
    };
    lock(record).warnings = engine.warnings();
    let start = now();
    drop(engine);
    lock(record).time_to_drop = now().duration_since(start);
}

impl Stage {
    /// Everything is answered.
    fn stream(&self, scenario: &Scenario) {
        let mut threads: Vec<JoinHandle<()>> =
            (0..scenario.submitters).map(|_| self.submitter(scenario.frames)).collect();
        threads.push(self.planner(scenario.later.clone()));
        let receiver = self.receiver(scenario.frames);
        for thread in threads.into_iter().chain([receiver]) {
            if thread.join().is_err() {
                lock(&self.record).violations.push("a caller panicked".to_owned());
            }
        }
        if self.engine.recv().is_some() {
            lock(&self.record).violations.push("a frame was answered twice".to_owned());
        }
        // Whoever was stuck has come to an end by then, and whoever was lost is there again.
        let stuck = u32::try_from(self.plan.state().stuck_preparations()).unwrap_or(u32::MAX);
        sleep(LONGEST_PREPARATION * stuck + LONGEST_ABSENCE + LONGEST_STUCK);
        let of_schedule = self.engine.schedule().map_or(0, |schedule| super::schedules::threads(&schedule));
        let others =
            scenario.fallback.as_ref().map_or(0, threads_of) + usize::from(scenario.options.frame_timeout.is_some());
        lock(&self.record).at_rest = Some((living(), 1 + of_schedule + others));
        self.work_again(scenario.frames);
    }

    /// Whatever happened, frames come through again at last.
    fn work_again(&self, frames: u64) {
        for number in frames..frames + LAST_FRAMES {
            let submitted = self.engine.submit(self.network.frame(number));
            let result = self.engine.recv();
            let outcome = result.map(|result| result.outcome);
            let outputs = outcome.as_ref().and_then(|outcome| outcome.as_ref().ok());
            let found: Option<Vec<_>> = outputs.map(|outputs| outputs.iter().map(Tensor::as_f32).collect());
            let expected = self.network.expected(number);
            let is_right = found.is_some_and(|found| {
                found == expected.iter().map(|output| Some(output.as_slice())).collect::<Vec<_>>()
            });
            // It may be the first one since another replica lost the device.
            let met_lost_device = self.plan.state().collateral.contains(&number);
            if submitted.is_err() || !is_right && !met_lost_device {
                let warnings = self.engine.warnings();
                lock(&self.record).violations.push(format!("frame {number} after all: {outcome:?}; {warnings:?}"));
            }
        }
    }

    /// So many are received, the others are still on their way.
    fn stream_a_part(&self, frames: u64, received: u64) {
        let mut room = true;
        let mut taken = 0;
        while taken < received || room {
            if room && self.next.load(Ordering::SeqCst) < frames {
                let number = self.next.fetch_add(1, Ordering::SeqCst);
                match self.engine.try_submit(self.network.frame(number)) {
                    Ok(Ok(sequence)) => lock(&self.record).numbers.push((sequence, number)),
                    Ok(Err(_)) => {
                        self.next.fetch_sub(1, Ordering::SeqCst);
                        room = false;
                    }
                    Err(error) => return lock(&self.record).violations.push(format!("not submitted: {error}")),
                }
            } else if taken < received {
                room = true;
                taken += 1;
                let result = self.engine.recv();
                lock(&self.record).results.extend(result);
            } else {
                room = false;
            }
        }
    }

    fn submitter(&self, frames: u64) -> JoinHandle<()> {
        let (engine, network) = (Arc::clone(&self.engine), Arc::clone(&self.network));
        let (record, next) = (Arc::clone(&self.record), Arc::clone(&self.next));
        spawn("submitter", move || {
            loop {
                let number = next.fetch_add(1, Ordering::SeqCst);
                if number >= frames {
                    return;
                }
                match engine.submit(network.frame(number)) {
                    Ok(sequence) => lock(&record).numbers.push((sequence, number)),
                    Err(error) => return lock(&record).violations.push(format!("not submitted: {error}")),
                }
            }
        })
    }

    fn receiver(&self, frames: u64) -> JoinHandle<()> {
        let (engine, record) = (Arc::clone(&self.engine), Arc::clone(&self.record));
        spawn("receiver", move || {
            let mut received = 0;
            while received < frames {
                match engine.recv() {
                    Some(result) => {
                        received += 1;
                        lock(&record).results.push(result);
                    }
                    None => sleep(Duration::from_millis(1)),
                }
            }
        })
    }

    fn planner(&self, later: Vec<(Duration, Schedule)>) -> JoinHandle<()> {
        let (engine, record, plan) = (Arc::clone(&self.engine), Arc::clone(&self.record), Arc::clone(&self.plan));
        spawn("planner", move || {
            let mut last: Option<(Schedule, usize)> = None;
            for (pause, schedule) in later {
                sleep(pause);
                check_current(&engine, &plan, &record, last.take());
                let before = plan.state().so_far();
                match engine.reschedule(&schedule) {
                    Ok(()) => {
                        lock(&record).replaced += 1;
                        last = Some((schedule, before));
                    }
                    Err(error) => lock(&record).refused.push(error),
                }
            }
            // Whatever befell frames of earlier schedules has been dealt with by then.
            sleep(Duration::from_secs(1));
            check_current(&engine, &plan, &record, last);
        })
    }
}

/// What was set last is what runs, unless something happened since that may have cost it a stage.
fn check_current(engine: &Engine, plan: &Plan, record: &Mutex<Record>, last: Option<(Schedule, usize)>) {
    let Some((schedule, before)) = last else { return };
    let current = engine.schedule();
    if plan.state().so_far() == before && current.is_ok_and(|current| current != schedule) {
        lock(record).violations.push("another schedule runs than the one that was set".to_owned());
    }
}

fn threads_of(schedule: &Schedule) -> usize {
    threads(schedule)
}
