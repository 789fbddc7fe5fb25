//! Times of operators that a provider computes: what a frame takes as a whole is known, who takes how much of it often
//! is not.
//!
//! A device may still compute when ONNX Runtime's profile says that a kernel is done, and a provider may run many
//! operators as a kernel of its own. So the time of a frame is divided: by what the profile says where that explains
//! most of it, else by the work of operators.

use std::time::Duration;

use millstream_backend::{OperatorTimes, Segment};
use millstream_graph::{Graph, OperatorId};

use crate::trace::{self, Kernels};

/// The part of a frame that kernels must explain to be believed.
const EXPLAINED: f64 = 0.5;
/// A byte moved takes about as long as so many multiply-accumulates.
const MACS_PER_BYTE: u64 = 4;

/// The times of a segment's operators in frames that took `frames`, of which moving their inputs and outputs took
/// `moving`.
///
/// # Errors
/// What is wrong with the profile.
pub(crate) fn operator_times(
    profile: &str,
    graph: &Graph,
    segment: &Segment,
    warm_up: usize,
    frames: &[Duration],
    moving: Duration,
) -> Result<Vec<OperatorTimes>, String> {
    let operators = &segment.operators;
    let kernels = trace::kernels(profile, graph, operators, warm_up)?;
    let seconds = computing(frames, moving, &kernels);
    let explained: f64 = kernels.seconds.iter().sum();
    if kernels.are_known && explained >= EXPLAINED * seconds.iter().sum::<f64>() {
        let by_kernel = trace::operator_times(profile, graph, operators, warm_up)?;
        return Ok(by_kernel.into_iter().map(|kernel| scaled(kernel, &seconds, &kernels)).collect());
    }

    let work = |id: &OperatorId| {
        let work = graph.operator(*id).work;
        (work.macs + MACS_PER_BYTE * work.bytes()).max(1) as f64
    };
    let all: f64 = operators.iter().map(work).sum();
    let share = |id: &OperatorId| {
        let part = work(id) / all;
        OperatorTimes { operators: vec![*id], seconds: seconds.iter().map(|frame| part * frame).collect() }
    };
    Ok(operators.iter().map(share).collect())
}

/// What each frame takes but for moving values; at least what its kernels take.
fn computing(frames: &[Duration], moving: Duration, kernels: &Kernels) -> Vec<f64> {
    let least = |place: usize| kernels.seconds.get(place).copied().unwrap_or_default();
    let frames = frames.iter().enumerate();
    frames.map(|(place, frame)| frame.saturating_sub(moving).as_secs_f64().max(least(place))).collect()
}

/// The times of a kernel, with its part of what no kernel explains.
fn scaled(times: OperatorTimes, seconds: &[f64], kernels: &Kernels) -> OperatorTimes {
    let factor = |place: usize| match (seconds.get(place), kernels.seconds.get(place)) {
        (Some(frame), Some(explained)) if *explained > 0.0 => frame / explained,
        _ => 1.0,
    };
    let seconds = times.seconds.iter().enumerate().map(|(place, time)| time * factor(place)).collect();
    OperatorTimes { seconds, ..times }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use millstream_onnx::ModelBuilder;

    use super::*;
    use crate::trace::tests::event;

    /// One frame after another, each with these kernels.
    fn profile(kernels: &[(&str, &str, u64)], frames: u64) -> String {
        let mut events = Vec::new();
        for frame in 0..frames {
            let mut now = 10_000 * frame;
            events.push(format!(r#"{{"cat":"Session","name":"model_run","ts":{now},"dur":9999}}"#));
            for (name, op, dur) in kernels {
                events.push(event(name, op, now, *dur));
                now += dur;
            }
        }
        format!("[{}]", events.join(","))
    }

    fn times(kernels: &[(&str, &str, u64)], frame_us: u64, moving_us: u64) -> Vec<f64> {
        let mut builder = ModelBuilder::new("two");
        let input = builder.input("image", [1, 4]);
        builder.named_node("a", "Relu", &[&input], &["between"], millstream_onnx::Attributes::new());
        builder.named_node("b", "Tanh", &["between"], &["made"], millstream_onnx::Attributes::new());
        builder.output("made");
        let model = builder.build().unwrap();
        let whole = Segment::whole(model.graph());
        let frames = [Duration::from_micros(frame_us)];
        let moving = Duration::from_micros(moving_us);
        // The first frame warms up.
        let made = operator_times(&profile(kernels, 2), model.graph(), &whole, 1, &frames, moving).unwrap();
        assert_eq!(made.iter().map(|kernel| kernel.operators.len()).sum::<usize>(), 2);
        made.iter().map(|kernel| (kernel.seconds[0] * 1e6).round()).collect()
    }

    #[test]
    fn kernels_of_operators_share_what_is_left_by_their_times() {
        // 60 of 80 microseconds are no transfers; kernels explain 40 of them.
        assert_eq!(times(&[("a", "Relu", 30), ("b", "Tanh", 10)], 80, 20), [45.0, 15.0]);
        // What kernels took is the least that there is.
        assert_eq!(times(&[("a", "Relu", 30), ("b", "Tanh", 10)], 45, 20), [30.0, 10.0]);
        // Moves are none of an operator's time.
        assert_eq!(times(&[("up", "MemcpyFromHost", 900), ("a", "Relu", 30), ("b", "Tanh", 10)], 60, 20), [30.0, 10.0]);
    }

    #[test]
    fn what_no_kernel_explains_is_shared_by_work() {
        // One kernel of the provider's for both operators, of equal work.
        assert_eq!(times(&[("npu_0", "npu_0", 50)], 100, 0), [50.0, 50.0]);
        // Kernels that were only handed to a device.
        assert_eq!(times(&[("a", "Relu", 9), ("b", "Tanh", 1)], 100, 0), [50.0, 50.0]);
        assert_eq!(times(&[], 100, 40), [30.0, 30.0]);
    }
}
