//! Whether commands end soon when they are asked to, and leave nothing half-written: at random moments, as often as one
//! likes.

use crate::command::{Failure, cargo, run};
use crate::native;

/// Moments unless the caller says otherwise: five minutes on two cores.
const TIMES: &str = "200";

/// Sends signals to commands at random moments and prints a table of how they ended.
pub(crate) fn signals(arguments: &[String]) -> Result<(), Failure> {
    let times = times(arguments)?;
    let library = native::prepare()?;
    let mut test = cargo();
    test.args(["test", "--release", "--quiet", "--package", "millstream", "--test", "signals", "--"]);
    test.args(["--exact", "signals_at_random_moments", "--nocapture"]);
    run(test.env("MILLSTREAM_SIGNALS_TIMES", times).envs(native::environment(library)))
}

fn times(arguments: &[String]) -> Result<&str, Failure> {
    match arguments {
        [] => Ok(TIMES),
        [name, times] if name == "--times" && times.parse::<u32>().is_ok_and(|times| times > 0) => Ok(times),
        _ => Err(Failure("signals takes --times and a number above 0".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::{TIMES, times};

    #[test]
    fn a_number_of_moments_can_be_given() {
        let asked = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            times(&words).ok().map(str::to_owned)
        };
        assert_eq!(asked(&[]).as_deref(), Some(TIMES));
        assert_eq!(asked(&["--times", "1000"]).as_deref(), Some("1000"));
        for wrong in [&["--times"][..], &["--times", "0"], &["--often", "3"]] {
            assert_eq!(asked(wrong), None, "{wrong:?}");
        }
    }
}
