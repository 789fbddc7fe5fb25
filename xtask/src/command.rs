//! Running other programs.

use std::env::consts::EXE_SUFFIX;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use crate::folders::{root, target_folder};

/// Why a verb failed, for people.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

/// The names of the folders below `crates`, sorted.
pub(crate) fn crates() -> Result<Vec<String>, Failure> {
    let folder = root().join("crates");
    let entries = std::fs::read_dir(&folder).map_err(|error| Failure(format!("{}: {error}", folder.display())))?;
    let mut names: Vec<String> =
        entries.filter_map(Result::ok).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

/// The package of a crate's folder: all but the one that users install begin with its name.
pub(crate) fn package(folder: &str) -> String {
    if folder == "cli" { "millstream".to_owned() } else { format!("millstream-{folder}") }
}

/// The cargo that runs this program, working on the workspace from wherever the caller is.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Builds an example as the tests are built, and returns its program: where cargo is asked for one package, it chooses
/// other features and compiles nearly everything once more.
pub(crate) fn example(name: &str) -> Result<Command, Failure> {
    run(cargo().args(BUILD_ALIKE).args(["--example", name]))?;
    Ok(in_root(release().join("examples").join(format!("{name}{EXE_SUFFIX}"))))
}

/// Builds a package's program as the tests are built, and returns it.
pub(crate) fn program(name: &str) -> Result<Command, Failure> {
    // An example has cargo choose the features that tests have.
    run(cargo().args(BUILD_ALIKE).args(["--bin", name, "--example", "soak"]))?;
    Ok(in_root(release().join(format!("{name}{EXE_SUFFIX}"))))
}

const BUILD_ALIKE: [&str; 4] = ["build", "--release", "--quiet", "--workspace"];

fn in_root(program: PathBuf) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

fn release() -> PathBuf {
    target_folder().join("release")
}

/// Whoever waits as long for a program is told where the time went.
const LONG: Duration = Duration::from_secs(10);

/// Runs a program, fails if it does, and says what it took if that was long.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let start = Instant::now();
    let status = command.status().map_err(|error| not_started(command, &error))?;
    let took = start.elapsed();
    if took >= LONG {
        eprintln!("{} s for {}", took.as_secs(), describe(command));
    }
    if status.success() { Ok(()) } else { Err(Failure(format!("{} failed ({status})", describe(command)))) }
}

/// Becomes a program, so that its signals and its end are ours.
#[cfg(unix)]
pub(crate) fn run_forwarding(command: &mut Command) -> Result<ExitCode, Failure> {
    use std::os::unix::process::CommandExt;

    let error = command.exec();
    Err(not_started(command, &error))
}

/// Runs a program whose exit code is ours.
#[cfg(not(unix))]
pub(crate) fn run_forwarding(command: &mut Command) -> Result<ExitCode, Failure> {
    let status = command.status().map_err(|error| not_started(command, &error))?;
    Ok(match status.code() {
        Some(code) => u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from),
        None => ExitCode::FAILURE,
    })
}

/// Runs a program quietly and returns what it printed; the failure contains its messages.
pub(crate) fn capture(command: &mut Command) -> Result<String, Failure> {
    let output = command.output().map_err(|error| not_started(command, &error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let messages = String::from_utf8_lossy(&output.stderr);
    Err(Failure(format!("{} failed ({}):\n{}", describe(command), output.status, messages.trim())))
}

fn not_started(command: &Command, error: &std::io::Error) -> Failure {
    Failure(format!("cannot start {}: {error}", describe(command)))
}

fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    format!("`{}`", words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "))
}
