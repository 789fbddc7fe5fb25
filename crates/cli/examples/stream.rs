//! Opens a network, measures it on this machine, plans for throughput within a latency, and streams frames while
//! adapting to whatever else the machine does.

#![allow(clippy::print_stdout, clippy::expect_used, reason = "an example shows something")]

use std::time::Duration;

use millstream::{Aim, Constraints, Control, EngineOptions, Machine, Network, Objective, ReadOptions, Stream, Tensor};

fn main() -> Result<(), millstream::Error> {
    let control = Control::new();
    let machine = Machine::detect()?;
    let network = Network::open("zoo:squeezenet", ReadOptions::default())?;
    machine.profile(&network, Duration::from_secs(2), &control)?;
    let limits = Constraints { max_latency: Some(Duration::from_secs(1).into()), ..Constraints::default() };
    let scheduled = machine.plan(network, &Aim::best(Objective::Throughput).within(limits), &control)?;
    let stream = Stream::start(&machine, &scheduled, &EngineOptions::default())?;
    let frame = || vec![Tensor::from_f32([1, 3, 224, 224], vec![0.5; 3 * 224 * 224])];
    let mut next = 0;
    stream.run_adapting((0..100).map(|_| frame()), &control, |result| {
        assert_eq!(result.sequence, next, "results come in order");
        next += 1;
        assert_eq!(result.outcome.expect("a result")[0].shape().dimensions(), [1, 1000]);
    })?;
    println!(
        "{}: first frame after {:.2?}, {}",
        scheduled.document.configuration,
        stream.first_frame(),
        stream.latency()
    );
    Ok(())
}
