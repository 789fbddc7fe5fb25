//! Frames of a camera through a pipeline of two stages: while it keeps up, frames take no longer than the stages;
//! beyond that, they wait in queues.

use std::error::Error;
use std::io::Write;

use millstream_board::Processor;
use millstream_cost::{CostTable, Nanoseconds};
use millstream_schedule::{Replica, Schedule, Stage};
use millstream_sim::{Conditions, SimulatedNetwork, simulate_streams};

fn main() -> Result<(), Box<dyn Error>> {
    show(&mut std::io::stdout())
}

/// Writes a line for each rate.
pub(crate) fn show(output: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let model = millstream_zoo::build("squeezenet")?;
    let graph = model.graph();
    let (front, back) = graph.order().split_at(30);
    let stage = |cluster: &str, core: u32, operators: &[_]| Stage {
        replicas: vec![Replica::single(Processor::new(cluster, [core]), operators.to_vec())],
    };
    let schedule = Schedule { stages: vec![stage("B", 4, front), stage("s", 0, back)] };
    let mut table = CostTable::new(graph.operators().len(), schedule.processors().map(|processor| processor.class()));
    for processor in table.class_ids() {
        table.operator_ids().for_each(|operator| table.set_time(processor, operator, Nanoseconds(500_000)));
    }

    let evaluation = schedule.evaluate(graph, &table)?;
    writeln!(output, "{schedule}: a frame every {}, each within {}", evaluation.period, evaluation.latency)?;
    for hertz in [25, 50, 55, 60] {
        let interval = Some(Nanoseconds(1_000_000_000 / hertz));
        let camera = SimulatedNetwork { interval, ..SimulatedNetwork::new(&schedule, graph, &table, 200) };
        let simulated = simulate_streams(&[camera], &Conditions::default())?;
        let [simulation] = simulated.as_slice() else { return Err("one stream gives one result".into()) };
        // From a frame's arrival to its result.
        let waits = simulation.frames.iter().zip(0..).map(|(times, frame)| times.end.0 - frame * 1_000_000_000 / hertz);
        let worst = Nanoseconds(waits.max().unwrap_or_default());
        let passed = 1.0 / simulation.period_seconds();
        writeln!(output, "{hertz} frames/s: {passed:.1} come out, each at most {worst} after it arrived")?;
    }
    Ok(())
}
