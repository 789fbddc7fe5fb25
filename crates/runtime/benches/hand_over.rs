//! What the engine itself costs: time per frame and per stage hand-over when the stages do nothing. Target: at most 20
//! microseconds per hand-over.

#[path = "../tests/support/mod.rs"]
mod support;

use divan::Bencher;
use divan::counter::ItemsCount;
use millstream_backend::Tensor;
use millstream_board::Processor;
use millstream_runtime::{Engine, EngineOptions};
use millstream_schedule::{Assignment, Replica, Schedule, Stage};
use std::sync::Arc;

fn main() {
    divan::main();
}

const FRAMES: usize = 1000;

/// Items are hand-overs: every frame passes `stages` stages.
#[divan::bench(args = [1, 2, 4])]
fn streaming(bencher: Bencher<'_, '_>, stages: usize) {
    let graph = support::chain(stages);
    let schedule = support::pipeline(&graph, &vec![1; stages]);
    let backend = Arc::new(support::Adding::default());
    let Ok(engine) = Engine::new(&graph, &schedule, &[backend], &EngineOptions::default()) else { return };
    let frame = Tensor::from_f32([1], vec![0.0]);
    bencher.counter(ItemsCount::new(FRAMES * stages)).bench_local(|| {
        engine.run((0..FRAMES).map(|_| vec![frame.clone()])).filter(|result| result.outcome.is_ok()).count()
    });
}

/// Items are hand-overs between two processors of one stage: every operator waits for the one before it on the other
/// processor. Target: at most 10 microseconds each.
#[divan::bench(args = [2, 10, 50])]
fn within_a_stage(bencher: Bencher<'_, '_>, operators: usize) {
    let graph = support::chain(operators);
    let take = |parity: usize| graph.order().iter().copied().skip(parity).step_by(2).collect();
    let assignment = |core: u32| Assignment { processor: Processor::new("B", [core]), operators: take(core as usize) };
    let replica = Replica::new(vec![assignment(0), assignment(1)]);
    let schedule = Schedule { stages: vec![Stage { replicas: vec![replica] }] };
    let backend = Arc::new(support::Adding::default());
    let Ok(engine) = Engine::new(&graph, &schedule, &[backend], &EngineOptions::default()) else { return };
    let frame = Tensor::from_f32([1], vec![0.0]);
    bencher.counter(ItemsCount::new(FRAMES * operators)).bench_local(|| {
        engine.run((0..FRAMES).map(|_| vec![frame.clone()])).filter(|result| result.outcome.is_ok()).count()
    });
}
