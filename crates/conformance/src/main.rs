//! `millstream-conformance FOLDER [--engine NAME] [--page PAGE] [PART OF A NAME]`: checks every model below a folder and
//! says what became of it. A page that names the numbers must name these.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool prints")]

use std::path::{Path, PathBuf};
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

/// What the command line says.
struct Arguments {
    folder: PathBuf,
    engine: String,
    page: Option<PathBuf>,
    /// Part of the names of the models to look at; empty for all.
    part: String,
}

impl Arguments {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, &'static str> {
        let folder = PathBuf::from(words.next().ok_or("give the folder of the models")?);
        let mut read = Self { folder, engine: "onnxruntime".to_owned(), page: None, part: String::new() };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--engine" => read.engine = words.next().ok_or("give the engine's name")?,
                "--page" => read.page = Some(PathBuf::from(words.next().ok_or("give the page")?)),
                _ => read.part = word,
            }
        }
        Ok(read)
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
    let Arguments { folder, engine: name, page, part } = Arguments::read(std::env::args().skip(1))?;
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
    let is_told = match page.filter(|_| part.is_empty()) {
        Some(page) => is_told_on(&page, cases.len(), &count)?,
        None => true,
    };
    Ok(count.wrong == 0 && count.agree + count.refused > 0 && has_all && is_told)
}

/// Whether a page has the numbers that were found.
fn is_told_on(page: &Path, models: usize, count: &Count) -> Result<bool, Box<dyn std::error::Error>> {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = words(&std::fs::read_to_string(page)?);
    let others = count.refused + count.computed_otherwise;
    let found = [
        format!("the {} models", grouped(models)),
        format!("{} give the same results", grouped(count.agree)),
        format!("The other {} are", grouped(others)),
    ];
    for missing in found.iter().filter(|found| !text.contains(found.as_str())) {
        println!("{} should say '{missing}'", page.display());
    }
    Ok(found.iter().all(|found| text.contains(found.as_str())))
}

/// A number with commas between its thousands.
fn grouped(number: usize) -> String {
    match number / 1000 {
        0 => number.to_string(),
        thousands => format!("{},{:03}", grouped(thousands), number % 1000),
    }
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
