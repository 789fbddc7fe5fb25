//! A line for each frame, for other programs to read.

use std::io::Write;
use std::time::Instant;

use crate::run::taken::Taken;

/// What is enough for most lines.
const LINE_BYTES: usize = 256;

/// The frames of a run as CSV, one line each with the sizes of its network, written as they come. Times are in seconds
/// from the first one's arrival.
pub struct FrameLog<W: Write> {
    writer: W,
    deadline_seconds: Option<f64>,
    begin: Option<Instant>,
    frames: u64,
}

impl<W: Write> FrameLog<W> {
    /// Writes the names of the columns. Frames that take longer than the deadline are late.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn new(mut writer: W, deadline_seconds: Option<f64>) -> std::io::Result<Self> {
        let names = [
            "frame",
            "label",
            "sizes",
            "arrived_seconds",
            "submitted_seconds",
            "received_seconds",
            "latency_seconds",
            "is_late",
            "error",
        ];
        writer.write_all(&line(&names.map(str::to_owned))?)?;
        Ok(Self { writer, deadline_seconds, begin: None, frames: 0 })
    }

    /// Writes the next frame's line.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn add(&mut self, sizes: Option<&str>, frame: &Taken) -> std::io::Result<()> {
        let begin = *self.begin.get_or_insert(frame.arrived);
        let since = |moment: Instant| format!("{:.9}", moment.saturating_duration_since(begin).as_secs_f64());
        let latency = frame.latency_seconds();
        // What failed never came.
        let is_late = self.deadline_seconds.is_some_and(|deadline| latency > deadline || frame.failure.is_some());
        let line = line(&[
            self.frames.to_string(),
            frame.label.clone(),
            sizes.unwrap_or_default().to_owned(),
            since(frame.arrived),
            since(frame.result.submitted),
            since(frame.result.received),
            frame.failure.as_ref().map_or_else(|| format!("{latency:.9}"), |_| String::new()),
            u8::from(is_late).to_string(),
            in_one_line(frame.failure.as_deref().unwrap_or_default()),
        ])?;
        self.frames += 1;
        self.writer.write_all(&line)
    }

    /// Writes what is left, and gives the writer back.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> std::io::Result<W> {
        self.writer.flush()?;
        Ok(self.writer)
    }
}

/// Messages of libraries may have several lines.
pub(super) fn in_one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A line of its own, for the writer to have in one piece.
fn line(cells: &[String; 9]) -> std::io::Result<Vec<u8>> {
    let mut table = csv::WriterBuilder::new().buffer_capacity(LINE_BYTES).from_writer(Vec::with_capacity(LINE_BYTES));
    table.write_record(cells)?;
    table.into_inner().map_err(csv::IntoInnerError::into_error)
}
