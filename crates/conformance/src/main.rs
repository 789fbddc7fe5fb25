//! `millstream-conformance FOLDER [PART OF A NAME]`: checks every model below a folder and says what became of it.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool prints")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use millstream_backend_ort::Environment;
use millstream_conformance::{Case, Outcome, Refusals, check};

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[derive(Default)]
struct Count {
    agree: usize,
    two_stages: usize,
    splits: usize,
    differ_from_suite: usize,
    not_by_onnx_runtime: usize,
    refused: usize,
    wrong: usize,
}

impl Count {
    /// Whether as many models as ever reach each way of running: a fault that ONNX Runtime seems to share would be counted as its own.
    fn has_enough(&self) -> bool {
        self.agree >= 1490 && self.two_stages >= 340 && self.splits >= 55 && self.differ_from_suite <= 12
    }
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("give the folder of the models")?);
    let part = arguments.next().unwrap_or_default();
    let environment = Environment::load()?;
    let refusals = Refusals::checked_in()?;
    let begin = Instant::now();
    let mut cases = Case::all(&folder)?;
    cases.retain(|case| case.name.contains(&part));
    let mut count = Count::default();
    for case in &cases {
        let outcome = check(case, &environment);
        judge(case, &outcome, &refusals, &mut count);
    }
    for name in refusals.names().filter(|name| part.is_empty() && !cases.iter().any(|case| case.name == *name)) {
        println!("{name}: on the list of refusals, but there is no such model");
        count.wrong += 1;
    }
    println!(
        "{} models in {:.1} s: {} run and agree ({} in two stages, {} divided by channels), {} are refused as the list says, {} are \
         not run by ONNX Runtime; of {} ONNX Runtime's results differ from the suite's",
        cases.len(),
        begin.elapsed().as_secs_f64(),
        count.agree,
        count.two_stages,
        count.splits,
        count.refused,
        count.not_by_onnx_runtime,
        count.differ_from_suite,
    );
    // The plain closing line that tools read.
    println!("{} passed, {} failed", count.agree + count.refused + count.not_by_onnx_runtime, count.wrong);
    let has_all = !part.is_empty() || count.has_enough();
    if !has_all {
        println!(
            "fewer models run, are cut, divided, or agree with the suite than should: something does not reach them any more"
        );
    }
    Ok(count.wrong == 0 && count.agree + count.refused > 0 && has_all)
}

fn judge(case: &Case, outcome: &Outcome, refusals: &Refusals, count: &mut Count) {
    let expected = refusals.expected(&case.name);
    let mut wrong = |text: String| {
        println!("{}: {text}", case.name);
        count.wrong += 1;
    };
    match (outcome, expected) {
        (Outcome::Refused { detail }, Some(part)) if detail.contains(part) => count.refused += 1,
        (Outcome::Refused { detail }, Some(part)) => wrong(format!("refused, but without '{part}': {detail}")),
        (Outcome::Refused { detail }, None) => wrong(format!("refused, and not on the list of refusals: {detail}")),
        (Outcome::Wrong { detail }, _) => wrong(detail.clone()),
        (_, Some(_)) => wrong("on the list of refusals, but not refused".to_owned()),
        (Outcome::NotByOnnxRuntime { .. }, None) => count.not_by_onnx_runtime += 1,
        (Outcome::Agrees { has_two_stages, has_splits, differs_from_suite }, None) => {
            count.agree += 1;
            count.two_stages += usize::from(*has_two_stages);
            count.splits += usize::from(*has_splits);
            count.differ_from_suite += usize::from(*differs_from_suite);
        }
    }
}
