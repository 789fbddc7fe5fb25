//! What a caller asks of fuzzing.

use crate::command::Failure;

const USAGE: &str =
    "cargo xtask fuzz TARGET|all [--time 60s] [--runs N] [--jobs N] | fuzz TARGET|all --merge | fuzz TARGET FILE...";
/// How long each target runs if nothing is said.
const SECONDS: u64 = 60;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) targets: Vec<String>,
    /// For each target.
    pub(super) seconds: u64,
    /// The most executions of each target.
    pub(super) runs: Option<u64>,
    /// How many processes run beside each other.
    pub(super) jobs: usize,
    pub(super) work: Work,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Look for inputs that something is wrong with.
    Fuzz,
    /// Keep of the corpus what is needed.
    Merge,
    /// See what these do.
    Inputs(Vec<String>),
}

impl Request {
    pub(super) fn read(arguments: &[String], known: &[String]) -> Result<Self, Failure> {
        let usage = |what: String| Failure(format!("{what}\n\nUsage: {USAGE}\nTargets: {}", known.join(", ")));
        let mut arguments = arguments.iter();
        let name = arguments.next().ok_or_else(|| usage("a target is needed".to_owned()))?;
        let targets = match name.as_str() {
            "all" => known.to_vec(),
            name if known.iter().any(|known| known == name) => vec![name.to_owned()],
            name => return Err(usage(format!("there is no target '{name}'"))),
        };

        let mut request = Self { targets, seconds: SECONDS, runs: None, jobs: 1, work: Work::Fuzz };
        let mut files = Vec::new();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| usage(format!("{argument} needs a value")));
            let number = |text: &String| text.parse::<u64>().ok().filter(|&number| number > 0);
            match argument.as_str() {
                "--time" => {
                    let text = value()?;
                    request.seconds =
                        seconds(text).ok_or_else(|| usage(format!("'{text}' is not a time such as 60s or 5m")))?;
                }
                "--runs" | "--jobs" => {
                    let text = value()?;
                    let number = number(text).ok_or_else(|| usage(format!("'{text}' is not a number from 1")))?;
                    match argument.as_str() {
                        "--runs" => request.runs = Some(number),
                        _ => request.jobs = usize::try_from(number).unwrap_or(usize::MAX).min(256),
                    }
                }
                "--merge" => request.work = Work::Merge,
                flag if flag.starts_with('-') => return Err(usage(format!("there is no flag {flag}"))),
                file => files.push(file.to_owned()),
            }
        }

        if !files.is_empty() {
            request.work = Work::Inputs(files);
        }
        Ok(request)
    }
}

/// Whole seconds from `60s`, `5m`, `2h` or `60`.
fn seconds(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(['s', 'm', 'h']);
    let unit = match &text[digits.len()..] {
        "s" | "" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit).filter(|&seconds| seconds > 0)
}

#[cfg(test)]
mod tests {
    use super::{Request, Work, seconds};

    fn asked(arguments: &[&str]) -> Option<Request> {
        let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<String>>();
        Request::read(&owned(arguments), &owned(&["board", "profile"])).ok()
    }

    #[test]
    fn times_have_units() {
        assert_eq!([seconds("20s"), seconds("2m"), seconds("1h"), seconds("7")], [20, 120, 3600, 7].map(Some));
        assert_eq!([seconds("0s"), seconds("s"), seconds("1ms"), seconds("-1")], [None; 4]);
    }

    #[test]
    fn targets_and_what_to_do_with_them_can_be_named() {
        let request = |targets: &[&str], seconds, work| {
            let targets = targets.iter().map(|&target| target.to_owned()).collect();
            Some(Request { targets, seconds, runs: None, jobs: 1, work })
        };
        assert_eq!(asked(&["all", "--time", "20s"]), request(&["board", "profile"], 20, Work::Fuzz));
        assert_eq!(asked(&["board", "--merge"]), request(&["board"], 60, Work::Merge));
        assert_eq!(asked(&["board", "a", "b"]), request(&["board"], 60, Work::Inputs(vec!["a".into(), "b".into()])));
        let several = asked(&["profile", "--runs", "5", "--jobs", "2"]);
        assert_eq!(several.map(|request| (request.runs, request.jobs)), Some((Some(5), 2)));
        for wrong in [&[][..], &["boards"], &["board", "--time"], &["board", "--jobs", "0"], &["board", "--fast"]] {
            assert_eq!(asked(wrong), None, "{wrong:?}");
        }
    }
}
