//! Several threads that hand frames in and take results out of one engine.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use millstream_backend::Tensor;
use millstream_runtime::model::{JoinHandle, sleep, spawn};
use millstream_runtime::{Engine, EngineOptions, FrameResult, RuntimeError};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::backend::Faulty;
use super::faults::Plan;
use super::lock::lock;
use super::network::Network;
use super::schedules::schedule;

/// Frames of each thread that submits.
const FRAMES_EACH: u64 = 3;
/// The last of them does not wait.
const SUBMITTERS: u64 = 3;

/// What the threads share.
struct Shared {
    engine: Engine,
    network: Arc<Network>,
    /// Sequence numbers, with the numbers of the frames that they were given to.
    numbers: Mutex<Vec<(u64, u64)>>,
    results: Mutex<Vec<FrameResult>>,
    wrong: Mutex<Vec<String>>,
    /// Frames that were not received.
    left: AtomicU64,
}

/// Two threads submit, a third one tries to, and two receive. Every frame must be answered once, each receiver's in
/// order. Returns what is wrong.
pub(crate) fn several_callers(seed: u64) -> Vec<String> {
    let shared = match start(seed) {
        Ok(shared) => Arc::new(shared),
        Err(error) => return vec![error.to_string()],
    };
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for caller in 0..SUBMITTERS {
        let shared = Arc::clone(&shared);
        threads.push(spawn("submitter", move || shared.submit_all(caller)));
    }
    for _ in 0..2 {
        let shared = Arc::clone(&shared);
        threads.push(spawn("receiver", move || shared.receive_all()));
    }
    let panics = threads.into_iter().filter_map(|thread| thread.join().err());
    let mut found: Vec<String> = panics.map(|_| "a caller panicked".to_owned()).collect();
    found.extend(shared.verdict());
    found
}

/// An engine without faults.
fn start(seed: u64) -> Result<Shared, RuntimeError> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let network = Arc::new(Network::random(&mut random));
    let schedule = schedule(&network.graph, &mut random);
    let options = EngineOptions::default()
        .with_frames_in_flight(random.random_range(1..=3_usize))
        .with_frames_outstanding(random.random_range(1..=6_usize));
    let plan = Arc::new(Plan::new(Default::default(), Default::default(), &mut random));
    let backend = Arc::new(Faulty { network: Arc::clone(&network), plan });
    Ok(Shared {
        engine: Engine::new(&network.graph, &schedule, &[backend], &options)?,
        network,
        numbers: Mutex::default(),
        results: Mutex::default(),
        wrong: Mutex::default(),
        left: AtomicU64::new(SUBMITTERS * FRAMES_EACH),
    })
}

impl Shared {
    fn submit_all(&self, caller: u64) {
        for number in caller * FRAMES_EACH..(caller + 1) * FRAMES_EACH {
            let sequence = submit(&self.engine, self.network.frame(number), caller + 1 == SUBMITTERS);
            lock(&self.numbers).extend(sequence.map(|sequence| (sequence, number)));
        }
    }

    fn receive_all(&self) {
        let mut last = None;
        while self.left.load(Ordering::SeqCst) > 0 {
            let Some(result) = self.engine.recv() else {
                sleep(Duration::from_micros(10));
                continue;
            };
            self.left.fetch_sub(1, Ordering::SeqCst);
            if last.replace(result.sequence).is_some_and(|last| last >= result.sequence) {
                lock(&self.wrong).push("out of order".to_owned());
            }
            lock(&self.results).push(result);
        }
    }

    /// What is wrong, once all threads have ended.
    fn verdict(&self) -> Vec<String> {
        let mut found = std::mem::take(&mut *lock(&self.wrong));
        let (mut numbers, mut results) = (lock(&self.numbers), lock(&self.results));
        numbers.sort_unstable();
        results.sort_by_key(|result| result.sequence);
        found.extend(compare(&self.network, &numbers, &results));
        if self.engine.outstanding() > 0 || self.engine.recv().is_some() {
            found.push("a frame was answered twice".to_owned());
        }
        found
    }
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
    if numbers.len() as u64 != SUBMITTERS * FRAMES_EACH || results.len() != numbers.len() {
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
