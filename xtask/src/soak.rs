//! Hours of faults, with every frame checked and memory, threads and descriptors watched.

use crate::command::{Failure, example, run};
use crate::folders::root;
use crate::native;

/// Minutes, unless the caller says otherwise.
const MINUTES: f64 = 0.5;

/// Runs the soak test: `--hours N` or `--minutes N`, `--seed N`.
pub(crate) fn soak(arguments: &[String]) -> Result<(), Failure> {
    let Request { minutes, seed } = request(arguments)?;
    let environment = native::environment(native::prepare()?);
    let table = root().join("target/millstream/soak.csv");
    let folder = root().join("target/millstream");
    std::fs::create_dir_all(&folder).map_err(|error| Failure(format!("cannot make {}: {error}", folder.display())))?;
    eprintln!("{minutes} minutes with seed {seed}; {} has a line for each round", table.display());
    run(example("soak")?.args([minutes.to_string(), seed.to_string()]).arg(&table).envs(environment))
}

#[derive(Debug, PartialEq)]
struct Request {
    minutes: f64,
    seed: u64,
}

fn request(arguments: &[String]) -> Result<Request, Failure> {
    let mut request = Request { minutes: MINUTES, seed: 1 };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let value = arguments.next().map_or("", String::as_str);
        let length = || {
            let number = value.parse::<f64>().ok().filter(|number| (0.001..=10_000.0).contains(number));
            number.ok_or_else(|| Failure(format!("{argument} needs a number above 0")))
        };
        match argument.as_str() {
            "--hours" => request.minutes = 60.0 * length()?,
            "--minutes" => request.minutes = length()?,
            "--seed" => {
                request.seed = value.parse().map_err(|_| Failure("--seed needs a whole number".to_owned()))?;
            }
            other => return Err(Failure(format!("soak knows --hours, --minutes and --seed, not '{other}'"))),
        }
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::{MINUTES, Request, request};

    fn asked(arguments: &[&str]) -> Option<Request> {
        request(&arguments.iter().map(|&word| word.to_owned()).collect::<Vec<_>>()).ok()
    }

    #[test]
    fn a_length_and_a_seed_can_be_given() {
        assert_eq!(asked(&[]), Some(Request { minutes: MINUTES, seed: 1 }));
        assert_eq!(asked(&["--hours", "0.5", "--seed", "7"]), Some(Request { minutes: 30.0, seed: 7 }));
        for wrong in [&["--hours"][..], &["--minutes", "0"], &["--minutes", "NaN"], &["--seed", "-1"], &["--days", "1"]]
        {
            assert_eq!(asked(wrong), None, "{wrong:?}");
        }
    }
}
