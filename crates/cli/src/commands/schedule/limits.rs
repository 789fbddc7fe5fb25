//! Limits that belong together.

use anyhow::{Context, Result, bail};
use millstream::Constraints;

use crate::arguments::ScheduleCommand;

/// Whether there is a limit that a margin is to, and several networks where something is said of one among them.
pub(super) fn check(command: &ScheduleCommand) -> Result<()> {
    if command.models.len() < 2 && !(command.deadlines.is_empty() && command.weights.is_empty()) {
        bail!(
            "--deadline and --weight are of one among several networks: give --model for each, or --max-latency for one alone"
        );
    }
    let aim = command.aim();
    if aim.margin > 0.0 && aim.constraints == Constraints::default() && command.deadlines.is_empty() {
        bail!("a margin is one to a limit: give --max-latency, --min-throughput, --max-power or --deadline with it");
    }
    Ok(())
}

/// What was planned; an error mentions the margin, which shortens limits.
pub(super) fn explain_missed<T>(planned: Result<T, millstream::Error>, margin: f64) -> Result<T> {
    match margin {
        0.0 => Ok(planned?),
        margin => planned.with_context(|| format!("with a margin of {:.1} %", 100.0 * margin)),
    }
}
