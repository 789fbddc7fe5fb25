//! Fuzzing with libFuzzer, on stable Rust: `fuzz/` has the targets, `fuzz/corpus` what they have found to be worth
//! trying.

mod request;
mod result;

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::command::{Failure, capture, cargo, run};
use crate::folders::{root, target_folder};
use request::{Request, Work};
use result::Run;

/// What counts the code that an input reaches: one counter for each edge between blocks of code, and the operands of
/// comparisons. Other fuzzing tools pass the same to the compiler.
const INSTRUMENTATION: [&str; 6] = [
    "--cfg fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// An input takes longer than this only if something is wrong, in seconds.
const LONGEST_SECONDS: u32 = 10;
/// A process takes more memory than this only if something is wrong, in mebibytes.
const MOST_MEMORY: u32 = 1024;
/// Longer inputs reach no more code, in bytes.
const LONGEST_INPUT: u32 = 4096;

/// How targets are run.
struct Fuzzer {
    program: PathBuf,
    /// Where each target's own inputs grow, between runs as well.
    work: PathBuf,
    /// Where targets put files that they read: gone afterwards.
    scratch: PathBuf,
}

/// Builds the targets once and runs what was asked for. Fails if an input was found that ends the process, takes too
/// long or takes too much memory.
pub(crate) fn fuzz(arguments: &[String]) -> Result<(), Failure> {
    let request = Request::read(arguments, &targets()?)?;
    let fuzzer = Fuzzer::build()?;
    let outcome = match &request.work {
        Work::Fuzz => fuzzer.fuzz_all(&request),
        Work::Merge => request.targets.iter().try_for_each(|target| fuzzer.merge(target)),
        Work::Inputs(files) => request.targets.iter().try_for_each(|target| fuzzer.give(target, files)),
    };
    let _ = fs::remove_dir_all(&fuzzer.scratch);
    outcome
}

/// The targets: each has a corpus.
fn targets() -> Result<Vec<String>, Failure> {
    let folder = corpora();
    let entries = fs::read_dir(&folder).map_err(|error| Failure(format!("{}: {error}", folder.display())))?;
    let mut names: Vec<String> =
        entries.filter_map(Result::ok).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

fn corpora() -> PathBuf {
    root().join("fuzz/corpus")
}

/// Where an input goes that a target did not survive.
fn found(target: &str) -> PathBuf {
    root().join("fuzz/found").join(target)
}

fn make_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| Failure(format!("{}: {error}", folder.display())))
}

impl Fuzzer {
    fn build() -> Result<Self, Failure> {
        let folder = target_folder().join("fuzz");
        let host = capture(Command::new("rustc").arg("-vV"))?;
        let host = host.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
        let mut build = cargo();
        // With a target named, flags are for what runs there, not for what runs while it is built.
        build.args(["build", "--quiet", "--profile", "fuzz", "--package", "millstream-fuzz", "--target", host]);
        build.arg("--target-dir").arg(&folder).env("RUSTFLAGS", INSTRUMENTATION.join(" "));
        run(build.env_remove("CARGO_ENCODED_RUSTFLAGS"))?;
        let program = folder.join(host).join("fuzz").join(format!("millstream-fuzz{}", std::env::consts::EXE_SUFFIX));
        // Memory is faster than a disk where targets write files.
        let memory = Path::new("/dev/shm");
        let scratch = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let scratch = scratch.join(format!("millstream-fuzz-{}", std::process::id()));
        make_folder(&scratch)?;
        Ok(Self { program, work: folder.join("corpus"), scratch })
    }

    /// The program for a target, still without inputs.
    fn command(&self, target: &str) -> Result<Command, Failure> {
        make_folder(&found(target))?;
        let mut command = Command::new(&self.program);
        command.env("MILLSTREAM_FUZZ_TARGET", target).env("TMPDIR", &self.scratch).current_dir(root());
        command.args([
            format!("-timeout={LONGEST_SECONDS}"),
            format!("-rss_limit_mb={MOST_MEMORY}"),
            format!("-max_len={LONGEST_INPUT}"),
            format!("-artifact_prefix={}/", found(target).display()),
        ]);
        Ok(command)
    }

    /// Runs the targets, so many at a time; one target alone so many times beside itself.
    fn fuzz_all(&self, request: &Request) -> Result<(), Failure> {
        let copies = if request.targets.len() == 1 { request.jobs } else { 1 };
        let queue: VecDeque<String> = request.targets.iter().flat_map(|target| vec![target.clone(); copies]).collect();
        let (queue, failures) = (Mutex::new(queue), Mutex::new(Vec::new()));
        println!("{}", Run::HEADER);
        std::thread::scope(|scope| {
            for _ in 0..request.jobs {
                scope.spawn(|| {
                    while let Some(target) = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front() {
                        if let Err(Failure(message)) = self.fuzz_one(&target, request) {
                            failures.lock().unwrap_or_else(PoisonError::into_inner).push(message);
                        }
                    }
                });
            }
        });
        let failures = failures.into_inner().unwrap_or_else(PoisonError::into_inner);
        if failures.is_empty() { Ok(()) } else { Err(Failure(failures.join("\n\n"))) }
    }

    /// Runs a target from all that is known to be worth trying.
    fn fuzz_one(&self, target: &str, request: &Request) -> Result<(), Failure> {
        let work = self.work.join(target);
        make_folder(&work)?;
        let mut command = self.command(target)?;
        command.arg(format!("-max_total_time={}", request.seconds)).arg("-print_final_stats=1");
        command.args(request.runs.map(|runs| format!("-runs={runs}")));
        command.arg(&work).arg(corpora().join(target));
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_err(|error| Failure(format!("cannot start {}: {error}", self.program.display())))?;
        let log = String::from_utf8_lossy(&output.stderr);
        println!("{}", Run::read(&log).row(target));
        if output.status.success() { Ok(()) } else { Err(Failure(result::failure(target, &log))) }
    }

    /// Replaces the corpus by as few inputs as reach the same code, of it and of what has grown since; how often they
    /// reach it does not count, which would keep ten times as many.
    fn merge(&self, target: &str) -> Result<(), Failure> {
        let (own, work) = (corpora().join(target), self.work.join(target));
        let merged = self.work.join(format!("{target}.merged"));
        let _ = fs::remove_dir_all(&merged);
        make_folder(&work)?;
        make_folder(&merged)?;
        capture(self.command(target)?.args(["-merge=1", "-use_counters=0"]).arg(&merged).arg(&own).arg(&work))?;
        let failed = |error: std::io::Error| Failure(format!("{}: {error}", own.display()));
        fs::remove_dir_all(&own).map_err(failed)?;
        fs::create_dir_all(&own).map_err(failed)?;
        let mut bytes = 0;
        for entry in fs::read_dir(&merged).map_err(failed)?.filter_map(Result::ok) {
            bytes += fs::copy(entry.path(), own.join(entry.file_name())).map_err(failed)?;
        }
        println!("{target}: {} KB in {}", bytes.div_ceil(1000), own.display());
        Ok(())
    }

    /// Gives files to a target, as it is done to see a find again.
    fn give(&self, target: &str, files: &[String]) -> Result<(), Failure> {
        // Paths are the caller's.
        let folder = std::env::current_dir().unwrap_or_else(|_| root());
        run(self.command(target)?.args(files.iter().map(|file| folder.join(file))))
    }
}
