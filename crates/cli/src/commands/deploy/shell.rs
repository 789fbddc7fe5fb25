//! Scripts for the board's shell. It may be any shell of POSIX's, with the tools of BusyBox.

/// A word that the shell takes as it is.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A command for the shell that users have, whatever it is: it only has to start another one. Shells differ in what
/// they make of apostrophes, backslashes, exclamation marks and ends of lines within quotes, so all but plain
/// characters go as numbers.
pub(super) fn in_posix_shell(script: &str) -> String {
    format!("exec sh -c 'eval \"$(printf %b \"$1\")\"' sh '{}'", in_numbers(script))
}

/// A text in which whatever some shell may take for more than itself is a backslash and its octal number, as
/// `printf %b` reads it.
fn in_numbers(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b" $\"&(){}[]<>|;:,.=+-_/#*?@%".contains(&byte);
    let written = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("\\0{byte:03o}") };
    text.bytes().map(written).collect()
}

/// How long the board waits for a sign that this side is still there, in seconds. A connection that is closed is
/// noticed at once.
const SILENCE_SECONDS: u32 = 60;

/// The line before a file: shells of users may print more.
const FILE_MARK: &str = "millstream-deploy file:";

/// The file among all that a [`guarded`] command printed; nothing if there is none.
pub(super) fn file_of(printed: &str) -> &str {
    printed.split_once(&format!("{FILE_MARK}\n")).map_or("", |(_, file)| file)
}

/// Runs a command in the folder `work`, for as long as bytes come on its standard input now and then: when they end, so
/// does the command, and `afterwards` is done. Graphics libraries find a folder for sessions, without which they
/// complain. What stands in `file` in the end is printed after a line that [`file_of`] knows.
pub(super) fn guarded(folder: &str, command: &str, file: &str, afterwards: &str) -> String {
    guarded_for(SILENCE_SECONDS, folder, command, file, afterwards)
}

/// The same with so many seconds of silence, where the board can wait for that.
fn guarded_for(silence: u32, folder: &str, command: &str, file: &str, afterwards: &str) -> String {
    let file = quoted(file);

    format!(
        "exec 3<&0
cd {folder}/work || exit 1
: \"${{XDG_RUNTIME_DIR:=$(pwd)}}\"
export XDG_RUNTIME_DIR
beat='dd bs=1 count=1'
timeout 9 true 2>/dev/null && beat=\"timeout {silence} $beat\"
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

/// Unpacks the archive that comes on standard input into the current folder, and gives up when nothing has come for as
/// long as [`guarded`] commands wait.
pub(super) fn unpacked() -> String {
    unpacked_for(SILENCE_SECONDS)
}

/// The same with so many seconds of silence. Nothing of it that is left keeps the connection open.
fn unpacked_for(silence: u32) -> String {
    format!(
        "(
exec 3<&0
tar -x -f - <&3 3<&- &
tar=$!
exec 3<&-
(
  before=
  while sleep {silence} && now=$(du -s .) && [ \"$now\" != \"$before\" ]; do before=$now; done
  kill -TERM $tar
) </dev/null >/dev/null 2>&1 &
watch=$!
wait $tar
code=$?
kill $watch
exit $code
)"
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::io::Write;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    /// Shells, each by the words that a script follows. BusyBox is started by the name of what it is to be.
    const SHELLS: [&[&str]; 9] = [
        &["sh", "-c"],
        &["bash", "-c"],
        &["busybox", "sh", "-c"],
        &["csh", "-c"],
        &["dash", "-c"],
        &["fish", "-c"],
        &["ksh", "-c"],
        &["tcsh", "-c"],
        &["zsh", "-c"],
    ];

    fn by(words: &[&str], script: &str) -> Command {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(script);
        command
    }

    /// The shell that everybody has, and those of users that are here.
    fn shells() -> Vec<&'static [&'static str]> {
        let is_here = |words: &&[&str]| by(words, "exit 0").output().is_ok_and(|output| output.status.success());
        let here: Vec<_> = SHELLS.into_iter().filter(is_here).collect();
        assert!(here.contains(&SHELLS[0]), "{here:?}");
        here
    }

    /// Those among them that a board may have as its `sh`, which runs whole scripts.
    fn shells_of_boards() -> Vec<&'static [&'static str]> {
        let is_posix = |words: &&[&str]| ["sh", "bash", "busybox", "dash"].contains(&words[0]);
        shells().into_iter().filter(is_posix).collect()
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
            let output = by(shell, &in_posix_shell(&script)).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), word, "{shell:?}: {output:?}");
        }
    }

    #[test]
    fn nothing_is_sent_that_shells_understand_differently() {
        let sent = in_posix_shell("it's\n!! \\");
        assert_eq!(sent, r#"exec sh -c 'eval "$(printf %b "$1")"' sh 'it\0047s\0012\0041\0041 \0134'"#);
    }

    /// A folder as there is one on a board, with a shell that is to be its `sh`.
    struct Place {
        folder: tempfile::TempDir,
        shell: &'static [&'static str],
    }

    impl Place {
        /// One for each shell that is here.
        fn all() -> Vec<Self> {
            let place = |shell| {
                let folder = tempfile::tempdir().unwrap();
                std::fs::create_dir(folder.path().join("work")).unwrap();
                Self { folder, shell }
            };
            shells_of_boards().into_iter().map(place).collect()
        }

        fn path(&self) -> &str {
            self.folder.path().to_str().unwrap()
        }

        fn has(&self, name: &str) -> bool {
            self.folder.path().join("work").join(name).exists()
        }

        /// Starts a script as whoever calls from elsewhere does. Where BusyBox is the shell, it has no tools but those
        /// of BusyBox.
        fn start(&self, script: &str) -> Child {
            let mut command = by(self.shell, &in_posix_shell(script));
            if self.shell[0] == "busybox" {
                let tools = self.folder.path().join("tools");
                std::fs::create_dir(&tools).unwrap();
                let install = Command::new("busybox").args(["--install", "-s"]).arg(&tools).status().unwrap();
                assert!(install.success() && tools.join("sh").exists());
                command = by(&["sh", "-c"], &in_posix_shell(script));
                // What is started is looked for there as well.
                command.env("PATH", tools);
            }
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
        }

        fn wait_for(&self, name: &str) {
            let begin = Instant::now();
            while !self.has(name) {
                assert!(begin.elapsed() < Duration::from_secs(30), "{:?}: there is no {name}", self.shell);
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }

    #[test]
    fn a_command_runs_to_its_end_and_its_file_comes_back() {
        for place in Place::all() {
            let command = "sh -c 'echo told; echo 7 > out; exit 3'";
            let mut child = place.start(&guarded(place.path(), command, "out", "touch work/afterwards"));
            let mut input = child.stdin.take().unwrap();
            input.write_all(b"..").unwrap();
            let output = child.wait_with_output().unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            assert_eq!((output.status.code(), file_of(&printed)), (Some(3), "7\n"), "{:?}", place.shell);
            assert!(printed.starts_with("told\n") && file_of("told\n").is_empty(), "{printed}");
            drop(input);
            assert!(!place.has("afterwards"));
        }
    }

    /// Says when it is asked to end, which nothing else has it do.
    const ENDLESS: &str = "sh -c 'trap \"touch ended; exit 5\" TERM; touch begun; while :; do sleep 0.1; done'";

    /// An archive with one file in it.
    fn archive() -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("large"), vec![7; 1 << 20]).unwrap();
        Command::new("tar").args(["-c", "-f", "-", "-C"]).arg(folder.path()).arg("large").output().unwrap().stdout
    }

    #[test]
    fn what_arrives_is_unpacked_and_what_stops_arriving_is_given_up() {
        let archive = archive();
        for place in Place::all() {
            let script = format!("cd {}/work && {} && echo all", place.path(), unpacked_for(1));
            let mut child = place.start(&script);
            // It takes longer than is waited for, but something comes all the time.
            let mut input = child.stdin.take().unwrap();
            for part in archive.chunks(archive.len().div_ceil(4)) {
                input.write_all(part).unwrap();
                std::thread::sleep(Duration::from_millis(600));
            }
            drop(input);
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success() && output.stdout == b"all\n", "{:?}: {output:?}", place.shell);
            assert_eq!(std::fs::metadata(place.folder.path().join("work/large")).unwrap().len(), 1 << 20);
        }
        for place in Place::all() {
            let script = format!("cd {}/work && {} && echo all", place.path(), unpacked_for(1));
            let mut child = place.start(&script);
            let mut input = child.stdin.take().unwrap();
            input.write_all(&archive[..archive.len() / 2]).unwrap();
            // Nobody closes the connection, and nothing comes any more.
            let output = child.wait_with_output().unwrap();
            assert!(!output.status.success() && output.stdout.is_empty(), "{:?}: {output:?}", place.shell);
            drop(input);
        }
    }

    #[test]
    fn a_command_ends_with_the_connection() {
        for place in Place::all() {
            let afterwards = format!("touch {}/work/afterwards", place.path());
            let mut child = place.start(&guarded(place.path(), ENDLESS, "out", &afterwards));
            place.wait_for("begun");
            assert!(!place.has("ended"));
            drop(child.stdin.take());
            place.wait_for("ended");
            place.wait_for("afterwards");
            assert_eq!(child.wait().unwrap().code(), Some(5), "{:?}", place.shell);
        }
    }

    /// A cable that was pulled out closes nothing.
    #[test]
    fn a_command_ends_when_nobody_is_heard_any_more() {
        for place in Place::all() {
            let afterwards = format!("touch {}/work/afterwards", place.path());
            let mut child = place.start(&guarded_for(2, place.path(), ENDLESS, "out", &afterwards));
            let mut input = child.stdin.take().unwrap();
            place.wait_for("begun");
            for _ in 0..5 {
                input.write_all(b".").unwrap();
                std::thread::sleep(Duration::from_millis(500));
            }
            assert!(!place.has("ended"), "{:?}: somebody was heard", place.shell);
            place.wait_for("ended");
            place.wait_for("afterwards");
            assert_eq!(child.wait().unwrap().code(), Some(5), "{:?}", place.shell);
            drop(input);
        }
        // One minute is what the page says.
        let script = guarded("folder", "true", "out", ":");
        assert!(script.contains("timeout 60 "), "{script}");
    }
}
