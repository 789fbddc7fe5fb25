//! The time from the start of a process to its first frame: without a cache of sessions, with an empty one that is
//! filled, and with a full one; as a whole network on all cores and as a pipeline of two stages, each on half of them.
//!
//! Every start is a process of its own. The kinds of start take turns, so that load from elsewhere meets all of them;
//! files are in the system's memory.

#![allow(missing_docs, clippy::print_stdout, reason = "a benchmark prints")]

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use millstream_backend::{Backend, BackendError, PreparedSegment, Segment, Tensor};
use millstream_backend_ort::{Environment, OrtBackend, SessionCache};
use millstream_board::Processor;
use millstream_report::{Align, Table, milliseconds};

const NETWORKS: &[&str] = &["inception-v4", "vgg19", "resnet50", "inception-resnet-v2", "yolov3"];
const STARTS: usize = 7;
/// Tells the program that it is one of the starts that are measured.
const CHILD: &str = "--one-start";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, network, stages, folder @ ..] = arguments.as_slice()
        && flag == CHILD
    {
        return start(network, stages.parse()?, folder.first().map(Path::new));
    }

    // Under `cargo test`, benchmarks only show that they run.
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    let (networks, starts) = if is_bench { (NETWORKS, STARTS) } else { (&["squeezenet"][..], 1) };
    let mut table = Table::new([
        ("network", Align::Left),
        ("stages", Align::Right),
        ("without a cache, ms", Align::Right),
        ("model", Align::Right),
        ("sessions", Align::Right),
        ("frame", Align::Right),
        ("filling it, ms", Align::Right),
        ("from it, ms", Align::Right),
        ("model", Align::Right),
        ("sessions", Align::Right),
        ("frame", Align::Right),
        ("ratio", Align::Right),
        ("against filling", Align::Right),
    ]);
    for network in networks {
        for stages in [1, 2] {
            table.row(measure(network, stages, starts)?);
        }
    }
    println!("Process start to first frame, median (least to most) of {starts} starts of each kind\n\n{table}");
    Ok(())
}

/// Seconds of one start: until the first frame, and the model's, the sessions' and the frame's part of it.
#[derive(Debug, Clone, Copy)]
struct Times {
    parts: [f64; 4],
}

fn measure(network: &str, stages: usize, starts: usize) -> Result<Vec<String>, Box<dyn Error>> {
    let full = tempfile::tempdir()?;
    one_start(network, stages, Some(full.path()))?;
    let [mut without, mut filling, mut from] = [const { Vec::new() }; 3];
    for _ in 0..starts {
        let empty = tempfile::tempdir()?;
        without.push(one_start(network, stages, None)?);
        from.push(one_start(network, stages, Some(full.path()))?);
        filling.push(one_start(network, stages, Some(empty.path()))?);
    }

    let median = |times: &[Times], part: usize| {
        let mut sorted: Vec<f64> = times.iter().map(|times| times.parts[part]).collect();
        sorted.sort_by(f64::total_cmp);
        (sorted[sorted.len() / 2], sorted[0], sorted[sorted.len() - 1])
    };
    let whole = |times: &[Times]| {
        let (middle, least, most) = median(times, 0);
        format!("{} ({} to {})", milliseconds(middle), milliseconds(least), milliseconds(most))
    };

    let part = |times: &[Times], part| milliseconds(median(times, part).0);
    let ratio = |slow: &[Times]| format!("{:.2}x", median(slow, 0).0 / median(&from, 0).0);
    Ok(vec![
        network.to_owned(),
        stages.to_string(),
        whole(&without),
        part(&without, 1),
        part(&without, 2),
        part(&without, 3),
        whole(&filling),
        whole(&from),
        part(&from, 1),
        part(&from, 2),
        part(&from, 3),
        ratio(&without),
        ratio(&filling),
    ])
}

/// Starts a process and waits until it tells of its first frame.
fn one_start(network: &str, stages: usize, folder: Option<&Path>) -> Result<Times, Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(CHILD).arg(network).arg(stages.to_string()).args(folder).stdout(Stdio::piped());
    let start = Instant::now();
    let mut child = command.spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().ok_or("the output is not there")?).read_line(&mut line)?;
    let whole = start.elapsed().as_secs_f64();
    child.wait()?;
    let parts: Vec<f64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [model, sessions, frame] = parts[..] else { return Err(format!("{network} answered '{line}'").into()) };
    Ok(Times { parts: [whole, model, sessions, frame] })
}

/// What a started process does.
fn start(network: &str, stages: usize, folder: Option<&Path>) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let model = Arc::new(millstream_zoo::build(network)?);
    let model_time = start.elapsed();
    let graph = model.graph();
    let mut backend = OrtBackend::new(&Environment::load()?, Arc::clone(&model));
    if let Some(folder) = folder {
        backend = backend.with_cache(SessionCache::new(folder));
    }

    let start = Instant::now();
    let cores = std::thread::available_parallelism()?.get() as u32;
    let per_stage = (cores / stages as u32).max(1);
    let segments = segments(graph, stages);
    let prepare = &|index: usize| {
        let first = index as u32 * per_stage % cores;
        backend.prepare(&segments[index], &Processor::new("B", first..first + per_stage))
    };
    let prepared: Result<Vec<Box<dyn PreparedSegment>>, BackendError> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..stages).map(|index| scope.spawn(move || prepare(index))).collect();
        let stopped = || BackendError::failed("a thread stopped");
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(stopped()))).collect()
    });
    let mut prepared = prepared?;
    let sessions_time = start.elapsed();
    let start = Instant::now();
    let input = graph.value(graph.inputs()[0]);
    let shape = input.shape.clone().ok_or("the input has no shape")?;
    let image = Tensor::from_f32(shape.clone(), vec![0.5; shape.elements() as usize]);
    let mut values = std::collections::HashMap::from([(graph.inputs()[0], image)]);
    for (segment, prepared) in segments.iter().zip(&mut prepared) {
        let outputs = prepared.run(&segment.inputs_from(&values))?;
        values.extend(segment.boundary.outputs.iter().copied().zip(outputs));
    }
    println!("{} {} {}", model_time.as_secs_f64(), sessions_time.as_secs_f64(), start.elapsed().as_secs_f64());
    Ok(())
}

/// The network in stages of about as many multiply-accumulates.
fn segments(graph: &millstream_graph::Graph, stages: usize) -> Vec<Segment> {
    let mut parts = vec![Vec::new(); stages];
    let mut macs = 0;
    for &id in graph.order() {
        parts[(macs * stages as u64 / graph.macs().max(1)).min(stages as u64 - 1) as usize].push(id);
        macs += graph.operator(id).work.macs;
    }
    parts.into_iter().map(|operators| Segment::new(graph, operators)).collect()
}
