//! `millstream-conformance FOLDER [--engine NAME] [PART OF A NAME]`: checks every model below a folder and says what
//! became of it.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool prints")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use millstream_conformance::{Case, CheckOutcome, EngineUnderTest, Expected, Refusals, check};

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
    tiles: usize,
    differ_from_suite: usize,
    not_by_onnx_runtime: usize,
    refused: usize,
    computed_otherwise: usize,
    wrong: usize,
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("give the folder of the models")?);
    let mut part = arguments.next().unwrap_or_default();
    let mut name = "onnxruntime".to_owned();
    if part == "--engine" {
        name = arguments.next().ok_or("give the engine's name")?;
        part = arguments.next().unwrap_or_default();
    }

    let engine = EngineUnderTest::named(&name).ok_or_else(|| format!("there is no engine '{name}'"))??;
    let refusals = Refusals::checked_in(&engine)?;
    let begin = Instant::now();
    let mut cases = Case::all(&folder)?;
    cases.retain(|case| case.name.contains(&part));
    let mut count = Count::default();
    for case in &cases {
        let outcome = check(case, &engine);
        judge(case, &outcome, &refusals, &mut count);
    }
    for name in refusals.names().filter(|name| part.is_empty() && !cases.iter().any(|case| case.name == *name)) {
        println!("{name}: on the list of refusals, but there is no such model");
        count.wrong += 1;
    }

    println!(
        "{} models in {:.1} s: {} run and agree ({} in two stages, {} divided by channels, {} by rows), {} are refused and {} computed \
         otherwise as the list says, {} are not run by ONNX Runtime; of {} ONNX Runtime's results differ from the suite's",
        cases.len(),
        begin.elapsed().as_secs_f64(),
        count.agree,
        count.two_stages,
        count.splits,
        count.tiles,
        count.refused,
        count.computed_otherwise,
        count.not_by_onnx_runtime,
        count.differ_from_suite,
    );

    // The plain closing line that tools read.
    println!(
        "{} passed, {} failed",
        count.agree + count.refused + count.computed_otherwise + count.not_by_onnx_runtime,
        count.wrong
    );
    let has_all = !part.is_empty()
        || (count.differ_from_suite <= 12
            && engine.has_enough(count.agree, count.two_stages, [count.splits, count.tiles]));
    if !has_all {
        println!(
            "fewer models run, are cut, divided, or agree with the suite than should: something does not reach them any more"
        );
    }
    Ok(count.wrong == 0 && count.agree + count.refused > 0 && has_all)
}

fn judge(case: &Case, outcome: &CheckOutcome, refusals: &Refusals, count: &mut Count) {
    let expected = refusals.expected(&case.name);
    let mut wrong = |text: String| {
        println!("{}: {text}", case.name);
        count.wrong += 1;
    };
    match (outcome, expected) {
        (CheckOutcome::Refused { detail }, Some(Expected::Refusal(part))) if detail.contains(part) => {
            count.refused += 1;
        }
        (CheckOutcome::Refused { detail }, Some(Expected::Refusal(part))) => {
            wrong(format!("refused, but without '{part}': {detail}"));
        }
        (CheckOutcome::Refused { detail }, _) => wrong(format!("refused, and not on the list of refusals: {detail}")),
        (CheckOutcome::Wrong { detail }, Some(Expected::Difference(part))) if detail.contains(part) => {
            count.computed_otherwise += 1;
        }
        (CheckOutcome::Wrong { detail }, _) => wrong(detail.clone()),
        (_, Some(_)) => wrong("on the list of refusals and differences, but not so".to_owned()),
        (CheckOutcome::NotByOnnxRuntime { .. }, None) => count.not_by_onnx_runtime += 1,
        (CheckOutcome::Agrees { has_two_stages, has_splits, has_tiles, differs_from_suite }, None) => {
            count.agree += 1;
            count.two_stages += usize::from(*has_two_stages);
            count.splits += usize::from(*has_splits);
            count.tiles += usize::from(*has_tiles);
            count.differ_from_suite += usize::from(*differs_from_suite);
        }
    }
}
