//! `cargo xtask package`: what a computer without a compiler needs to run Millstream, in one file.
//!
//! The program is compiled against an old C library, for this architecture or another one, and finds the libraries of
//! its engines in the folder `lib` beside its own. The library for programs in C stands there as well. `--check`
//! unpacks the result where nothing else is and uses it; see [`check`].

mod archive;
mod check;
mod compile;
mod contents;
mod deb;
mod deb_records;
mod dpkg;
mod elsewhere;
mod installed;
mod layout;
pub(crate) mod licences;
mod versions;
mod wheels;

use crate::command::Failure;
use crate::cross::Target;
use crate::native;

/// What the command was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Arguments {
    target: Target,
    is_deb: bool,
    is_check: bool,
}

/// Makes a package, and a Debian package of the same or a check of it if asked to.
pub(crate) fn package(arguments: &[String]) -> Result<(), Failure> {
    let Arguments { target, is_deb, is_check } = parse(arguments)?;
    native::prepare()?;
    let wheels = wheels::fetch(target)?;
    let compiled = compile::compile(target, &wheels)?;
    let unpacked = contents::gather(target, &compiled, &wheels)?;
    versions::check(target, &unpacked)?;
    let tarball = archive::tarball(&unpacked)?;
    eprintln!("wrote {}", tarball.display());
    let deb = is_deb.then(|| deb::deb(target, &unpacked)).transpose()?;
    deb.iter().for_each(|deb| eprintln!("wrote {}", deb.display()));
    if is_check { check::check(target, &tarball, deb.as_deref()) } else { Ok(()) }
}

fn parse(arguments: &[String]) -> Result<Arguments, Failure> {
    let mut parsed = Arguments { target: Target::own()?, is_deb: false, is_check: false };
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "--deb" => parsed.is_deb = true,
            "--check" => parsed.is_check = true,
            "--target" => parsed.target = Target::parse(words.next().unwrap_or_default())?,
            other => {
                let usage = "cargo xtask package [--target x86_64|aarch64] [--deb] [--check]";
                return Err(Failure(format!("'{other}' is no argument of: {usage}")));
            }
        }
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_understood_or_refused_by_name() {
        let parsed = |text: &str| {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            parse(&words).map_err(|Failure(message)| message)
        };
        let all = Arguments { target: Target::Aarch64, is_deb: true, is_check: true };
        assert_eq!(parsed("--check --target aarch64 --deb"), Ok(all));
        assert!(parsed("--target riscv64").is_err_and(|message| message.contains("x86_64 or aarch64")));
        assert!(parsed("--target").is_err_and(|message| message.contains("x86_64 or aarch64")));
        assert!(parsed("--rpm").is_err_and(|message| message.contains("'--rpm'")));
    }
}
