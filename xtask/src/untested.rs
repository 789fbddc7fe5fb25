//! What was not tested because something is missing, as the tests themselves say.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;

use crate::command::Failure;
use crate::folders::target_folder;

/// Names the file to the tests, as `millstream-test-support` does.
const UNTESTED: &str = "MILLSTREAM_UNTESTED";

/// The list that tests add to.
pub(crate) struct Untested {
    file: PathBuf,
}

impl Untested {
    /// An empty list.
    pub(crate) fn new() -> Result<Self, Failure> {
        let file = target_folder().join("millstream/untested.txt");
        match fs::remove_file(&file) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Failure(format!("{}: {error}", file.display()))),
            _ => Ok(Self { file }),
        }
    }

    /// Has a command's tests add to the list.
    pub(crate) fn collect_from<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env(UNTESTED, &self.file)
    }

    /// Prints what is on the list, if anything is.
    pub(crate) fn tell(&self) {
        // Where no test added anything, there is no file.
        let list = fs::read_to_string(&self.file).unwrap_or_default();
        summary(&list).iter().for_each(|line| println!("{line}"));
    }
}

/// How many tests ended early for want of what, with the first reason that was given, and what makes that a failure.
fn summary(list: &str) -> Vec<String> {
    let mut missing: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for line in list.lines() {
        let mut parts = line.splitn(3, '\t');
        if let (Some(what), Some(_), Some(reason)) = (parts.next(), parts.next(), parts.next()) {
            missing.entry(what).or_insert((0, reason)).0 += 1;
        }
    }
    let told = missing.into_iter().map(|(what, (count, reason))| {
        let tests = if count == 1 { "1 test".to_owned() } else { format!("{count} tests") };
        format!("not tested here: {tests}: {reason} (MILLSTREAM_NEEDS_{what}=1 makes that a failure)")
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::{UNTESTED, summary};

    #[test]
    fn tests_are_counted_by_what_is_missing() {
        let list = "GPU\tdevice::a\tno device\nSSHD\tdeploying::b\tno server\nGPU\tdevice::c\tno device\n";
        let expected = [
            "not tested here: 2 tests: no device (MILLSTREAM_NEEDS_GPU=1 makes that a failure)",
            "not tested here: 1 test: no server (MILLSTREAM_NEEDS_SSHD=1 makes that a failure)",
        ];
        assert_eq!(summary(list), expected);
        assert!(summary("").is_empty());
    }

    #[test]
    fn tests_know_the_file_by_the_same_name() {
        let source = include_str!("../../crates/test-support/src/untested.rs");
        assert!(source.contains(&format!("pub const UNTESTED: &str = \"{UNTESTED}\";")));
    }
}
