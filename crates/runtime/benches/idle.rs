//! What an engine costs that has nothing to do: its threads' share of one core over some seconds, as Linux counts it.
//! Target: under 1 %.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use millstream_backend::Tensor;
use millstream_board::Processor;
use millstream_runtime::{Engine, EngineOptions};
use millstream_schedule::{Assignment, Replica, Schedule, Stage};

const TIME: Duration = Duration::from_secs(5);

/// How long all threads of this process have been on a core. What a thread did that has ended is not counted.
fn on_a_core() -> Option<Duration> {
    let threads = fs::read_dir("/proc/self/task").ok()?.filter_map(Result::ok);
    let time = |thread: fs::DirEntry| -> Option<u64> {
        fs::read_to_string(thread.path().join("schedstat")).ok()?.split_whitespace().next()?.parse().ok()
    };
    Some(Duration::from_nanos(threads.filter_map(time).sum()))
}

fn main() {
    let graph = support::chain(4);
    let half = |core: u32| Assignment {
        processor: Processor::new("B", [core]),
        operators: graph.order().iter().copied().skip(core as usize).step_by(2).collect(),
    };
    let team = Schedule { stages: vec![Stage { replicas: vec![Replica::new(vec![half(0), half(1)])] }] };
    let pipeline = support::pipeline(&graph, &[2, 1, 1, 2]);
    for (name, schedule) in [("pipeline of six workers", &pipeline), ("team of two", &team)] {
        for frame_timeout in [None, Some(Duration::from_millis(10)), Some(Duration::from_secs(1))] {
            let options = EngineOptions::default().with_frame_timeout(frame_timeout).with_taking_over(true);
            let backend = Arc::new(support::Adding::default());
            let Ok(engine) = Engine::new(&graph, schedule, &[backend], &options) else { return };
            // Awake once, so that what is measured is falling asleep and staying so.
            let frames = (0..100).map(|_| vec![Tensor::from_f32([1], vec![0.0])]);
            engine.run(frames).for_each(drop);
            let (Some(before), start) = (on_a_core(), Instant::now()) else { return };
            std::thread::sleep(TIME);
            let Some(after) = on_a_core() else { return };
            let share = after.saturating_sub(before).as_secs_f64() / start.elapsed().as_secs_f64();
            println!("{name}, frame timeout {frame_timeout:?}: {:.3} % of a core", 100.0 * share);
        }
    }
}
