//! Hours of what may go wrong: schedules are replaced, other programs' load and cores come and go, devices are lost and
//! come back, workers panic and hang, while frames flow. Every result is checked, and memory, threads and descriptors
//! are written down.
//!
//! `soak MINUTES SEED TABLE`: writes a line of `TABLE` for each round, prints what happened, and fails if anything was
//! lost, wrong, or grew. `cargo xtask soak` runs it.

#![allow(clippy::print_stdout, reason = "a program prints")]

mod director;
mod growth;
mod load;
mod process;
#[path = "../../tests/teams/mod.rs"]
mod teams;
mod unreliable;

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use millstream_backend::{Backend, Tensor, WholeNetwork};
use millstream_backend_ort::{Environment, OrtBackend};
use millstream_board::Processor;
use millstream_frames::{FrameMaker, Tolerance, compare};
use millstream_onnx::Model;
use millstream_runtime::{Engine, EngineOptions, FrameError, FrameResult};

use director::{Director, whole};
use growth::Growth;
use process::Footprint;
use unreliable::{Faults, Unreliable};

const NETWORK: &str = "squeezenet";
const FRAMES: usize = 4;
/// The frames under way are answered long before.
const LAST_FRAMES: Duration = Duration::from_secs(1);
/// No stage takes nearly as long for a frame of this network.
const FRAME_TIMEOUT: Duration = Duration::from_secs(2);

/// What became of the frames.
#[derive(Debug, Default, Clone)]
struct Answers {
    right: u64,
    /// Those whose device was gone.
    device_lost: u64,
    panicked: u64,
    timed_out: u64,
    /// Those of a stage that could not be started again.
    stage_lost: u64,
    /// Those that failed for another reason.
    other: u64,
    wrong: u64,
    out_of_order: u64,
}

fn main() -> Result<ExitCode, Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [minutes, seed, table] = arguments.as_slice() else { return Err("soak MINUTES SEED TABLE".into()) };
    let length = Duration::try_from_secs_f64(60.0 * minutes.parse::<f64>()?)?;
    soak(length, seed.parse()?, Path::new(table))
}

fn soak(length: Duration, seed: u64, table: &Path) -> Result<ExitCode, Box<dyn Error + Send + Sync>> {
    // As the command does.
    millstream_machine::share_heaps();
    // Panics are part of the plan.
    std::panic::set_hook(Box::new(|_| {}));
    let model: Arc<Model> = Arc::new(millstream_zoo::build(NETWORK)?);
    let runtime: Arc<dyn Backend> = Arc::new(OrtBackend::new(&Environment::load()?, Arc::clone(&model)));
    let faults = Arc::new(Faults::default());
    let backend: Arc<dyn Backend> = Arc::new(Unreliable::new(Arc::clone(&runtime), Arc::clone(&faults)));
    let graph = model.graph();
    let frames = FrameMaker::new(&model).different_frames(FRAMES)?;
    let mut sequential = WholeNetwork::prepare(graph, &*runtime, &Processor::new("B", [0]))?;
    let expected: Vec<Vec<Tensor>> = frames.iter().map(|frame| sequential.run(frame)).collect::<Result<_, _>>()?;
    drop(sequential);

    let options = EngineOptions::default().with_frame_timeout(FRAME_TIMEOUT).with_taking_over(true);
    let engine = Engine::new(graph, &whole(graph), &[backend], &options)?;
    let (is_over, is_resting) = (AtomicBool::new(false), AtomicBool::new(false));
    let (answers, director, growth) = std::thread::scope(|scope| {
        let (engine, is_over, is_resting) = (&engine, &is_over, &is_resting);
        let streaming = scope.spawn(|| {
            let more = || {
                while is_resting.load(Ordering::Relaxed) && !is_over.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(10));
                }
                (!is_over.load(Ordering::Relaxed)).then_some(())
            };
            let source = std::iter::from_fn(more).zip(frames.iter().cycle()).map(|((), frame)| frame.clone());
            check(engine.run(source), &expected)
        });
        let mut director = Director::new(engine, graph, &faults, seed);
        let growth = direct(&mut director, is_resting, length, table);
        is_over.store(true, Ordering::Relaxed);
        (streaming.join(), director, growth)
    });
    let (answers, growth) = (answers.map_err(|_| "the streaming thread panicked")?, growth?);
    Ok(report(&answers, &director, &growth))
}

/// Checks each result, in its turn.
fn check(results: impl Iterator<Item = FrameResult>, expected: &[Vec<Tensor>]) -> Answers {
    let mut answers = Answers::default();
    for (index, result) in results.enumerate() {
        answers.out_of_order += u64::from(result.sequence != index as u64);
        let count = match &result.outcome {
            Ok(found) if is_right(found, &expected[index % expected.len()]) => &mut answers.right,
            Ok(_) => &mut answers.wrong,
            Err(FrameError::Panicked { .. }) => &mut answers.panicked,
            Err(FrameError::TimedOut { .. }) => &mut answers.timed_out,
            Err(FrameError::Lost { .. }) => &mut answers.stage_lost,
            Err(FrameError::Stage { source: millstream_backend::BackendError::DeviceLost { .. }, .. }) => {
                &mut answers.device_lost
            }
            Err(_) => &mut answers.other,
        };
        *count += 1;
    }
    answers
}

fn is_right(found: &[Tensor], expected: &[Tensor]) -> bool {
    let is_equal = |(found, expected)| {
        compare(found, expected, Tolerance::default()).is_ok_and(|difference| difference.wrong == 0)
    };
    found.len() == expected.len() && found.iter().zip(expected).all(is_equal)
}

/// Rounds of things that happen, each with a measurement after it when no frame is under way: what frames hold for a
/// moment differs by more than what may grow.
fn direct(
    director: &mut Director<'_>,
    is_resting: &AtomicBool,
    length: Duration,
    table: &Path,
) -> Result<Growth, Box<dyn Error + Send + Sync>> {
    let mut lines = std::io::BufWriter::new(std::fs::File::create(table)?);
    writeln!(lines, "seconds,resident_bytes,allocated_bytes,threads,descriptors,replacements,faults")?;
    let begin = Instant::now();
    let mut growth = Growth::default();
    while begin.elapsed() < length {
        director.events();
        director.rest();
        is_resting.store(true, Ordering::Relaxed);
        std::thread::sleep(LAST_FRAMES);
        let footprint = Footprint::of_this_process()?;
        let Footprint { resident_bytes, allocated_bytes, threads, descriptors } = footprint;
        let (replacements, faults) = (director.replacements, director.faults());
        let seconds = begin.elapsed().as_secs_f64();
        writeln!(
            lines,
            "{seconds:.1},{resident_bytes},{allocated_bytes},{threads},{descriptors},{replacements},{faults}"
        )?;
        lines.flush()?;
        growth.add(begin.elapsed(), footprint);
        is_resting.store(false, Ordering::Relaxed);
    }
    Ok(growth)
}

fn report(answers: &Answers, director: &Director<'_>, growth: &Growth) -> ExitCode {
    let Answers { right, device_lost, panicked, timed_out, stage_lost, other, wrong, out_of_order } = answers;
    println!("{} schedules were set ({} refused)", director.replacements, director.refusals);
    println!(
        "{} panics, {} hangs, {} lost devices, {} busy cores, {} cores gone",
        director.panics, director.hangs, director.losses, director.loads, director.absences
    );
    println!("frames: {right} right, {wrong} wrong, {out_of_order} out of order");
    println!(
        "answered with an error: {panicked} panicked, {timed_out} timed out, {device_lost} lost their device, {stage_lost} had no stage, {other} otherwise"
    );
    println!("{growth}");
    let is_explained =
        *panicked <= director.panics && *timed_out <= director.hangs && (director.losses > 0 || *device_lost == 0);
    let is_sound = *wrong == 0 && *out_of_order == 0 && *other == 0 && *right > 0 && is_explained;
    if is_sound && growth.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
