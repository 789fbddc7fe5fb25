//! What the board's shell is told. It may be any shell of POSIX's, with the tools of BusyBox.

/// A word that the shell takes as it is.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A command for the shell that users have, whatever it is: it only has to start another one. Shells differ in what they make of
/// apostrophes, backslashes, exclamation marks and ends of lines within quotes, so all but plain characters go as numbers.
pub(super) fn in_posix_shell(script: &str) -> String {
    format!("exec sh -c 'eval \"$(printf %b \"$1\")\"' sh '{}'", in_numbers(script))
}

/// A text in which whatever some shell may take for more than itself is a backslash and its octal number, as `printf %b` reads it.
fn in_numbers(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b" $\"&(){}[]<>|;:,.=+-_/#*?@%".contains(&byte);
    let written = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("\\0{byte:03o}") };
    text.bytes().map(written).collect()
}

/// How long the board waits for a sign that this side is still there, in seconds. A connection that is closed is noticed at once.
const SILENCE_SECONDS: u32 = 60;

/// The line before a file: shells of users may print more.
const FILE_MARK: &str = "millstream-deploy file:";

/// The file among all that a [`guarded`] command printed; nothing if there is none.
pub(super) fn file_of(printed: &str) -> &str {
    printed.split_once(&format!("{FILE_MARK}\n")).map_or("", |(_, file)| file)
}

/// Runs a command in the folder `work`, for as long as bytes come on its standard input now and then: when they end, so does the command,
/// and `afterwards` is done. Graphics libraries find a folder for sessions, without which they complain. What stands in `file` in the end is printed after a
/// line that [`file_of`] knows.
pub(super) fn guarded(folder: &str, command: &str, file: &str, afterwards: &str) -> String {
    let file = quoted(file);
    format!(
        "exec 3<&0
cd {folder}/work || exit 1
: \"${{XDG_RUNTIME_DIR:=$(pwd)}}\"
export XDG_RUNTIME_DIR
beat='dd bs=1 count=1'
command -v timeout >/dev/null && beat=\"timeout {SILENCE_SECONDS} $beat\"
{command} </dev/null 3<&- &
main=$!
(
  while [ -n \"$($beat 2>/dev/null)\" ]; do :; done
  trap '' TERM
  kill -TERM $main
  tries=0
  while kill -0 $main && [ $tries -lt 6 ]; do sleep 1; tries=$((tries + 1)); done
  kill -KILL $main
  cd /
  {afterwards}
) <&3 >/dev/null 2>&1 3<&- &
watch=$!
exec 3<&-
wait $main
code=$?
kill $watch
if [ -s {file} ]; then echo '{FILE_MARK}'; cat {file}; fi
exit $code",
        folder = quoted(folder)
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::io::Write;
    use std::path::Path;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    fn shell(script: &str) -> Command {
        by_shell("sh", script)
    }

    fn by_shell(shell: &str, script: &str) -> Command {
        let mut command = Command::new(shell);
        command.args(["-c", &in_posix_shell(script)]);
        command
    }

    /// The shell that everybody has, and those of users that are here.
    fn shells() -> Vec<&'static str> {
        let is_here = |shell: &&str| Command::new(shell).args(["-c", "exit"]).output().is_ok();
        ["sh", "bash", "busybox", "csh", "dash", "fish", "ksh", "tcsh", "zsh"].into_iter().filter(is_here).collect()
    }

    #[test]
    fn words_arrive_as_they_are_by_any_shell() {
        let words = [
            "plain",
            "two words",
            "it's",
            "'",
            "$HOME `id` \\ \"x\" *",
            "-n",
            "a\nb",
            "ä",
            "no! !!",
            "100 %d",
            r"\0101 \c",
        ];
        for (shell, word) in shells().into_iter().flat_map(|shell| words.map(|word| (shell, word))) {
            // A script in a script, as the file that a command writes is named.
            let script = format!("sh -c {}", quoted(&format!("printf %s {}", quoted(word))));
            let output = by_shell(shell, &script).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), word, "{shell}: {output:?}");
        }
    }

    #[test]
    fn nothing_is_sent_that_shells_understand_differently() {
        let sent = in_posix_shell("it's\n!! \\");
        assert_eq!(sent, r#"exec sh -c 'eval "$(printf %b "$1")"' sh 'it\0047s\0012\0041\0041 \0134'"#);
    }

    fn workplace() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        folder
    }

    fn has(folder: &Path, name: &str) -> bool {
        folder.join("work").join(name).exists()
    }

    #[test]
    fn a_command_runs_to_its_end_and_its_file_comes_back() {
        let folder = workplace();
        let path = folder.path().to_str().unwrap();
        let script = guarded(path, "sh -c 'echo told; echo 7 > out; exit 3'", "out", "touch work/afterwards");
        let mut child = shell(&script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(b"..").unwrap();
        let output = child.wait_with_output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!((output.status.code(), file_of(&printed)), (Some(3), "7\n"));
        assert!(printed.starts_with("told\n") && file_of("told\n").is_empty(), "{printed}");
        drop(input);
        assert!(!has(folder.path(), "afterwards"));
    }

    #[test]
    fn a_command_ends_with_the_connection() {
        let folder = workplace();
        let path = folder.path().to_str().unwrap();
        let command = "sh -c 'trap \"touch ended; exit 5\" TERM; touch begun; while :; do sleep 0.1; done'";
        let script = guarded(path, command, "out", &format!("touch {path}/work/afterwards"));
        let mut child = shell(&script).stdin(Stdio::piped()).spawn().unwrap();
        let begin = Instant::now();
        let wait_for = |name: &str| {
            while !has(folder.path(), name) {
                assert!(begin.elapsed() < Duration::from_secs(30), "there is no {name}");
                std::thread::sleep(Duration::from_millis(10));
            }
        };
        wait_for("begun");
        assert!(!has(folder.path(), "ended"));
        drop(child.stdin.take());
        wait_for("ended");
        wait_for("afterwards");
        assert_eq!(child.wait().unwrap().code(), Some(5));
    }
}
