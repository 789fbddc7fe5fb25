//! Whether tests notice faults: cargo-mutants puts one after the other into a crate and runs the crate's own tests.

use std::fs;
use std::path::Path;

use crate::command::{Failure, crates, package};
use crate::folders::{root, target_folder};
use crate::{solver, tools};

/// The crates whose results are claims: schedules, bounds and proofs, the times that these are chosen by, and the blocks
/// that searches and certificates share.
const CRATES: [&str; 11] =
    ["schedule", "cosched", "mapping", "pipeline", "tune", "sim", "cost", "predict", "certify", "partition", "graph"];
/// The least part of the faults that tests must notice.
const LEAST_PERCENT: usize = 90;
/// After so long, tests of one fault will not end: those of any of these crates take less than two minutes, on a
/// machine that others use as well.
const TIMEOUT_SECONDS: &str = "300";
/// How cargo-mutants ends where it has run: nothing was missed, something was, or something ran for too long.
const HAS_RUN: [i32; 3] = [0, 2, 3];

/// What a caller asks for.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    crates: Vec<String>,
    /// As `0/10`: the first tenth.
    shard: Option<String>,
}

/// Faults of a crate that compile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Count {
    caught: usize,
    missed: usize,
}

impl Count {
    fn viable(self) -> usize {
        self.caught + self.missed
    }

    fn is_enough(self) -> bool {
        100 * self.caught >= LEAST_PERCENT * self.viable()
    }
}

/// Runs cargo-mutants over crates, or a part of all their faults, and fails if tests notice too few.
/// `.cargo/mutants.toml` names those that are accepted, with reasons.
pub(crate) fn mutants(arguments: &[String]) -> Result<(), Failure> {
    let request = request(arguments, &crates()?)?;
    solver::prepare()?;
    let folder = target_folder().join("millstream/mutants");
    fs::create_dir_all(&folder).map_err(|error| Failure(format!("{}: {error}", folder.display())))?;
    let mut command = tools::mutants()?;
    command.args(["--profile", "mutants", "--timeout", TIMEOUT_SECONDS, "--sharding", "round-robin", "--output"]);
    command.arg(&folder);
    command.args(request.crates.iter().flat_map(|name| ["--package".to_owned(), package(name)]));
    command.args(request.shard.iter().flat_map(|shard| ["--shard", shard]));
    // It builds copies of the workspace, each in a target folder of its own.
    command.current_dir(root()).env_remove("CARGO_TARGET_DIR");
    let status = command.status().map_err(|error| Failure(format!("cannot start cargo-mutants: {error}")))?;
    if !status.code().is_some_and(|code| HAS_RUN.contains(&code)) {
        return Err(Failure(format!("cargo-mutants did not come to its end ({status})")));
    }
    judge(&request.crates, &folder.join("mutants.out"))
}

fn request(arguments: &[String], known: &[String]) -> Result<Request, Failure> {
    let mut request = Request { crates: Vec::new(), shard: None };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--shard" {
            let shard = arguments.next().ok_or_else(|| Failure("--shard needs a part, such as 0/10".to_owned()))?;
            request.shard = Some(shard.clone());
        } else if known.contains(argument) {
            request.crates.push(argument.clone());
        } else {
            return Err(Failure(format!("there is no crate '{argument}'; there are {}", known.join(", "))));
        }
    }
    if request.crates.is_empty() {
        request.crates = CRATES.map(str::to_owned).to_vec();
    }
    Ok(request)
}

/// Counts what was found, crate by crate, from the lists that cargo-mutants writes.
fn judge(crates: &[String], folder: &Path) -> Result<(), Failure> {
    let list = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).map_err(|error| Failure(format!("{}: {error}", path.display())))
    };
    // Tests that never end have noticed something.
    let (caught, missed) = (list("caught.txt")? + &list("timeout.txt")?, list("missed.txt")?);
    let mut all = Count::default();
    for name in crates {
        let count = count(name, &caught, &missed);
        println!("{name}: {} of {} faults are noticed", count.caught, count.viable());
        all = Count { caught: all.caught + count.caught, missed: all.missed + count.missed };
    }
    println!("{} of {}; the others are in {}", all.caught, all.viable(), folder.join("missed.txt").display());
    if all.is_enough() {
        Ok(())
    } else {
        Err(Failure(format!("tests notice fewer than {LEAST_PERCENT} % of the faults; write some that do")))
    }
}

/// Lines of both lists that are about a crate.
fn count(name: &str, caught: &str, missed: &str) -> Count {
    let folder = format!("crates/{name}/");
    let of = |list: &str| list.lines().filter(|line| line.starts_with(&folder)).count();
    Count { caught: of(caught), missed: of(missed) }
}

#[cfg(test)]
mod tests {
    use super::{CRATES, Count, Request, count, request};

    fn asked(arguments: &[&str]) -> Option<Request> {
        let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<String>>();
        request(&owned(arguments), &owned(&["board", "sim", "tune"])).ok()
    }

    #[test]
    fn crates_and_a_shard_can_be_named() {
        let all = Request { crates: CRATES.map(str::to_owned).to_vec(), shard: None };
        assert_eq!(asked(&[]), Some(all));
        let some = Request { crates: vec!["tune".to_owned(), "sim".to_owned()], shard: Some("1/8".to_owned()) };
        assert_eq!(asked(&["tune", "--shard", "1/8", "sim"]), Some(some));
        assert_eq!(asked(&["tunes"]), None);
        assert_eq!(asked(&["--shard"]), None);
    }

    #[test]
    fn nine_in_ten_are_enough() {
        let enough = |caught, missed| Count { caught, missed }.is_enough();
        assert!(enough(9, 1) && enough(0, 0) && !enough(89, 11) && !enough(0, 1));
    }

    #[test]
    fn a_crate_is_not_one_whose_name_begins_like_it() {
        let caught = "crates/backend/src/lib.rs:1:2: a\ncrates/backend-ort/src/lib.rs:1:2: b\n";
        let missed = "crates/backend/src/lib.rs:1:2: c\ncrates/backend/src/lib.rs:1:2: d\n";
        assert_eq!(count("backend", caught, missed), Count { caught: 1, missed: 2 });
    }
}
