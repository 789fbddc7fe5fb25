//! What it costs to change the engine between two segments: the second half of a network with values that its own
//! engine made, and with those of the other one. The makers take turns before each run, so that load from elsewhere
//! meets both.

#![allow(missing_docs, clippy::print_stdout, reason = "a benchmark prints")]

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use millstream_backend::{Backend, PreparedSegment, Segment, Tensor};
use millstream_backend_openvino::{OpenVino, OpenVinoBackend};
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_board::Processor;
use millstream_graph::ValueId;
use millstream_partition::Chain;
use millstream_report::{Align, Table, milliseconds};

const NETWORKS: &[&str] = &["squeezenet", "googlenet", "resnet50"];
const ENGINES: [&str; 2] = ["ONNX Runtime", "OpenVINO"];
const RUNS: usize = 61;

fn main() -> Result<(), Box<dyn Error>> {
    // Under `cargo test`, benchmarks only show that they run.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let Ok(library) = OpenVino::load() else {
        println!("not measured: there is no OpenVINO here");
        return Ok(());
    };
    let (networks, runs) = if is_bench { (NETWORKS, RUNS) } else { (&NETWORKS[..1], 2) };
    let mut table = Table::new([
        ("network", Align::Left),
        ("second half by", Align::Left),
        ("crosses, KiB", Align::Right),
        ("its own engine's, ms", Align::Right),
        ("the other's, ms", Align::Right),
        ("ratio", Align::Right),
        ("p25 - p75", Align::Left),
    ]);
    for network in networks {
        for row in measure(&library, network, runs)? {
            table.row(row);
        }
    }
    println!("Time of the second half of networks, median of {runs} runs, by who made what it takes in\n\n{table}");
    Ok(())
}

fn measure(library: &OpenVino, network: &str, runs: usize) -> Result<Vec<Vec<String>>, Box<dyn Error>> {
    let model = Arc::new(millstream_zoo::build(network)?);
    let chain = Chain::of(model.graph());
    let middle = chain.blocks().len() / 2;
    let [first, second] =
        [0..middle, middle..chain.blocks().len()].map(|blocks| Segment::new(model.graph(), chain.operators(blocks)));
    let backends: [Box<dyn Backend>; 2] = [
        Box::new(OrtBackend::new(&Environment::load()?, Arc::clone(&model))),
        Box::new(OpenVinoBackend::new(library, Arc::clone(&model))),
    ];
    let processor = Processor::new("B", [0]);
    let prepare = |segment: &Segment| -> Result<Vec<Box<dyn PreparedSegment>>, _> {
        backends.iter().map(|backend| backend.prepare(segment, &processor)).collect()
    };
    let (mut makers, mut readers) = (prepare(&first)?, prepare(&second)?);

    let frame: Vec<Tensor> = first.boundary.inputs.iter().map(|&id| zeros(&model, id)).collect::<Result<_, _>>()?;
    let mut rows = Vec::new();
    for (reading, reader) in readers.iter_mut().enumerate() {
        let mut times = [Vec::new(), Vec::new()];
        let mut crossing = 0;
        for run in 0..2 * runs + 2 {
            // Own and other take turns; the first of each settles memory and caches.
            let is_other = run % 2;
            let made = makers[(reading + is_other) % 2].run(&frame)?;
            let made: HashMap<ValueId, Tensor> = first.boundary.outputs.iter().copied().zip(made).collect();
            let made = second.inputs_from(&made);
            crossing = made.iter().filter_map(Tensor::bytes).map(<[u8]>::len).sum();
            let begin = Instant::now();
            reader.run(&made)?;
            if run > 1 {
                times[is_other].push(begin.elapsed().as_secs_f64());
            }
        }
        let mut ratios: Vec<f64> = times[1].iter().zip(&times[0]).map(|(other, own)| other / own).collect();
        let ratio = [0.5, 0.25, 0.75].map(|part| quantile(&mut ratios, part));
        let [own, other] = times.map(|mut times| milliseconds(quantile(&mut times, 0.5)));
        rows.push(vec![
            network.to_owned(),
            ENGINES[reading].to_owned(),
            format!("{}", crossing / 1024),
            own,
            other,
            format!("{:.3}", ratio[0]),
            format!("{:.3} - {:.3}", ratio[1], ratio[2]),
        ]);
    }
    Ok(rows)
}

fn zeros(model: &millstream_onnx::Model, id: ValueId) -> Result<Tensor, String> {
    let shape = model.graph().value(id).shape.clone().ok_or("an input without a shape")?;
    let elements = usize::try_from(shape.elements()).map_err(|error| error.to_string())?;
    Ok(Tensor::from_f32(shape, vec![0.0; elements]))
}

fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().saturating_sub(1) as f64;
    values.get((last * part).round() as usize).copied().unwrap_or(f64::NAN)
}
