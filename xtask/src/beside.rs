//! Programs that run at the same time.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use crate::command::{Failure, run};

/// Runs a program, and others one after the other beside it, whose output goes to a file and is shown when all are done.
/// Fails if any of them does.
pub(crate) fn run_both(first: &mut Command, others: &mut [Command], output: &Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure(format!("{}: {error}", output.display()));
    output.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
    let file = File::create(output).map_err(failed)?;
    for other in others.iter_mut() {
        other.stdout(file.try_clone().map_err(failed)?).stderr(file.try_clone().map_err(failed)?);
    }

    let (first, others) = std::thread::scope(|scope| {
        let beside = scope.spawn(|| others.iter_mut().map(run).collect::<Vec<_>>());
        (run(first), beside.join())
    });
    print!("{}", String::from_utf8_lossy(&std::fs::read(output).map_err(failed)?));
    let others = others.map_err(|_| Failure("what ran beside panicked".to_owned()))?;
    let failures: Vec<String> =
        std::iter::once(first).chain(others).filter_map(Result::err).map(|Failure(text)| text).collect();
    if failures.is_empty() { Ok(()) } else { Err(Failure(failures.join("\n"))) }
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use crate::scratch::Scratch;

    fn shell(script: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        shell
    }

    #[test]
    fn whatever_fails_of_what_runs_at_the_same_time_is_told() {
        let folder = Scratch::new("command-test").unwrap();
        let output = folder.path().join("beside.txt");
        let told = |first: &str, others: &[&str]| {
            let mut others: Vec<Command> = others.iter().map(|script| shell(script)).collect();
            let failed = run_both(&mut shell(first), &mut others, &output).err();
            failed.map_or_else(String::new, |Failure(text)| text)
        };
        // The first waits for what the others do.
        let mark = folder.path().join("mark");
        let (mark, waits) = (
            mark.display(),
            format!("for i in $(seq 500); do [ -e {0} ] && exit 0; sleep 0.02; done; exit 1", mark.display()),
        );
        assert_eq!(told(&waits, &["echo beside", &format!("echo error >&2; touch {mark}")]), "");
        assert_eq!(std::fs::read_to_string(&output).unwrap(), "beside\nerror\n");
        let text = told("exit 2", &["exit 3", "echo last; exit 4"]);
        assert!(
            ["exit status: 2", "exit status: 3", "exit status: 4"].iter().all(|part| text.contains(part)),
            "{text}"
        );
        assert_eq!(std::fs::read_to_string(&output).unwrap(), "last\n");
    }
}
