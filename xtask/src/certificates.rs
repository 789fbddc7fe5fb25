//! Certificates of the zoo's networks on the fixtures' boards.

use crate::command::{Failure, example, run};
use crate::native;

/// What continuous integration looks at: one in so many pairs of a network and a board.
pub(crate) const FEW: [&str; 2] = ["--shard", "7/100"];

/// Plans each network on each board, checks the certificates, and prints what both took; `--shard 0/20` for the first
/// twentieth.
pub(crate) fn certificates(arguments: &[String]) -> Result<(), Failure> {
    let (part, parts) = shard(arguments)?;
    let environment = native::environment(native::prepare()?);
    run(example("certificates")?.args([part.to_string(), parts.to_string()]).envs(environment))
}

fn shard(arguments: &[String]) -> Result<(usize, usize), Failure> {
    let [flag, value] = arguments else {
        return match arguments {
            [] => Ok((0, 1)),
            _ => Err(Failure("certificates knows --shard, as in --shard 0/20".to_owned())),
        };
    };
    let numbers = value.split_once('/').and_then(|(part, parts)| Some((part.parse().ok()?, parts.parse().ok()?)));
    let is_flag = flag == "--shard";
    numbers
        .filter(|(part, parts): &(usize, usize)| is_flag && part < parts)
        .ok_or_else(|| Failure(format!("'{flag} {value}' is no part: give one as in --shard 0/20")))
}

#[cfg(test)]
mod tests {
    use super::shard;

    #[test]
    fn a_part_can_be_given() {
        let asked = |words: &[&str]| shard(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>()).ok();
        assert_eq!(asked(&[]), Some((0, 1)));
        assert_eq!(asked(&["--shard", "3/20"]), Some((3, 20)));
        for wrong in [&["--shard"][..], &["--shard", "20/20"], &["--shard", "3"], &["--part", "3/20"]] {
            assert_eq!(asked(wrong), None, "{wrong:?}");
        }
    }
}
