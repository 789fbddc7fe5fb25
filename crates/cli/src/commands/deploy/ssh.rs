//! Commands on the board, through the system's `ssh`.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::shell::in_posix_shell;
use crate::{interrupt, output};

/// How often the board is sent a sign of life.
const BEAT: Duration = Duration::from_secs(5);
/// What is to be done on the board after somebody asked to stop may take so long.
const LAST_TIME: Duration = Duration::from_millis(2500);
/// It is looked so often whether a command has ended, or somebody wants it to.
const LOOK: Duration = Duration::from_millis(20);
/// No report has more bytes.
const MOST_BYTES: u64 = 256 << 20;
/// What a command said last is kept for errors, so many lines.
const KEPT_LINES: usize = 20;
/// With this code `ssh` ends when it is itself that failed.
const SSH_FAILED: i32 = 255;
/// Nobody is asked for anything, a connection that is lost is noticed within half a minute, and no ssh stays behind for
/// others.
const OPTIONS: [&str; 5] =
    ["BatchMode=yes", "ControlMaster=no", "ConnectTimeout=10", "ServerAliveInterval=5", "ServerAliveCountMax=4"];

/// A board that can be reached.
pub(super) struct Ssh {
    pub(super) host: String,
    configuration: Option<PathBuf>,
}

/// What goes to a command's standard input.
pub(super) enum Input {
    /// Nothing.
    Nothing,
    /// What another program prints.
    Of(Command),
    /// A sign of life now and then, until the command ends.
    SignsOfLife,
}

/// What ends a command early.
#[derive(Clone, Copy)]
enum Ends {
    /// Somebody who asks to stop.
    WhenAsked,
    /// A moment. Somebody has asked before.
    At(Instant),
}

/// How a command ended.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    /// The last lines of standard error.
    pub(super) stderr: String,
}

impl Ssh {
    pub(super) fn new(host: &str, configuration: Option<&Path>) -> Self {
        Self { host: host.to_owned(), configuration: configuration.map(Path::to_owned) }
    }

    /// Runs a script on the board. Lines of its standard error are shown if somebody should see them.
    ///
    /// # Errors
    /// If there is no connection any more, with what to do; if somebody asked to stop. A script that fails is no error
    /// here.
    pub(super) fn run(&self, script: &str, input: Input, is_shown: bool) -> Result<Ended> {
        self.talk(script, input, is_shown, Ends::WhenAsked)
    }

    /// Runs a script for which there is little time, whether somebody asked to stop or not.
    pub(super) fn run_quickly(&self, script: &str) -> Result<Ended> {
        self.talk(script, Input::Nothing, false, Ends::At(Instant::now() + LAST_TIME))
    }

    fn talk(&self, script: &str, input: Input, is_shown: bool, ends: Ends) -> Result<Ended> {
        let mut command = Command::new("ssh");
        // In a group of its own, so that Ctrl-C comes to this program alone, which ends both sides.
        command.args(self.words()).arg("--").arg(&self.host).arg(in_posix_shell(script)).process_group(0);
        let ended = talk(command, input, is_shown, ends)?;
        match ended.status.code() {
            Some(SSH_FAILED) | None => bail!(self.problem(&ended.stderr)),
            Some(_) => Ok(ended),
        }
    }

    /// How `ssh` is to connect. What is said here counts, whatever the user's configuration says.
    fn words(&self) -> Vec<&OsStr> {
        let options = OPTIONS.iter().flat_map(|option| ["-o", option]);
        let words = std::iter::once("-T").chain(options).map(OsStr::new);
        words.chain(self.configuration.iter().flat_map(|file| [OsStr::new("-F"), file.as_os_str()])).collect()
    }

    /// What is wrong with a connection, and what to do about it.
    fn problem(&self, told: &str) -> String {
        let host = &self.host;
        let last = told.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("ssh said nothing").trim();
        let says = |part: &str| told.contains(part);
        let remedy = if says("Permission denied") || says("Too many authentication failures") {
            format!(
                "it refused the key, and nobody can be asked for a password: `ssh-copy-id {host}`, or `ssh-add` if the key has one"
            )
        } else if says("Host key verification failed") {
            format!("its key is not known, or another one: connect once with `ssh {host}` and compare it")
        } else if says("Could not resolve") {
            "no such name is known: check it, or use the address".to_owned()
        } else if says("Connection refused")
            || says("timed out during")
            || says("Connection timed out")
            || says("No route")
        {
            "no ssh server answers there: check the address, and that the board is on and has one".to_owned()
        } else {
            "the connection was lost; what still ran there ends by itself within a minute. Try again".to_owned()
        };
        format!("{host}: {last}; {remedy}")
    }
}

/// Runs a command with its input to its end.
fn talk(mut command: Command, input: Input, is_shown: bool, ends: Ends) -> Result<Ended> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let (mut feeder, mut beats) = (None, false);
    match input {
        Input::Nothing => drop(command.stdin(Stdio::null())),
        Input::SignsOfLife => {
            beats = true;
            command.stdin(Stdio::piped());
        }
        Input::Of(mut source) => {
            let name = source.get_program().to_string_lossy().into_owned();
            source.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0);
            let mut child = source.spawn().with_context(|| format!("cannot start {name}; install it"))?;
            command.stdin(child.stdout.take().map_or_else(Stdio::null, Stdio::from));
            feeder = Some(Killed(child));
        }
    }

    let started = command.spawn();
    // Its end of the pipe would keep the source from noticing that nobody reads.
    drop(command);
    let mut child = Killed(started.context("cannot start ssh; install it (Debian: apt install openssh-client)")?);

    let beating = beats.then(|| signs_of_life(&mut child.0));
    let stdout = child.0.stdout.take().map(|pipe| std::thread::spawn(move || whole(pipe)));
    let stderr = child.0.stderr.take().map(|pipe| std::thread::spawn(move || lines(pipe, is_shown)));
    let status = wait(&mut child.0, ends)?;

    drop(beating);
    let stdout = stdout.and_then(|thread| thread.join().ok()).unwrap_or_default();
    let stderr = stderr.and_then(|thread| thread.join().ok()).unwrap_or_default();
    drop(feeder);
    Ok(Ended { status, stdout, stderr })
}

/// A program that ends with the interest in it.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // Fails if it has ended, which is as well.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits for the end, or for what ends it early.
fn wait(child: &mut Child, ends: Ends) -> Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait().context("cannot wait for ssh")? {
            return Ok(status);
        }
        match ends {
            Ends::WhenAsked if interrupt::requested() => bail!("interrupted; what ran on the board ends as well"),
            Ends::At(moment) if Instant::now() >= moment => bail!("there was no answer in time"),
            _ => {}
        }
        std::thread::sleep(LOOK);
    }
}

/// Writes a byte now and then until what is returned is dropped or the other end is closed.
fn signs_of_life(child: &mut Child) -> Option<std::sync::mpsc::SyncSender<()>> {
    let mut stdin = child.stdin.take()?;
    let (over, is_over): (_, Receiver<()>) = sync_channel(0);
    std::thread::spawn(move || {
        while stdin.write_all(b".").and_then(|()| stdin.flush()).is_ok() {
            match is_over.recv_timeout(BEAT) {
                Err(RecvTimeoutError::Timeout) => {}
                _ => break,
            }
        }
    });
    Some(over)
}

/// Everything, up to what no report has.
fn whole(pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    // What came until an error is what there is.
    let _ = pipe.take(MOST_BYTES).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The last lines. They come from another computer, which may send anything.
fn lines(pipe: impl Read, is_shown: bool) -> String {
    let mut kept: Vec<String> = Vec::new();
    let mut reader = BufReader::new(pipe);
    let mut line = Vec::new();
    while reader.by_ref().take(1 << 16).read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        if is_shown && !text.is_empty() {
            output::remark(&text);
        }
        if kept.len() == KEPT_LINES {
            kept.remove(0);
        }
        kept.push(text);
        line.clear();
    }
    kept.join("\n")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    /// By what `ssh` itself makes of it, with a configuration that says the opposite of everything.
    #[test]
    fn nobody_is_asked_and_lost_connections_are_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        let text = "Host *\nBatchMode no\nServerAliveInterval 0\nServerAliveCountMax 99\nControlMaster auto\nConnectTimeout 900\n";
        std::fs::write(&file, text).unwrap();
        let ssh = Ssh::new("board", Some(&file));
        let output = Command::new("ssh").args(ssh.words()).args(["-G", "--", "board"]).output();
        // Where there is no ssh, there is nothing to deploy with.
        let Ok(output) = output else { return };
        let told = String::from_utf8(output.stdout).unwrap();
        for setting in [
            "batchmode yes",
            "serveraliveinterval 5",
            "serveralivecountmax 4",
            "controlmaster false",
            "connecttimeout 10",
            "requesttty false",
        ] {
            assert!(told.lines().any(|line| line == setting), "{setting}: {told}");
        }
    }

    #[test]
    fn every_problem_has_its_remedy() {
        let ssh = Ssh::new("me@board", None);
        for (told, remedy) in [
            ("me@board: Permission denied (publickey).", "ssh-copy-id me@board"),
            ("@@@ WARNING\nHost key verification failed.", "ssh me@board"),
            ("ssh: Could not resolve hostname board: Name or service not known", "check it"),
            ("ssh: connect to host board port 22: Connection refused", "no ssh server answers"),
            ("ssh: connect to host board port 22: Connection timed out", "no ssh server answers"),
            ("Timeout, server board not responding.", "connection was lost"),
            ("", "ssh said nothing"),
        ] {
            let message = ssh.problem(told);
            assert!(message.starts_with("me@board: ") && message.contains(remedy), "{told}: {message}");
        }
    }
}
