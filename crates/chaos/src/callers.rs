//! Several threads that hand frames in and take results out of one engine.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use millstream_backend::Tensor;
use millstream_runtime::model::{JoinHandle, sleep, spawn};
use millstream_runtime::{Engine, EngineOptions, FrameResult};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::backend::Faulty;
use crate::faults::Plan;
use crate::network::Network;
use crate::schedules::schedule;

/// Frames of each thread.
const OWN: u64 = 3;

/// Two threads submit, a third one tries to, and two receive. Every frame must be answered once, each receiver's in order. Returns what is
/// wrong.
pub(crate) fn several_callers(seed: u64) -> Vec<String> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let network = Arc::new(Network::random(&mut random));
    let schedule = schedule(&network.graph, &mut random);
    let in_flight = random.random_range(1..=3);
    let options = EngineOptions {
        frames_in_flight: Some(in_flight),
        frames_outstanding: Some(random.random_range(1..=6)),
        ..EngineOptions::default()
    };
    let plan = Arc::new(Plan::new(Default::default(), Default::default(), &mut random));
    let backend = Arc::new(Faulty { network: Arc::clone(&network), plan });
    let engine = match Engine::new(&network.graph, &schedule, &[backend], &options) {
        Ok(engine) => Arc::new(engine),
        Err(error) => return vec![error.to_string()],
    };
    let numbers: Arc<Mutex<Vec<(u64, u64)>>> = Arc::default();
    let results: Arc<Mutex<Vec<FrameResult>>> = Arc::default();
    let wrong: Arc<Mutex<Vec<String>>> = Arc::default();
    let left = Arc::new(AtomicU64::new(3 * OWN));

    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for caller in 0..3 {
        let (engine, network, numbers) = (Arc::clone(&engine), Arc::clone(&network), Arc::clone(&numbers));
        threads.push(spawn("submitter", move || {
            for own in 0..OWN {
                let number = caller * OWN + own;
                let sequence = submit(&engine, network.frame(number), caller == 2);
                numbers.lock().unwrap_or_else(PoisonError::into_inner).extend(sequence.map(|it| (it, number)));
            }
        }));
    }
    for _ in 0..2 {
        let (engine, results, left, wrong) =
            (Arc::clone(&engine), Arc::clone(&results), Arc::clone(&left), Arc::clone(&wrong));
        threads.push(spawn("receiver", move || {
            let mut last = None;
            while left.load(Ordering::SeqCst) > 0 {
                let Some(result) = engine.recv() else {
                    sleep(Duration::from_micros(10));
                    continue;
                };
                left.fetch_sub(1, Ordering::SeqCst);
                if last.replace(result.sequence).is_some_and(|last| last >= result.sequence) {
                    wrong.lock().unwrap_or_else(PoisonError::into_inner).push("out of order".to_owned());
                }
                results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
            }
        }));
    }
    let mut found: Vec<String> = Vec::new();
    found.extend(threads.into_iter().filter_map(|thread| thread.join().err()).map(|_| "a caller panicked".to_owned()));
    found.extend(wrong.lock().unwrap_or_else(PoisonError::into_inner).drain(..));
    let (mut numbers, mut results) = (
        std::mem::take(&mut *numbers.lock().unwrap_or_else(PoisonError::into_inner)),
        std::mem::take(&mut *results.lock().unwrap_or_else(PoisonError::into_inner)),
    );
    numbers.sort_unstable();
    results.sort_by_key(|result| result.sequence);
    found.extend(compare(&network, &numbers, &results));
    if engine.outstanding() > 0 || engine.recv().is_some() {
        found.push("a frame was answered twice".to_owned());
    }
    found
}

/// Hands a frame in; `tries` if it would rather do something else than wait.
fn submit(engine: &Engine, mut frame: Vec<Tensor>, tries: bool) -> Option<u64> {
    if !tries {
        return engine.submit(frame).ok();
    }
    loop {
        match engine.try_submit(frame).ok()? {
            Ok(sequence) => return Some(sequence),
            Err(back) => frame = back,
        }
        sleep(Duration::from_micros(10));
    }
}

fn compare(network: &Network, numbers: &[(u64, u64)], results: &[FrameResult]) -> Vec<String> {
    let mut wrong = Vec::new();
    if numbers.len() as u64 != 3 * OWN || results.len() != numbers.len() {
        wrong.push(format!("{} of {} frames were answered", results.len(), numbers.len()));
    }
    for (position, (&(sequence, number), result)) in numbers.iter().zip(results).enumerate() {
        let found = result.outcome.as_ref().map(|outputs| outputs.iter().map(Tensor::as_f32).collect::<Vec<_>>());
        let expected = network.expected(number);
        let expected: Vec<Option<&[f32]>> = expected.iter().map(|elements| Some(elements.as_slice())).collect();
        let is_right =
            sequence == position as u64 && result.sequence == sequence && found.as_ref().ok() == Some(&expected);
        if !is_right {
            wrong.push(format!("frame {number} at {position} got {found:?}"));
        }
    }
    wrong
}
