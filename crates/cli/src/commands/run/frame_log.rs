//! A line for each frame, for other programs to read.

use std::path::Path;

use anyhow::{Context, Result};

use crate::commands::run::sink::Taken;
use crate::files;

/// Writes the frames with their times in seconds from the first one's arrival.
pub(crate) fn write(path: &Path, frames: &[(Option<&str>, &Taken)], deadline_seconds: Option<f64>) -> Result<()> {
    let begin = frames.iter().map(|(_, frame)| frame.arrived).min();
    let mut table = csv::Writer::from_writer(Vec::new());
    table.write_record([
        "frame",
        "label",
        "sizes",
        "arrived_seconds",
        "submitted_seconds",
        "received_seconds",
        "latency_seconds",
        "is_late",
    ])?;
    for (number, (sizes, frame)) in frames.iter().enumerate() {
        let since = |moment: std::time::Instant| {
            let seconds = begin.map_or(0.0, |begin| moment.saturating_duration_since(begin).as_secs_f64());
            format!("{seconds:.9}")
        };
        let latency = frame.latency_seconds();
        table.write_record([
            number.to_string(),
            frame.label.clone(),
            sizes.unwrap_or_default().to_owned(),
            since(frame.arrived),
            since(frame.result.submitted),
            since(frame.result.received),
            format!("{latency:.9}"),
            u8::from(deadline_seconds.is_some_and(|deadline| latency > deadline)).to_string(),
        ])?;
    }
    let bytes = table.into_inner().context("the table of frames")?;
    files::write(path, &String::from_utf8(bytes)?)
}
