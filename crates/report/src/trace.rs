//! Traces in the Chrome trace event format, which Perfetto and `chrome://tracing` open.

use std::io::Write;

use serde::Serialize;
use serde_json::{Map, Value, json};

/// Where things happen, one below the other: a core, or an accelerator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceTrack {
    /// What it is a part of, such as `cluster B`; tracks of the same are shown together.
    pub group: String,
    /// Its name, such as `core 4`.
    pub name: String,
}

/// Something that is shown. Times are in microseconds from the beginning of the trace.
#[derive(Debug, Clone, PartialEq)]
pub enum TraceEvent {
    /// Something that took time on a track.
    Slice {
        /// What happened, such as `frame 7`.
        name: String,
        /// Number of the track.
        track: usize,
        /// Start.
        start: f64,
        /// Length.
        duration: f64,
        /// What to know of it, by name.
        arguments: Vec<(&'static str, Value)>,
    },
    /// An arrow that leads from one slice to the next ones, such as from stage to stage with a frame.
    Flow {
        /// Of the same number are the steps of one arrow.
        id: u64,
        /// Number of the track.
        track: usize,
        /// A moment within a slice of the track.
        at: f64,
        /// Where the arrow is.
        step: FlowStep,
    },
    /// A number from a moment on.
    Counter {
        /// What is counted, with its unit.
        name: String,
        /// When it changed.
        at: f64,
        /// To what.
        value: f64,
    },
}

/// A part of an arrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowStep {
    /// It leaves its first slice.
    Start,
    /// It goes on through a slice.
    Through,
    /// It reaches its last slice.
    End,
}

/// The process that counters belong to; groups of tracks have the numbers after it.
const COUNTERS: usize = 1;

/// One line of the format.
#[derive(Serialize)]
struct Line {
    name: String,
    ph: &'static str,
    pid: usize,
    tid: usize,
    #[serde(flatten)]
    more: Map<String, Value>,
}

/// A whole trace. Tracks have the numbers of their places.
pub fn chrome_trace(tracks: &[TraceTrack], events: &[TraceEvent]) -> String {
    let groups = Groups::of(tracks);
    let lines: Vec<Line> = groups.lines(tracks).chain(events.iter().map(|event| groups.line(event))).collect();
    json!({"displayTimeUnit": "ms", "traceEvents": lines}).to_string()
}

/// Which process each track is shown under.
#[derive(Debug, Clone)]
struct Groups {
    names: Vec<String>,
    of_tracks: Vec<usize>,
}

impl Groups {
    fn of(tracks: &[TraceTrack]) -> Self {
        let mut names: Vec<String> = Vec::new();
        let mut of_tracks = Vec::new();
        for track in tracks {
            let place = names.iter().position(|name| *name == track.group);
            of_tracks.push(place.unwrap_or(names.len()));
            if place.is_none() {
                names.push(track.group.clone());
            }
        }
        Self { names, of_tracks }
    }

    fn process(&self, track: usize) -> usize {
        COUNTERS + 1 + self.of_tracks.get(track).copied().unwrap_or_default()
    }

    /// What everything is called, and in which order it stands.
    fn lines<'a>(&'a self, tracks: &'a [TraceTrack]) -> impl Iterator<Item = Line> + 'a {
        let line = |name: &str, pid, tid, arguments: Value| Line {
            name: name.to_owned(),
            ph: "M",
            pid,
            tid,
            more: Map::from_iter([("args".to_owned(), arguments)]),
        };
        let groups = self.names.iter().enumerate().flat_map(move |(index, name)| {
            let pid = COUNTERS + 1 + index;
            [
                line("process_name", pid, 0, json!({"name": name})),
                line("process_sort_index", pid, 0, json!({"sort_index": pid})),
            ]
        });
        let threads = tracks.iter().enumerate().flat_map(move |(track, named)| {
            let pid = self.process(track);
            [
                line("thread_name", pid, thread(track), json!({"name": named.name})),
                line("thread_sort_index", pid, thread(track), json!({"sort_index": track})),
            ]
        });
        std::iter::once(line("process_name", COUNTERS, 0, json!({"name": "counters"}))).chain(groups).chain(threads)
    }

    fn line(&self, event: &TraceEvent) -> Line {
        let more = |value: Value| if let Value::Object(more) = value { more } else { Map::new() };
        match event {
            TraceEvent::Slice { name, track, start, duration, arguments } => {
                let arguments =
                    Map::from_iter(arguments.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
                let (start, end) = (nanoseconds(*start), nanoseconds(start + duration));
                let (ts, dur) = (microseconds(start), microseconds(end - start));
                let more = more(json!({"ts": ts, "dur": dur, "args": arguments}));
                Line { name: name.clone(), ph: "X", pid: self.process(*track), tid: thread(*track), more }
            }
            TraceEvent::Flow { id, track, at, step } => {
                let ph = match step {
                    FlowStep::Start => "s",
                    FlowStep::Through => "t",
                    FlowStep::End => "f",
                };
                // `bp` has the arrow end at the slice around the moment, not at the next one.
                let more = more(json!({"ts": microseconds(nanoseconds(*at)), "id": id, "cat": "frame", "bp": "e"}));
                Line { name: "frame".to_owned(), ph, pid: self.process(*track), tid: thread(*track), more }
            }
            TraceEvent::Counter { name, at, value } => {
                let more = more(json!({"ts": microseconds(nanoseconds(*at)), "args": {"value": value}}));
                Line { name: name.clone(), ph: "C", pid: COUNTERS, tid: 0, more }
            }
        }
    }
}

/// A moment in microseconds as whole nanoseconds, which is what viewers count in.
fn nanoseconds(microseconds: f64) -> f64 {
    (microseconds * 1e3).round()
}

/// Whole nanoseconds as the number of microseconds of which viewers make them again: they multiply it, and leave out
/// what is behind the point. One nanosecond less or more would have slices overlap that touch or enclose each other,
/// and such slices are not shown.
fn microseconds(nanoseconds: f64) -> f64 {
    let microseconds = nanoseconds / 1e3;
    if microseconds * 1e3 < nanoseconds { microseconds.next_up() } else { microseconds }
}

/// Thread 0 of a process stands for the process.
fn thread(track: usize) -> usize {
    track + 1
}

/// A trace of the same format that is written event by event: an array, one event a line. Viewers also take it without
/// its end, which is missing if the program is killed; it is written when this is dropped. Each event is one call of
/// the writer's.
pub struct TraceWriter<W: Write> {
    writer: Option<W>,
    groups: Groups,
    is_empty: bool,
}

impl<W: Write> TraceWriter<W> {
    /// Begins a trace with these tracks.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn new(writer: W, tracks: &[TraceTrack]) -> std::io::Result<Self> {
        let groups = Groups::of(tracks);
        let mut trace = Self { writer: Some(writer), groups: groups.clone(), is_empty: true };
        groups.lines(tracks).try_for_each(|line| trace.write(&line))?;
        Ok(trace)
    }

    /// Adds an event.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn add(&mut self, event: &TraceEvent) -> std::io::Result<()> {
        let line = self.groups.line(event);
        self.write(&line)
    }

    /// Writes the end of the trace, and gives the writer back.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> std::io::Result<W> {
        self.end()?.ok_or_else(|| std::io::Error::other("the trace has ended before"))
    }

    fn write(&mut self, line: &Line) -> std::io::Result<()> {
        let mut text = if self.is_empty { b"[\n".to_vec() } else { b",\n".to_vec() };
        serde_json::to_writer(&mut text, line)?;
        self.is_empty = false;
        self.writer.as_mut().map_or(Ok(()), |writer| writer.write_all(&text))
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
