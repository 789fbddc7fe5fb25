//! `deploy`: copies a package and a network to a board, has it measured, planned and run there, and brings the reports
//! back.
//!
//! All goes through the system's `ssh`, so that keys, names and jumps are what the user has set up. Nothing is left on
//! the board but what somebody wants to keep: a connection that ends, in whatever way, ends what runs there and removes
//! its folder.

mod board;
mod freight;
mod package;
mod shell;
mod ssh;
mod system;
mod written;

use anyhow::{Context, Result, bail};
use millstream::{Network, RunReport, files};
use millstream_board::Board;
use millstream_report::board_table;

use crate::arguments::{DEFAULT_MODEL, DeployCommand};
use crate::commands::run::facts::by_engine;
use crate::{interrupt, output};
use freight::{Freight, LAST, PACKAGE};
use package::VERSION;
use shell::{file_of, guarded, quoted, unpacked};
use ssh::{Ended, Input, Ssh};
use written::{RUN, SCHEDULE};

/// What comes back, and what is printed into it on the board.
const BOARD: &str = "board.json";
const PROFILE: &str = "profile.json";
/// The board's program does not start.
const NOT_STARTED: i32 = 90;
/// What arrived is not what was sent.
const DAMAGED: i32 = 91;
/// The board's program is of another release than this one.
const OTHER_VERSION: i32 = 92;

pub(crate) fn run(command: &DeployCommand) -> Result<()> {
    let Some(host) = &command.host else {
        let system = command.system.as_deref().context("say which board, or --system with several")?;
        return system::run(command, system);
    };
    interrupt::listen();
    files::check_folder(&command.output)?;
    let model = command.model.model.as_deref().unwrap_or(DEFAULT_MODEL);
    // What is wrong with the model is better known before it is copied.
    Network::open(model, command.model.dimensions.read_options()?)?.with_inputs(&command.inputs.inputs())?;
    let ssh = Ssh::new(host, command.ssh_config.as_deref());
    let told = board::ask(&ssh, command.remote_folder.as_deref())?;
    let archive = package::choose(command.package.as_deref(), &told.architecture)?;
    let checksum = package::checksum(&archive)?;
    let freight = Freight::gather(&archive, model, &command.inputs.inputs)?;
    let place = command.remote_folder.as_deref().unwrap_or("the home folder");
    told.check_room(freight.bytes, host, place)?;

    let deployed = Deployed::copy(command, ssh, &freight, &checksum)?;
    let done = deployed.work(&freight);
    let ended = deployed.end();
    done.and(ended)
}

/// A package on a board, in a folder of its own.
struct Deployed<'a> {
    command: &'a DeployCommand,
    ssh: Ssh,
    folder: String,
    program: String,
}

impl<'a> Deployed<'a> {
    /// Copies everything, checks it there, and unpacks the package. What does not arrive as a whole, or what nobody is
    /// there for any more in the end, is removed again.
    fn copy(command: &'a DeployCommand, ssh: Ssh, freight: &Freight, checksum: &str) -> Result<Self> {
        output::remark(format!("copying {} MiB to {} ...", freight.copied_bytes.div_ceil(1 << 20), ssh.host));
        let script = format!(
            "umask 077
trap '' PIPE HUP
base=$({go} && pwd) || exit 1
folder=$(mktemp -d \"$base/millstream-deploy.XXXXXX\") || exit 1
give_up() {{ cd /; rm -rf \"$folder\"; exit $1; }}
cd \"$folder\" && mkdir work && {unpacked} && [ -f {LAST} ] || give_up {DAMAGED}
echo '{checksum}  {PACKAGE}' | sha256sum -c - >&2 || give_up {DAMAGED}
mkdir package && tar -x -z -f {PACKAGE} -C package && rm {PACKAGE} || give_up 1
set -- \"$folder\"/package/*/bin/millstream
version=$(\"$1\" --version) || give_up {NOT_STARTED}
[ \"${{version##* }}\" = {VERSION} ] || {{ echo \"$version\" >&2; give_up {OTHER_VERSION}; }}
{print_folder} && {print_program} || give_up 1",
            unpacked = unpacked(),
            go = board::go_to(command.remote_folder.as_deref()),
            print_folder = board::print("folder", "\"$folder\""),
            print_program = board::print("program", "\"$1\""),
        );
        let ended = ssh.run(&script, Input::Of(freight.tar()?), false)?;
        if !ended.status.success() {
            bail!(not_copied(&ssh.host, &ended));
        }
        let value = |key| board::value(&ended.stdout, key).map(str::to_owned);
        let lacking = || format!("{} does not say where the package is: {}", ssh.host, ended.stdout.trim());
        let (folder, program) = value("folder").zip(value("program")).with_context(lacking)?;
        Ok(Self { command, ssh, folder, program })
    }

    /// Everything that is done on the board.
    fn work(&self, freight: &Freight) -> Result<()> {
        let command = self.command;
        let network = [vec!["--model".to_owned(), freight.model.clone()], command.model.dimensions.flags()].concat();
        let frames = [network, command.inputs.flags(&freight.inputs)].concat();

        let text = self.step(&["board", "--json"], &[], BOARD, Printed::IsTheFile)?;
        let board = Board::from_json(&text).with_context(|| format!("what {} says of itself", self.ssh.host))?;
        if !command.json {
            output::line(format!("{}, fingerprint {}", board.name(), board.fingerprint()));
            output::table(&board_table(&board));
        }
        let budget = command.budget.to_string();
        self.step(&["profile", "--no-sweep", "--budget", &budget, "-o", PROFILE], &frames, PROFILE, Printed::IsShown)?;
        let objective = command.objective.to_string();
        let schedule = ["schedule", "--profile", PROFILE, "--objective", &objective, "-o", SCHEDULE];
        self.step(&schedule, &frames, SCHEDULE, Printed::IsShown)?;
        let count = command.frames.map(|frames| vec!["--frames".to_owned(), frames.to_string()]).unwrap_or_default();
        let run = ["run", "--schedule", SCHEDULE, "--json"];
        let report = self.step(&run, &[frames, count].concat(), RUN, Printed::IsTheFile)?;
        self.show(&report)
    }

    /// Runs the program on the board and brings a file back. What a command fails with that has written its file all
    /// the same comes back before the failure.
    fn step(&self, words: &[&str], more: &[String], file: &str, printed: Printed) -> Result<String> {
        let Self { command, ssh, folder, program } = self;
        output::remark(format!("{} on {} ...", words[0], ssh.host));
        let words = words.iter().map(|word| quoted(word)).chain(more.iter().map(|word| quoted(word)));
        let words: Vec<String> = words.collect();
        let to = match printed {
            Printed::IsTheFile => format!(">{file}"),
            Printed::IsShown => ">&2".to_owned(),
        };
        // What is kept between starts is in the folder as well, and goes with it.
        let variables = format!("env XDG_CACHE_HOME={}", quoted(&format!("{folder}/cache")));
        let line = format!("{variables} {} {} {to}", quoted(program), words.join(" "));
        let afterwards = if command.keep { ":".to_owned() } else { format!("rm -rf {}", quoted(folder)) };
        let ended = ssh.run(&guarded(folder, &line, file, &afterwards), Input::SignsOfLife, true)?;
        let text = file_of(&ended.stdout);
        if !text.is_empty() {
            let output = &command.output;
            std::fs::create_dir_all(output).with_context(|| format!("cannot make {}", output.display()))?;
            files::write(&output.join(file), text)?;
        }
        match ended.status.success() {
            true if text.is_empty() => bail!("{} has written no {file}", ssh.host),
            true => Ok(text.to_owned()),
            false => {
                let last = ended.stderr.lines().rfind(|line| !line.is_empty()).unwrap_or("it said nothing").to_owned();
                bail!("`{}` failed on {} ({}): {last}", words.join(" "), ssh.host, ended.status)
            }
        }
    }

    /// Shows what the run came to.
    fn show(&self, text: &str) -> Result<()> {
        let report: RunReport =
            serde_json::from_str(text).with_context(|| format!("what {} reports", self.ssh.host))?;
        if self.command.json {
            return output::json(&report);
        }
        for run in &report.networks {
            let rate = |period: f64| format!("{:.1}", 1.0 / period.max(1e-12));
            let measured = run.measured_period_seconds.map_or_else(|| "-".to_owned(), rate);
            output::line(format!(
                "\n{}: {} as {}, {measured} frames/s ({} expected), {:.2} ms each ({:.2} expected); {} frames checked against sequential inference{}",
                self.ssh.host,
                run.network,
                run.configuration,
                rate(run.predicted_period_seconds),
                1e3 * run.measured_latency_seconds,
                1e3 * run.predicted_latency_seconds,
                run.checked_frames,
                by_engine(run)
            ));
        }
        output::remark(format!("wrote {BOARD}, {PROFILE}, {SCHEDULE} and {RUN} to {}", self.command.output.display()));
        Ok(())
    }

    /// Leaves the board as it was, or says where everything is.
    fn end(&self) -> Result<()> {
        let Self { command, ssh, folder, program } = self;
        if command.keep {
            output::remark(format!("kept on {}: {program}, files in {folder}/work", ssh.host));
            return Ok(());
        }
        let remove = format!("rm -rf {}", quoted(folder));
        let ended = if interrupt::requested() {
            // What ran there does it as well when it ends; but it may not have begun.
            ssh.run_quickly(&remove)?
        } else {
            ssh.run(&remove, Input::Nothing, false)?
        };
        if ended.status.success() {
            Ok(())
        } else {
            bail!("cannot remove {folder} on {}: {}", ssh.host, ended.stderr.trim())
        }
    }
}

/// What a command prints to standard output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Printed {
    IsTheFile,
    IsShown,
}

/// Why nothing is there, and what to do.
fn not_copied(host: &str, ended: &Ended) -> String {
    let told = ended.stderr.trim();
    if told.contains("No space left") {
        return format!("{host} has no room: {told}; make some, or name another folder with --remote-folder");
    }
    match ended.status.code() {
        Some(DAMAGED) => format!("what arrived on {host} is not what was sent: {told}; try again"),
        Some(NOT_STARTED) => format!(
            "the package does not run on {host}: {told}; it must be for its architecture, in a folder that may have programs (--remote-folder)"
        ),
        Some(OTHER_VERSION) => format!(
            "the package that came to {host} is {}, and this program is {VERSION}: they may not understand each other's files; \
             name a package of this version with --package",
            told.lines().last().unwrap_or("nothing")
        ),
        _ => format!("{host} can't take the package: {told}; name another folder with --remote-folder"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    #[test]
    fn what_is_not_copied_has_its_remedy() {
        for (code, told, remedy) in [
            (1, "tar: x: Cannot write: No space left on device", "make some"),
            (DAMAGED, "package.tar.gz: FAILED", "try again"),
            (NOT_STARTED, "cannot execute binary file: Exec format error", "its architecture"),
            (OTHER_VERSION, "millstream 9.9.9", "a package of this version"),
            (1, "mktemp: Permission denied", "--remote-folder"),
        ] {
            let status = ExitStatus::from_raw(code << 8);
            let message = not_copied("board", &Ended { status, stdout: String::new(), stderr: told.to_owned() });
            assert!(message.contains("board") && message.contains(told) && message.contains(remedy), "{message}");
        }
    }
}
