//! Thread granularity, layer by layer: the time of each convolution of GoogLeNet and SqueezeNet with every granularity,
//! what the fitted model chooses, what is best, and what the choice loses (thread granularity, tables 2 and 3: 0.6 to
//! 5.9 % of a network).

#![allow(missing_docs, clippy::print_stdout, reason = "a benchmark prints")]

use std::collections::BTreeMap;
use std::sync::Arc;

use millstream_backend_wgpu::{Gpu, Policy, ThreadWork, WgpuBackend, WorkChoice};
use millstream_board::Processor;
use millstream_graph::{Graph, OperatorId};
use millstream_predict::GranularityChoice;
use millstream_predict::published::Granularity;
use millstream_predict::samples::GranularityRecord;
use millstream_profile::{GranularityTime, measure_granularity};
use millstream_report::{Align, Table, milliseconds};

fn main() {
    let gpu = match Gpu::open(None) {
        Ok(gpu) => gpu,
        Err(error) => return println!("not measured: {error}"),
    };
    // Under `cargo test`, benchmarks only show that they run.
    let most = if std::env::args().any(|argument| argument == "--bench") { usize::MAX } else { 2 };
    for name in ["squeezenet", "googlenet"] {
        if let Err(error) = measure(&gpu, name, most) {
            println!("{name}: {error}");
        }
    }
}

fn measure(gpu: &Gpu, name: &str, most: usize) -> Result<(), Box<dyn std::error::Error>> {
    let model = Arc::new(millstream_zoo::build(name)?);
    let graph = model.graph();
    let backend = WgpuBackend::new(gpu, "G", Arc::clone(&model));
    let policies = [Policy::NeighbouringPixels, Policy::SamePixel];
    let works: Vec<ThreadWork> = policies
        .into_iter()
        .flat_map(|policy| Granularity::ALL.map(|Granularity(outputs)| ThreadWork { outputs, policy }))
        .collect();
    let processor = Processor::accelerator("G");
    let choose = &mut |work| backend.choose_work(WorkChoice::Fixed(work));
    let samples = measure_granularity(graph, &backend, &processor, &works, choose, most, &mut || true)?;
    let records = samples.iter().map(|sample| GranularityRecord {
        accelerator: "G".to_owned(),
        policy: sample.work.policy.number(),
        granularity: sample.work.outputs,
        macs: sample.macs,
        seconds: sample.seconds,
    });
    let choice = GranularityChoice::fit(&records.collect::<Vec<_>>())?;
    show(name, graph, &choice, samples);
    Ok(())
}

/// A row per layer, and the sums.
fn show(name: &str, graph: &Graph, choice: &GranularityChoice, samples: Vec<GranularityTime<ThreadWork>>) {
    let mut layers: BTreeMap<OperatorId, Vec<GranularityTime<ThreadWork>>> = BTreeMap::new();
    for sample in samples {
        layers.entry(sample.operator).or_default().push(sample);
    }
    let [g1, g2, g4, g8, g16, g32] = Granularity::ALL.map(|Granularity(outputs)| format!("g={outputs} ms"));
    let mut table = Table::new([
        ("layer", Align::Left),
        ("mega-MACs", Align::Right),
        (&g1, Align::Right),
        (&g2, Align::Right),
        (&g4, Align::Right),
        (&g8, Align::Right),
        (&g16, Align::Right),
        (&g32, Align::Right),
        ("best", Align::Left),
        ("chosen", Align::Left),
        ("loss", Align::Right),
    ]);

    let [mut finest, mut best_sum, mut chosen_sum] = [0.0; 3];
    for (id, samples) in &layers {
        let of = |work: ThreadWork| samples.iter().find(|sample| sample.work == work).map(|sample| sample.seconds);
        let Some(best) = samples.iter().min_by(|left, right| left.seconds.total_cmp(&right.seconds)) else { continue };
        let chosen = choice.best(best.macs).and_then(|(number, Granularity(outputs))| {
            Some(ThreadWork { outputs, policy: Policy::of_number(number)? })
        });
        let Some(chosen) = chosen else { continue };
        let chosen_seconds = of(chosen).unwrap_or(f64::NAN);
        let same_pixel = |outputs: u32| of(ThreadWork { outputs, policy: Policy::SamePixel }).unwrap_or(f64::NAN);
        let name = |work: ThreadWork| format!("g={} policy {}", work.outputs, work.policy.number());
        let [g1, g2, g4, g8, g16, g32] = Granularity::ALL.map(|Granularity(outputs)| milliseconds(same_pixel(outputs)));
        table.row([
            graph.operator(*id).name.clone(),
            format!("{:.1}", best.macs as f64 / 1e6),
            g1,
            g2,
            g4,
            g8,
            g16,
            g32,
            name(best.work),
            name(chosen),
            format!("{:.1} %", 100.0 * (chosen_seconds / best.seconds - 1.0)),
        ]);
        finest += same_pixel(1);
        best_sum += best.seconds;
        chosen_sum += chosen_seconds;
    }

    println!("\n{name}: times under policy 2 (the same pixel of several channels)\n\n{table}");
    println!(
        "all layers: g=1 {} ms, best of each {} ms, chosen by the model {} ms: loss {:.1} %, speedup over g=1 {:.2}x",
        milliseconds(finest),
        milliseconds(best_sum),
        milliseconds(chosen_sum),
        100.0 * (chosen_sum / best_sum - 1.0),
        finest / chosen_sum
    );
}
