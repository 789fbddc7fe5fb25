//! Convolutions shared by the CPU and the GPU at hand, layer by layer as in co-scheduling's table 3: accelerator only,
//! CPU only, and both with the division of equation 12 and with the exact one, predicted and measured, and how long
//! either side waits for the other (table 5).

#![allow(missing_docs, clippy::print_stdout, reason = "a benchmark prints")]

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use millstream_backend::{Backend, BackendError, Segment, Several, Tensor};
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_backend_wgpu::{Gpu, WgpuBackend};
use millstream_board::Processor;
use millstream_cosched::{Split, exact_split, published_split};
use millstream_graph::{Along, OperatorId, OperatorKind};
use millstream_onnx::{Attributes, Model, ModelBuilder};
use millstream_report::{Align, Table, milliseconds};
use millstream_runtime::{Engine, EngineOptions};
use millstream_schedule::{Assignment, OperatorSplit, Replica, Schedule, Stage};

const FRAMES: usize = 15;

type Failure = Box<dyn std::error::Error>;

fn main() {
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    match Gpu::open(None) {
        Err(error) => println!("not measured: {error}"),
        Ok(gpu) => {
            if let Err(error) = measure(&gpu) {
                println!("{error}");
            }
        }
    }
}

fn measure(gpu: &Gpu) -> Result<(), Failure> {
    let network = millstream_zoo::build("tiny-darknet")?;
    let graph = network.graph();
    let mut table = Table::new([
        ("layer", Align::Left),
        ("accelerator ms", Align::Right),
        ("CPU ms", Align::Right),
        ("eq. 12", Align::Left),
        ("ms", Align::Right),
        ("exact", Align::Left),
        ("predicted ms", Align::Right),
        ("measured ms", Align::Right),
        ("speedup", Align::Right),
        ("waits, predicted", Align::Left),
        ("waits, measured", Align::Left),
    ]);

    let mut seen = HashSet::new();
    let mut errors = Vec::new();
    for &id in graph.order() {
        let operator = graph.operator(id);
        let OperatorKind::Convolution(shape) = &operator.kind else { continue };
        let Some(input) = operator.inputs.first().and_then(|&value| graph.value(value).shape.clone()) else { continue };
        let [_, channels, height, width] = input.dimensions() else { continue };
        let name = format!("{channels}x{height}x{width} k{} n{}", shape.kernel[0], shape.output_channels);
        if !seen.insert(name.clone()) {
            continue;
        }
        let mut builder = ModelBuilder::new(&name);
        let image = builder.input("image", [1, *channels, *height, *width]);
        let attributes = Attributes::new().ints("pads", &[shape.kernel[0] as i64 / 2; 4]);
        let filter = [shape.output_channels, *channels, shape.kernel[0], shape.kernel[0]];
        let count = filter.iter().product();
        let weight = millstream_onnx::Weight::from_f32(filter, vec![0.01; count]);
        let filter = builder.weight("filter", &weight);
        let made = builder.node_with("Conv", &[&image, &filter], attributes);
        builder.output(&made);
        let layer = Layer::new(gpu, &Arc::new(builder.build()?))?;
        let found = layer.measure(shape.output_channels)?;
        errors.push(found.wait_error);
        let [a, b, c, d, e, f, g, h, i, j] = found.cells;
        table.row([name, a, b, c, d, e, f, g, h, i, j]);
    }

    println!("{table}");
    errors.sort_by(f64::total_cmp);
    println!(
        "waiting of either side, measured against predicted: median difference {:.1} % of the layer's time (paper: 1.61 % idle)",
        100.0 * errors.get(errors.len() / 2).copied().unwrap_or(0.0)
    );
    Ok(())
}

struct Layer {
    model: Arc<Model>,
    backend: Arc<dyn Backend>,
    head: OperatorId,
    frame: Vec<Tensor>,
}

struct Found {
    cells: [String; 10],
    wait_error: f64,
}

fn core() -> Processor {
    Processor::new("B", [0])
}

fn accelerator() -> Processor {
    Processor::accelerator("G")
}

impl Layer {
    fn new(gpu: &Gpu, model: &Arc<Model>) -> Result<Self, Failure> {
        let graph = model.graph();
        let cpu: Arc<dyn Backend> = Arc::new(OrtBackend::new(&Environment::load()?, Arc::clone(model)));
        let device: Arc<dyn Backend> = Arc::new(WgpuBackend::new(gpu, "G", Arc::clone(model)));
        let head = *graph.order().first().ok_or("an empty network")?;
        let shape = graph.value(graph.inputs()[0]).shape.clone().ok_or("an input without a shape")?;
        let elements = shape.elements() as usize;
        let frame = vec![Tensor::from_f32(shape, vec![0.5; elements])];
        Ok(Self { model: Arc::clone(model), backend: Arc::new(Several::new(vec![cpu, device])), head, frame })
    }

    /// Median seconds of some of the channels on one processor, transfers included.
    fn alone(&self, processor: &Processor, channels: usize, of: usize) -> Result<f64, BackendError> {
        let graph = self.model.graph();
        let segment = if channels == of {
            Segment::new(graph, vec![self.head])
        } else {
            Segment::part(graph, vec![self.head], 0..channels)
        };
        let _ = core().cores.first().map(|core| millstream_machine::pin_current_thread(*core));
        let mut prepared = self.backend.prepare(&segment, processor)?;
        let mut seconds = Vec::new();
        for _ in 0..FRAMES {
            let start = Instant::now();
            prepared.run(&self.frame)?;
            seconds.push(start.elapsed().as_secs_f64());
        }
        Ok(median(seconds))
    }

    fn measure(&self, channels: usize) -> Result<Found, Failure> {
        let counts = [1, channels / 8, channels / 2, channels];
        let curve = |processor: &Processor| -> Result<Vec<(f64, f64)>, BackendError> {
            counts.iter().map(|&count| Ok((count as f64, self.alone(processor, count, channels)?))).collect()
        };
        let (device_curve, cpu_curve) = (curve(&accelerator())?, curve(&core())?);
        let device = |count: u64| between(&device_curve, count);
        let cpu = |count: u64| between(&cpu_curve, count);
        let (device_whole, cpu_whole) = (device(channels as u64), cpu(channels as u64));
        let published = published_split(channels as u64, device_whole, cpu_whole);
        let exact = exact_split(channels as u64, device, cpu);
        let published_seconds = self.together(published)?.0;
        let (measured, device_seconds, cpu_seconds) = self.together(exact)?;
        let best_alone = device_whole.min(cpu_whole);
        let predicted_wait = device(exact.accelerator) - cpu(exact.cpu);
        let measured_wait = device_seconds - cpu_seconds;
        let text = |split: Split| format!("{}+{}", split.accelerator, split.cpu);
        let wait = |seconds: f64| {
            if seconds > 0.0 {
                format!("CPU {}", milliseconds(seconds))
            } else {
                format!("accelerator {}", milliseconds(-seconds))
            }
        };

        Ok(Found {
            cells: [
                milliseconds(device_whole),
                milliseconds(cpu_whole),
                text(published),
                milliseconds(published_seconds),
                text(exact),
                milliseconds(exact.seconds(device, cpu)),
                milliseconds(measured),
                format!("{:.2}x", best_alone / measured),
                wait(predicted_wait),
                wait(measured_wait),
            ],
            wait_error: (predicted_wait - measured_wait).abs() / measured,
        })
    }

    /// Median seconds of a frame, of the accelerator's part and of the CPU's.
    fn together(&self, split: Split) -> Result<(f64, f64, f64), Failure> {
        let graph = self.model.graph();
        let assignment = |processor| Assignment { processor, operators: vec![self.head] };
        let channels = vec![split.accelerator as usize, split.cpu as usize];
        let replica = if channels.contains(&0) {
            Replica::single(if split.cpu == 0 { accelerator() } else { core() }, vec![self.head])
        } else {
            Replica {
                assignments: vec![assignment(accelerator()), assignment(core())],
                splits: vec![OperatorSplit { operators: vec![self.head], along: Along::Channels, shares: channels }],
            }
        };
        let schedule = Schedule { stages: vec![Stage { replicas: vec![replica] }] };
        let options = EngineOptions::default().with_steps_kept(true).with_frames_in_flight(1);
        let engine = Engine::new(graph, &schedule, std::slice::from_ref(&self.backend), &options)?;
        let (mut frames, mut sides) = (Vec::new(), [Vec::new(), Vec::new()]);
        for result in engine.run(std::iter::repeat_n(self.frame.clone(), FRAMES)) {
            frames.extend(result.spans.first().map(|span| (span.end - span.start).as_secs_f64()));
            for step in &result.steps {
                let side = usize::from(step.processor == 1 || split.accelerator == 0);
                sides[side].push((step.end - step.start).as_secs_f64());
            }
            result.outcome?;
        }
        let [device, cpu] = sides;
        Ok((median(frames), median(device), median(cpu)))
    }
}

/// Straight lines between measured points; nothing takes no time.
fn between(curve: &[(f64, f64)], count: u64) -> f64 {
    let count = count as f64;
    let pair = curve.windows(2).find(|pair| count <= pair[1].0);
    match pair {
        _ if count == 0.0 => 0.0,
        Some([(low, first), (high, last)]) if high > low => first + (last - first) * (count - low) / (high - low),
        _ => curve.last().map_or(0.0, |point| point.1),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
