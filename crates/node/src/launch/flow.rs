//! A dataflow that is to run: started, started anew, and done without machines that stay away.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::command::{Dora, Process};
use super::dataflow::FRONT_MACHINE;

/// How long dora-rs may take to start a dataflow for the first time.
const START: Duration = Duration::from_secs(30);
/// How long a machine is waited for, before the dataflow goes without it.
const AWAY: Duration = Duration::from_secs(3);
/// How long a command of dora-rs may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between attempts.
const AGAIN: Duration = Duration::from_millis(200);
/// What dora-rs says of a machine whose daemon it does not know, before its name.
const UNKNOWN: &str = "no matching daemon for machine id `";

/// The dataflow without some machines.
pub(super) type Descriptor = Box<dyn Fn(&BTreeSet<String>) -> Value>;

/// A dataflow on its way.
pub(super) struct Flow {
    descriptor: Descriptor,
    stage: Stage,
    /// When it was first to run, or anew.
    since: Instant,
    has_run: bool,
    /// Machines that it goes without.
    left_out: BTreeSet<String>,
    /// What dora-rs said last.
    said: String,
}

/// How far it is.
enum Stage {
    /// What ran before is being stopped.
    Stops(Attempt),
    /// It is tried from then on.
    Waits(Instant),
    /// It is being started.
    Starts(Attempt),
    Runs,
}

/// A command of dora-rs at work.
struct Attempt {
    process: Process,
    begin: Instant,
    said: PathBuf,
}

/// What came of it.
enum Outcome {
    Done,
    Failed(String),
    /// It took too long; it may be done all the same.
    Unknown,
}

impl Flow {
    pub(super) fn new(descriptor: Descriptor) -> Self {
        let now = Instant::now();
        Self {
            descriptor,
            stage: Stage::Waits(now),
            since: now,
            has_run: false,
            left_out: BTreeSet::new(),
            said: String::new(),
        }
    }

    pub(super) fn runs(&self) -> bool {
        matches!(self.stage, Stage::Runs)
    }

    /// Whether it goes without a machine.
    pub(super) fn goes_without(&self, machine: &str) -> bool {
        self.left_out.contains(machine)
    }

    /// Has it stopped and started anew, with all machines that are not known to be away, and with this one in any case.
    pub(super) fn begin_anew(&mut self, dora: &Dora, back: Option<&str>) -> Result<()> {
        if let Some(back) = back {
            self.left_out.remove(back);
        }
        let now = Instant::now();
        // What is at work ends first.
        self.stage = Stage::Waits(now);
        if self.has_run {
            self.since = now;
        }
        self.stage = Stage::Stops(Attempt::begin(dora, "stop", &["stop", "--all", "--force"])?);
        Ok(())
    }

    /// Does what there is to do by now.
    ///
    /// # Errors
    /// If it can't be started for the first time.
    pub(super) fn go_on(&mut self, dora: &Dora) -> Result<()> {
        match &mut self.stage {
            Stage::Runs => {}
            Stage::Stops(attempt) => match attempt.outcome()? {
                None => {}
                Some(outcome) => {
                    if !matches!(outcome, Outcome::Done) {
                        tracing::info!("nothing ran that could be stopped, or it does not stop");
                    }
                    self.stage = Stage::Waits(Instant::now());
                }
            },

            Stage::Waits(until) if Instant::now() < *until => {}
            Stage::Waits(_) => {
                let file = dora.folder.join("dataflow.yml");
                let text = serde_json::to_string_pretty(&(self.descriptor)(&self.left_out))?;
                fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
                let words = ["start", &file.display().to_string(), "--detach"];
                self.stage = Stage::Starts(Attempt::begin(dora, "start", &words)?);
            }

            Stage::Starts(attempt) => match attempt.outcome()? {
                None => {}
                Some(Outcome::Done) => {
                    self.has_run = true;
                    self.stage = Stage::Runs;
                }
                Some(Outcome::Failed(said)) => self.try_again(dora, &said)?,
                Some(Outcome::Unknown) => self.begin_anew(dora, None)?,
            },
        }
        Ok(())
    }

    /// After an attempt that failed.
    fn try_again(&mut self, dora: &Dora, said: &str) -> Result<()> {
        self.stage = Stage::Waits(Instant::now() + AGAIN);
        let waited = self.since.elapsed();
        if !self.has_run && waited > START {
            bail!(
                "dora-rs does not start the processes of the hosts: {said}\nits logs are in {}",
                dora.folder.display()
            );
        }
        if said != self.said {
            tracing::info!("dora-rs does not start the processes of the hosts: {said}");
            said.clone_into(&mut self.said);
        }
        if self.has_run
            && waited > AWAY
            && let Some(machine) = unknown_machine(said).filter(|machine| *machine != FRONT_MACHINE)
        {
            tracing::warn!("'{machine}' is away: frames go without it");
            self.left_out.insert(machine.to_owned());
        }
        Ok(())
    }
}

/// The machine whose daemon dora-rs does not know, if that is what it says.
fn unknown_machine(said: &str) -> Option<&str> {
    said.split_once(UNKNOWN)?.1.split_once('`').map(|(machine, _)| machine)
}

impl Attempt {
    fn begin(dora: &Dora, name: &str, words: &[&str]) -> Result<Self> {
        let said = dora.folder.join(format!("{name}.log"));
        let log = File::create(&said).with_context(|| format!("cannot write {}", said.display()))?;
        let mut command = dora.of_coordinator(words);
        let child = command.stderr(Stdio::from(log)).spawn().with_context(|| dora.not_started())?;
        Ok(Self { process: Process { child }, begin: Instant::now(), said })
    }

    /// `None` as long as it is at work.
    fn outcome(&mut self) -> Result<Option<Outcome>> {
        let status = self.process.child.try_wait().context("cannot wait for dora-rs")?;
        match status {
            Some(status) if status.success() => Ok(Some(Outcome::Done)),
            None if self.begin.elapsed() < PATIENCE => Ok(None),
            None => Ok(Some(Outcome::Unknown)),
            Some(_) => {
                let said = fs::read_to_string(&self.said).unwrap_or_default();
                Ok(Some(Outcome::Failed(said.trim().to_owned())))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::unknown_machine;

    #[test]
    fn a_machine_that_is_away_is_known_by_what_is_said() {
        let said = "\n\n[ERROR]\nno matching daemon for machine id `pi`\n\nLocation:\n    x.rs";
        assert_eq!(unknown_machine(said), Some("pi"));
        assert_eq!(unknown_machine("the coordinator is not there"), None);
    }
}
