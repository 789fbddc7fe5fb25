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
    let names = tracks.iter().enumerate().map(|(tid, name)| Event {
        name: "thread_name",
        ph: "M",
        pid: 1,
        tid,
        ts: None,
        dur: None,
        args: Some(Arguments { name }),
    });
    let spans = events.iter().map(|event| Event {
        name: &event.name,
        ph: "X",
        pid: 1,
        tid: event.track,
        ts: Some(event.start_microseconds),
        dur: Some(event.duration_microseconds),
        args: None,
    });
    let document = Document { display_time_unit: "ms", events: names.chain(spans).collect() };
    serde_json::to_string(&document).unwrap_or_default()
}
