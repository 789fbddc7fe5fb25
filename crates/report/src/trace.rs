use std::io::Write;

use serde::Serialize;

/// Something that took time on a track of a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceEvent {
    /// What happened, such as `frame 7`.
    pub name: String,
    /// Number of the track.
    pub track: usize,
    /// Start, in microseconds from the beginning of the trace.
    pub start_microseconds: f64,
    /// Length, in microseconds.
    pub duration_microseconds: f64,
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(rename = "displayTimeUnit")]
    display_time_unit: &'static str,
    #[serde(rename = "traceEvents")]
    events: Vec<Event<'a>>,
}

/// An event as the trace format names its parts.
#[derive(Serialize)]
struct Event<'a> {
    name: &'a str,
    ph: &'static str,
    pid: u32,
    tid: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Arguments<'a>>,
}

#[derive(Serialize)]
struct Arguments<'a> {
    name: &'a str,
}

/// A trace in the Chrome trace event format, which Perfetto and `chrome://tracing` open. `tracks` names the tracks in the
/// order of their numbers.
pub fn chrome_trace(tracks: &[String], events: &[TraceEvent]) -> String {
    let events = names(tracks).chain(events.iter().map(span)).collect();
    serde_json::to_string(&Document { display_time_unit: "ms", events }).unwrap_or_default()
}

fn names(tracks: &[String]) -> impl Iterator<Item = Event<'_>> {
    tracks.iter().enumerate().map(|(tid, name)| Event {
        name: "thread_name",
        ph: "M",
        pid: 1,
        tid,
        ts: None,
        dur: None,
        args: Some(Arguments { name }),
    })
}

fn span(event: &TraceEvent) -> Event<'_> {
    Event {
        name: &event.name,
        ph: "X",
        pid: 1,
        tid: event.track,
        ts: Some(event.start_microseconds),
        dur: Some(event.duration_microseconds),
        args: None,
    }
}

/// A trace of the same format that is written event by event: an array, one event a line. Viewers also take it without its end, which is
/// missing if the program is killed; it is written when this is dropped. Each event is one call of the writer's.
pub struct TraceWriter<W: Write> {
    writer: Option<W>,
    is_empty: bool,
}

impl<W: Write> TraceWriter<W> {
    /// Begins a trace with these tracks.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn new(writer: W, tracks: &[String]) -> std::io::Result<Self> {
        let mut trace = Self { writer: Some(writer), is_empty: true };
        names(tracks).try_for_each(|name| trace.write(&name))?;
        Ok(trace)
    }

    /// Adds an event.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn add(&mut self, event: &TraceEvent) -> std::io::Result<()> {
        self.write(&span(event))
    }

    /// Writes the end of the trace, and gives the writer back.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> std::io::Result<W> {
        self.end()?.ok_or_else(|| std::io::Error::other("the trace has ended before"))
    }

    fn write(&mut self, event: &Event<'_>) -> std::io::Result<()> {
        let mut line = if self.is_empty { b"[\n".to_vec() } else { b",\n".to_vec() };
        serde_json::to_writer(&mut line, event)?;
        self.is_empty = false;
        self.writer.as_mut().map_or(Ok(()), |writer| writer.write_all(&line))
    }

    fn end(&mut self) -> std::io::Result<Option<W>> {
        let Some(mut writer) = self.writer.take() else { return Ok(None) };
        writer.write_all(if self.is_empty { b"[]\n" } else { b"\n]\n" })?;
        writer.flush()?;
        Ok(Some(writer))
    }
}

impl<W: Write> Drop for TraceWriter<W> {
    fn drop(&mut self) {
        // Whoever wants to know of errors finishes the trace.
        let _ = self.end();
    }
}
